import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { auditEventOf, auditEvents, withAudit } from '../../../../src/http/routing/audit-events.ts';
import { type Outcome, ok, type RouteRequest, route } from '../../../../src/http/routing/route.ts';
import { assetPath } from '../../../../src/platform/assets.ts';
import { auditActions, auditObjectKinds } from '../../../../src/stores/postgres/audit-actions.ts';
import { everyRoute } from '../../../support/every-route.ts';

const { api } = await everyRoute();
const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

/** Their handlers write the audit themselves. */
const recordThemselves = [
  /^POST \/auth\/(logout|password)$/,
  /^\w+ \/users(\/|$)/,
  /^\w+ \/api-keys(\/|$)/,
  /^\w+ \/surveys\/\{id\}\/members\//,
  /^\w+ \/surveys\/\{id\}\/translations\//,
  /^DELETE \/surveys\/\{id\}\/respondents\//,
  /^\w+ \/webhooks(\/\{id\}|\/\{id\}\/rotate-secret)?$/,
  /^\w+ \/ai\/settings\/\{provider\}$/,
  /^POST \/dead-letters\/replay$/,
];
/** They change nothing that anybody would ask about. */
const noDeeds = ['POST /analytics/surveys/{surveyId}/crosstab', 'POST /live/tickets'];

describe('the audit of calls', () => {
  it('knows of every call with which somebody changes something', () => {
    const changing = api
      .filter(({ method, access }) => method !== 'GET' && access.kind !== 'public')
      .filter((entry) => !noDeeds.includes(nameOf(entry)));
    const missing = changing
      .filter((entry) => !auditEventOf(entry) && !recordThemselves.some((pattern) => pattern.test(nameOf(entry))))
      .map(nameOf);
    assert.deepEqual(missing, [], 'neither in http/routing/audit-events.ts nor known to record themselves');
  });

  it('names only calls that there are, and none twice', () => {
    const names = api.map(nameOf);
    for (const name of Object.keys(auditEvents)) assert.ok(names.includes(name), name);
    for (const name of Object.keys(auditEvents))
      assert.ok(!recordThemselves.some((pattern) => pattern.test(name)), name);
  });

  it('has one list of actions and objects, which holds nothing that no code writes', () => {
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

  it('writes who did what to which object, names of fields but no values, and nothing of a refused call', async () => {
    const records: unknown[] = [];
    const principal = { userId: 'u', keyId: null };
    let isRefused = false;
    const [put] = withAudit(
      [
        route({
          method: 'PUT',
          path: '/surveys/{id}',
          tag: 'Surveys',
          summary: 'x',
          access: { kind: 'user' },
          limit: 'api',
          reply: z.object({}),
          replyStatus: 200,
          handle: async () => (isRefused ? Promise.reject(new Error('refused')) : ok({ id: 's', status: 'PAUSED' })),
        }),
      ],
      { record: async (record) => void records.push(record) },
    );
    const call = {
      params: { id: 's' },
      body: { title: 'a secret', status: 'PAUSED' },
      survey: { id: 's', status: 'ACTIVE', endsAt: null },
      principal,
    } as unknown as RouteRequest<never, never>;
    await put?.handle(call);
    isRefused = true;
    await assert.rejects(async () => put?.handle(call));
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

  it('says that a call has changed the status only where it was the call, not where the time of the survey was over', async () => {
    const records: unknown[] = [];
    const [put] = withAudit(
      [
        route({
          method: 'PUT',
          path: '/surveys/{id}',
          tag: 'Surveys',
          summary: 'x',
          access: { kind: 'user' },
          limit: 'api',
          reply: z.object({}),
          replyStatus: 200,
          handle: async ({ body }) => ok({ id: 's', ...(body as object) }),
        }),
      ],
      { record: async ({ details }) => void records.push(details) },
    );
    const over = { id: 's', status: 'ACTIVE', endsAt: new Date(Date.now() - 1) };
    const call = (body: object) =>
      put?.handle({
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

  it('names the survey whose answers an AI provider was sent', async () => {
    const records: unknown[] = [];
    const path = '/ai/surveys/{id}/analyze';
    const [analyse] = withAudit(
      [
        route({
          method: 'POST',
          path,
          tag: 'AI',
          summary: 'x',
          access: { kind: 'user' },
          limit: 'api',
          reply: z.object({}),
          replyStatus: 200,
          handle: async () => ok({}),
        }),
      ],
      { record: async ({ objectId, details }) => void records.push({ objectId, details }) },
    );
    await analyse?.handle({
      params: { id: 's' },
      survey: { id: 's' },
      principal: { userId: 'u', keyId: null },
    } as unknown as RouteRequest<never, never>);
    assert.deepEqual(records, [{ objectId: 's', details: { surveyId: 's', call: `POST ${path}` } }]);
  });

  it('writes down who fetched a file, also part by part, and not who had it already', async () => {
    const records: { details?: Record<string, unknown> }[] = [];
    let outcome: Outcome = { kind: 'written' };
    const [download] = withAudit(
      [
        route({
          method: 'GET',
          path: '/exports/{exportId}/download',
          tag: 'Exports',
          summary: 'x',
          access: { kind: 'user' },
          limit: 'api',
          reply: z.object({}),
          replyStatus: 200,
          handle: async () => outcome,
        }),
      ],
      { record: async (record) => void records.push(record) },
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
    for (outcome of [
      streamed(200, []),
      streamed(206, [['content-range', 'bytes 0-9/10']]),
      { kind: 'written' } as const,
    ])
      await download?.handle(call);
    assert.deepEqual(
      records.map(({ details }) => details?.['range']),
      [undefined, 'bytes 0-9/10'],
    );
  });
});
