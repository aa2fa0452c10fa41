import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Route } from '../../src/http/routing/route.ts';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { everyRoute } from '../support/every-route.ts';
import { finishedExport } from '../support/exports.ts';
import { makeInvitations } from '../support/invitations.ts';
import { openLive } from '../support/live-client.ts';
import { signInNewUser } from '../support/new-user.ts';
import { png } from '../support/pictures.ts';
import { type RunningService, startService } from '../support/service.ts';

const { api } = await everyRoute();
/** Routes that name an object by its id, without those for an ADMIN only. */
const naming = api.filter(
  ({ path, access }) => path.includes('{') && access.kind !== 'public' && access.kind !== 'admin',
);
const word = 'Zanzibar';

describe('callers without rights to a survey', () => {
  let service: RunningService;
  let admin: Client;
  let owner: Client;
  const strangers: Record<string, { client: Client; token: string }> = {};
  /** Ids of the owner's things, by the parameter that names them; `id` stands for what the path begins with. */
  const own: Record<string, string> = {};

  const person = async (
    role: 'ADMIN' | 'EDITOR' | 'VIEWER',
  ): Promise<{ id: string; client: Client; token: string }> => {
    const client = await signInNewUser(service, admin, role);
    return { id: client.id, client, token: client.token ?? '' };
  };

  before(async () => {
    service = await startService({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
    admin = await adminClient(service);
    ({ client: owner } = await person('EDITOR'));
    const { id: surveyId } = await owner.create('/surveys', { title: `${word} survey`, description: word });
    const file = await owner.create(`/surveys/${surveyId}/questions`, { type: 'FILE_UPLOAD', text: `${word}?` });
    const open = await owner.create(`/surveys/${surveyId}/questions`, { type: 'LONG_TEXT', text: `${word}, why?` });
    await owner.put(`/surveys/${surveyId}/translations/de`, { title: word });
    const member = await person('VIEWER');
    await owner.put(`/surveys/${surveyId}/members/${member.id}`, { role: 'VIEWER' });
    const hook = await owner.create('/webhooks', {
      url: 'http://127.0.0.1:9/',
      surveyId,
      events: ['response.submitted'],
      description: word,
    });
    await owner.post(`/surveys/${surveyId}/publish`);
    const sent = await fetch(`${service.base}/uploads/surveys/${surveyId}/questions/${file.id}`, {
      method: 'POST',
      body: new Uint8Array(png),
    });
    const { uploadId } = ((await sent.json()) as any).data;
    const { responseId } = (
      await owner.submit(surveyId, { respondent: word, answers: [{ questionId: file.id, textValue: uploadId }] })
    ).body.data;
    const key = await owner.create('/api-keys', { name: word, role: 'VIEWER' });
    const { exportId } = (await owner.call('POST', `/exports/surveys/${surveyId}`, { body: { format: 'JSON' } })).body
      .data;
    const list = { name: word, kind: 'INVITATION' };
    const { id: collectorId } = await owner.create(`/surveys/${surveyId}/collectors`, list);
    await makeInvitations(service, owner, collectorId, [{ reference: word }]);
    const [invitation] = await owner.get(`/collectors/${collectorId}/invitations`);
    const deliveries = await eventually(async () => {
      const list = await owner.get(`/webhooks/${hook.id}/deliveries`);
      assert.ok(list.length > 0);
      return list;
    });
    Object.assign(own, {
      version: '1',
      surveyId,
      questionId: file.id,
      'id of an open question': open.id,
      uploadId,
      responseId,
      exportId,
      collectorId,
      invitationId: invitation.id,
      userId: member.id,
      deliveryId: deliveries[0].id,
      language: 'de',
      respondent: word,
      'id of surveys': surveyId,
      'id of webhooks': hook.id,
      'id of api-keys': key.id,
    });
    assert.equal((await finishedExport(owner, exportId)).status, 'COMPLETED');
    const [editor, viewer] = [await person('EDITOR'), await person('VIEWER')];
    const { key: program } = await editor.client.create('/api-keys', { name: 'x', role: 'EDITOR' });
    Object.assign(strangers, {
      'another EDITOR': editor,
      'a VIEWER': viewer,
      'a key of another EDITOR': { client: createClient(service, program), token: program },
    });
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
  });

  const fill = ({ path }: Route, idOf: (name: string) => string): string =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => {
      if (name === 'id') return idOf(`id of ${path.split('/')[1]}`);
      // Some routes take questions with open answers only.
      return idOf(name === 'questionId' && path.startsWith('/responses/') ? 'id of an open question' : name);
    });

  it('the objects named below exist for the owner', async () => {
    for (const route of naming.filter(
      ({ method, path }) => method === 'GET' && !path.endsWith('/live') && !path.startsWith('/ai/'),
    )) {
      assert.equal(
        (
          await owner.call(
            'GET',
            fill(route, (name) => own[name] ?? `no ${name}`),
          )
        ).status,
        200,
        route.path,
      );
    }
  });

  it('get the same reply for its objects as for unknown ones, from every route that names one', async () => {
    for (const [who, { client }] of Object.entries(strangers))
      for (const route of naming) {
        const name = `${who}: ${route.method} ${route.path}`;
        const ask = async (path: string) => {
          const { status, body } = await client.call(route.method, path, route.body ? { body: {} } : {});
          return { status, code: body.code, message: body.message, details: body.details };
        };
        const [foreign, unknown] = [
          await ask(fill(route, (name_) => own[name_] ?? randomUUID())),
          await ask(
            fill(route, (name_) =>
              ['language', 'respondent', 'version'].includes(name_) ? (own[name_] ?? '') : randomUUID(),
            ),
          ),
        ];
        assert.deepEqual(foreign, unknown, name);
        // Some routes validate the body first; a VIEWER gets 403.
        assert.ok(
          foreign.status === 404 ||
            (route.body !== undefined && foreign.status === 400) ||
            (who === 'a VIEWER' && route.access.kind === 'editor' && foreign.status === 403),
          `${name} gave ${foreign.status}`,
        );
      }
    for (const path of [
      `/surveys/${own['surveyId']}`,
      `/responses/${own['responseId']}`,
      `/webhooks/${own['id of webhooks']}`,
    ])
      await owner.get(path);
  });

  it('find nothing of it in lists and searches', async () => {
    const lists = api
      .filter(
        ({ method, path, access }) =>
          method === 'GET' && !path.includes('{') && access.kind !== 'public' && access.kind !== 'admin',
      )
      .map(({ path }) => path);
    assert.ok(
      lists.includes('/surveys') &&
        lists.includes('/exports') &&
        lists.includes('/webhooks') &&
        lists.includes('/api-keys'),
    );
    for (const [who, { client }] of Object.entries(strangers))
      for (const path of [
        ...lists,
        `/surveys?search=${word}`,
        `/exports?surveyId=${own['surveyId']}`,
        `/webhooks?surveyId=${own['surveyId']}`,
      ]) {
        const text = JSON.stringify((await client.call('GET', path)).body);
        for (const trace of [
          word,
          own['surveyId'] ?? '',
          own['exportId'] ?? '',
          own['id of webhooks'] ?? '',
          own['id of api-keys'] ?? '',
        ])
          assert.ok(!text.includes(trace), `${who}: ${path} shows ${trace}`);
      }
    assert.equal((await owner.get(`/surveys?search=${word}`)).length, 1);
  });

  it('get no live events of it, and the same refusal as for an unknown survey', async () => {
    for (const { token } of Object.values(strangers)) {
      const live = await openLive(service, token);
      const refusals = [];
      for (const surveyId of [own['surveyId'], randomUUID()]) {
        live.send({ type: 'subscribe', surveyId, channels: ['responses', 'analytics', 'status'] });
        const { surveyId: _, ...refusal } = await live.next('error', (message) => message['surveyId'] === surveyId);
        refusals.push(refusal);
      }
      assert.deepEqual(refusals[0], refusals[1]);
      assert.equal((await owner.submit(own['surveyId'] ?? '', { answers: [] })).status, 201);
      live.send({ type: 'ping' });
      await live.next('pong');
      assert.ok(!live.messages.some(({ type }) => ['response', 'analytics', 'status', 'subscribed'].includes(type)));
      live.socket.terminate();
    }
  });
});
