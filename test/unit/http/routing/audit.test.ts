import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { withAudit } from '../../../../src/http/routing/audit.ts';
import { type Outcome, ok, okInSlices, type Route, type RouteRequest } from '../../../../src/http/routing/route.ts';
import { assetPath } from '../../../../src/platform/assets.ts';
import type { Audit } from '../../../../src/stores/postgres/audit.ts';
import { auditActions, auditObjectKinds } from '../../../../src/stores/postgres/audit-actions.ts';
import { everyRoute, routeName } from '../../../support/every-route.ts';

const { api } = await everyRoute();

/** They change nothing, although they are no GET. */
const unaudited = ['POST /analytics/surveys/{surveyId}/crosstab', 'POST /live/tickets'];

/** The audit event that a route declares, on a route of another handler. */
function auditedRoute(name: string, handle: Route['handle'], record: Audit['record']): Route {
  const declared = api.find((entry) => routeName(entry) === name);
  assert.ok(declared?.audit, `${name} declares an audit event`);
  const [audited] = withAudit([{ ...declared, handle }], { record });
  assert.ok(audited);
  return audited;
}

describe('the audit of calls', () => {
  it('has an event on every route that changes something', () => {
    const missing = api
      .filter(({ method, access, audit }) => method !== 'GET' && access.kind !== 'public' && !audit)
      .map(routeName);
    assert.deepEqual(missing.sort(), [...unaudited].sort());
  });

  it('has one list of actions and objects, each of which some code records', () => {
    const folder = assetPath('src');
    const writers = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^(actors|http)\b.*\.ts$/.test(name),
    );
    const sources = writers
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .filter((text) => /audit/i.test(text))
      .join('\n');
    for (const list of [auditActions, auditObjectKinds]) assert.equal(new Set<string>(list).size, list.length);
    assert.deepEqual(
      auditActions.filter((action) => !sources.includes(`'${action}'`)),
      [],
    );
    assert.deepEqual(
      auditObjectKinds.filter((kind) => !sources.includes(`objectKind: '${kind}'`)),
      [],
    );
  });

  it('records the reading of responses once an hour for each survey and reader', async () => {
    const records: string[] = [];
    const route = auditedRoute(
      'GET /responses/surveys/{surveyId}',
      async () => ok([]),
      async ({ action, actor, objectId }) =>
        void records.push(`${actor?.keyId ?? actor?.userId} ${action} ${objectId}`),
    );
    const read = (surveyId: string, principal: object) =>
      route.handle({ params: { surveyId }, principal } as unknown as RouteRequest<never, never>);
    for (const keyId of [null, 'k']) for (const survey of ['a', 'b', 'a']) await read(survey, { userId: 'u', keyId });
    assert.deepEqual(records, ['u responses.read a', 'u responses.read b', 'k responses.read a', 'k responses.read b']);
  });

  it('records who did what to which object, with names of fields but no values, and nothing for a refused call', async () => {
    const records: unknown[] = [];
    const principal = { userId: 'u', keyId: null };
    let isRefused = false;
    const put = auditedRoute(
      'PUT /surveys/{id}',
      async () => (isRefused ? Promise.reject(new Error('refused')) : ok({ id: 's', status: 'PAUSED' })),
      async (record) => void records.push(record),
    );
    const call = {
      params: { id: 's' },
      body: { title: 'a secret', status: 'PAUSED' },
      survey: { id: 's', status: 'ACTIVE', endsAt: null },
      principal,
    } as unknown as RouteRequest<never, never>;
    await put.handle(call);
    isRefused = true;
    await assert.rejects(async () => put.handle(call));
    assert.deepEqual(records, [
      {
        actor: principal,
        action: 'survey.changed',
        objectKind: 'survey',
        objectId: 's',
        details: { fields: ['title', 'status'], status: { from: 'ACTIVE', to: 'PAUSED' } },
      },
    ]);
  });

  it('records a change of status only if the call made it, not if the survey had ended by its date', async () => {
    const records: unknown[] = [];
    const put = auditedRoute(
      'PUT /surveys/{id}',
      async ({ body }) => ok({ id: 's', ...(body as object) }),
      async ({ details }) => void records.push(details),
    );
    const over = { id: 's', status: 'ACTIVE', endsAt: new Date(Date.now() - 1) };
    const call = (body: object) =>
      put.handle({
        params: { id: 's' },
        body,
        survey: over,
        principal: { userId: 'u', keyId: null },
      } as unknown as RouteRequest<never, never>);
    await call({ status: 'CLOSED' });
    await call({ status: 'ACTIVE' });
    assert.deepEqual(records, [
      { fields: ['status'] },
      { fields: ['status'], status: { from: 'CLOSED', to: 'ACTIVE' } },
    ]);
  });

  it('names the survey whose answers were sent to an AI provider', async () => {
    const records: unknown[] = [];
    const name = 'POST /ai/surveys/{id}/analyze';
    const analyse = auditedRoute(
      name,
      async () => ok({}),
      async ({ objectId, details }) => void records.push({ objectId, details }),
    );
    await analyse.handle({
      params: { id: 's' },
      survey: { id: 's' },
      principal: { userId: 'u', keyId: null },
    } as unknown as RouteRequest<never, never>);
    assert.deepEqual(records, [{ objectId: 's', details: { surveyId: 's', call: name } }]);
  });

  it('records a failed call for which an AI provider may have been asked, and no failed decision on what AI made', async () => {
    const records: unknown[] = [];
    const fail = async (name: string, params: Record<string, string>) => {
      const failing = auditedRoute(
        name,
        async () => Promise.reject(new Error('an unfit reply')),
        async ({ action, objectId, details }) => void records.push({ action, objectId, details }),
      );
      const call = { params, survey: { id: 's' }, principal: { userId: 'u', keyId: null } };
      await assert.rejects(failing.handle(call as unknown as RouteRequest<never, never>), /an unfit reply/);
    };
    const asking = api.filter(
      ({ path }) =>
        path.startsWith('/ai/') && /(analyze|translate|report|optimize|generate-survey|messages|test)$/.test(path),
    );
    assert.equal(asking.length, 7);
    for (const entry of asking) await fail(routeName(entry), { id: 's' });
    assert.deepEqual(
      records,
      asking.map((entry) => ({
        action: 'ai.used',
        objectId: 's',
        details: { surveyId: 's', call: routeName(entry), failed: true },
      })),
    );
    await fail('POST /ai/suggestions/{suggestionId}/accept', { suggestionId: 'x' });
    await fail('DELETE /ai/jobs/{jobId}', { jobId: 'x' });
    assert.equal(records.length, asking.length);
  });

  it('records a call whose reply is written in slices', async () => {
    const records: unknown[] = [];
    const put = auditedRoute(
      'PUT /surveys/{id}/translations/{language}',
      () => okInSlices({ language: 'de' }),
      async ({ action, objectId, details }) => void records.push([action, objectId, details]),
    );
    const call = { params: { language: 'de' }, survey: { id: 's' }, principal: { userId: 'u', keyId: null } };
    await put.handle(call as unknown as RouteRequest<never, never>);
    assert.deepEqual(records, [['translation.changed', 's', { language: 'de' }]]);
  });

  it('records a download, also of parts of a file, but not a 304', async () => {
    const records: { details?: Record<string, unknown> }[] = [];
    const unchanged = { kind: 'head', status: 304, headers: [] } as const;
    let outcome: Outcome = unchanged;
    const download = auditedRoute(
      'GET /exports/{exportId}/download',
      async () => outcome,
      async (record) => void records.push(record),
    );
    const call = {
      params: { exportId: 'e' },
      survey: { id: 's' },
      principal: { userId: 'u', keyId: null },
    } as unknown as RouteRequest<never, never>;
    const streamed = (status: 200 | 206, headers: [string, string][]): Outcome => ({
      kind: 'stream',
      status,
      headers,
      source: (async function* () {})(),
      totalBytes: 0,
    });
    for (outcome of [streamed(200, []), streamed(206, [['content-range', 'bytes 0-9/10']]), unchanged])
      await download.handle(call);
    assert.deepEqual(
      records.map(({ details }) => details?.['range']),
      [undefined, 'bytes 0-9/10'],
    );
  });
});
