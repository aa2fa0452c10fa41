import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { exportFile } from '../support/exports.ts';
import { makeInvitations } from '../support/invitations.ts';
import { openEvents } from '../support/live-client.ts';
import { signInNewUser } from '../support/new-user.ts';
import { callOnce } from '../support/one-connection.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('collectors', () => {
  let service: RunningService;
  let admin: Client;
  useService(
    (served) => {
      ({ service, admin } = served);
    },
    { env: { WORKERS: '2' } },
  );

  const makeSurvey = async (fields: Record<string, unknown> = {}) => {
    const survey = await admin.create('/surveys', { title: 'Collected', status: 'ACTIVE', ...fields });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'YES_NO', text: 'Well?' });
    const [standard] = await admin.get(`/surveys/${survey.id}/collectors`);
    return { id: survey.id as string, question, standard };
  };
  const addCollector = (surveyId: string, fields: Record<string, unknown> = {}) =>
    admin.create(`/surveys/${surveyId}/collectors`, { name: 'Panel', ...fields });
  /** On a connection of its own, so that every process gets some. */
  const submit = (surveyId: string, body: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
    callOnce(service.base, 'POST', `/responses/surveys/${surveyId}/submit`, {
      body: { answers: [], ...body },
      headers,
    });
  const outcomeOf = ({ status, body }: { status: number; body?: any }) =>
    status === 201 ? 201 : (body?.details?.state ?? body?.details?.reason ?? body?.code);
  const stored = (responseId: string) => admin.get(`/responses/${responseId}`);

  it('are one for every survey from the start, under its id and link', async () => {
    const { id, standard } = await makeSurvey();
    const { linkId, createdAt, updatedAt, ...rest } = standard;
    assert.match(linkId, /^[\w-]{10}$/);
    assert.ok(createdAt && updatedAt);
    assert.deepEqual(rest, {
      id: standard.id,
      surveyId: id,
      name: 'Default',
      kind: 'OPEN',
      isDefault: true,
      isActive: true,
      state: 'OPEN',
      opensAt: null,
      closesAt: null,
      responseQuota: null,
      completeResponses: 0,
      language: null,
      metadata: {},
    });
    const { responseId } = (await submit(id)).body.data;
    assert.equal((await stored(responseId)).collectorId, standard.id);
    assert.deepEqual(await admin.get(`/collectors/${standard.id}`), { ...standard, completeResponses: 1 });
    const byLink = () => callOnce(service.base, 'GET', `/public/collectors/${linkId}`);
    assert.deepEqual((await byLink()).body.data, {
      surveyId: id,
      collectorId: standard.id,
      kind: 'OPEN',
      language: null,
    });
    await admin.put(`/collectors/${standard.id}`, { isActive: false });
    assert.equal((await byLink()).status, 404);
    for (const link of ['unknown', '%00', 'x'.repeat(3000)])
      assert.equal((await callOnce(service.base, 'GET', `/public/collectors/${link}`)).status, 404, link);
    const copy = await admin.create(`/surveys/${id}/duplicate`);
    const copied = await admin.get(`/surveys/${copy.id}/collectors`);
    assert.equal(copied.length, 1);
    assert.notEqual(copied[0].id, standard.id);
  });

  it('are named by submissions, and their responses keep them through every save', async () => {
    const { id, standard, question } = await makeSurvey();
    const panel = await addCollector(id, { language: 'de', metadata: { agency: 'Müller' } });
    const survey = await admin.get(`/surveys/${id}`);
    assert.equal(survey.version, 2, 'a collector makes no version of its survey');
    const first = (await submit(id, { collectorId: panel.id.toUpperCase(), isComplete: false })).body.data;
    const { responseId, resumeToken } = first;
    const other = await submit(id, { responseId, resumeToken, collectorId: standard.id });
    assert.deepEqual([other.status, other.body.details[0].path], [400, 'collectorId']);
    const answers = [{ questionId: question.id, textValue: 'yes' }];
    assert.equal(outcomeOf(await submit(id, { responseId, resumeToken, answers })), 201);
    const response = await stored(responseId);
    assert.deepEqual([response.collectorId, response.language, response.isComplete], [panel.id, 'de', true]);
    const unknown = await submit(id, { collectorId: newId() });
    assert.deepEqual([unknown.status, unknown.body.details[0].path], [400, 'collectorId']);
    assert.equal((await submit(id, { collectorId: 'panel' })).body.details[0].path, 'collectorId');
  });

  it('refuse on a page in the language of the collector, or of the invitation', async () => {
    const { id } = await makeSurvey();
    const paused = await addCollector(id, { language: 'de', isActive: false });
    const invited = await addCollector(id, { kind: 'INVITATION', language: 'fr' });
    const made = await makeInvitations(service, admin, invited.id, [{ language: 'nl' }, {}]);
    const [named = '', unnamed = ''] = made.map(({ token }) => token);
    for (const token of [named, unnamed]) assert.equal((await submit(id, { invitation: token })).status, 201);
    const pageOf = async (link: string) => {
      const page = await fetch(`${service.origin}/s/${link}`, { headers: { 'accept-language': 'en-US' } });
      return page.text();
    };
    // The use of an invitation is recorded a moment later.
    for (const [link, language] of [
      [paused.linkId, 'de'],
      [invited.linkId, 'fr'],
      [`${id}?invitation=${named}`, 'nl'],
      [`${id}?invitation=${unnamed}`, 'fr'],
      [`${paused.linkId}?lang=it`, 'it'],
    ])
      await eventually(async () => assert.match(await pageOf(link), new RegExp(`<html lang="${language}"`), link));
  });

  it('refuse with the reason why they are closed, in every process at once', async () => {
    const { id, standard } = await makeSurvey();
    const panel = await addCollector(id);
    const outcomes = async (collectorId?: string) => {
      const replies = await Promise.all(
        Array.from({ length: 8 }, () => submit(id, collectorId === undefined ? {} : { collectorId })),
      );
      return [...new Set(replies.map(outcomeOf))];
    };
    assert.deepEqual(await outcomes(panel.id), [201]);
    const change = (fields: unknown, collector = panel) => admin.put(`/collectors/${collector.id}`, fields);
    assert.equal((await change({ isActive: false })).state, 'PAUSED');
    assert.deepEqual([await outcomes(panel.id), await outcomes()], [['PAUSED'], [201]]);
    await change({ isActive: true, opensAt: new Date(Date.now() + 3_600_000).toISOString() });
    assert.deepEqual(await outcomes(panel.id), ['NOT_OPEN_YET']);
    await change({ opensAt: null, closesAt: new Date(Date.now() - 1000).toISOString() });
    assert.deepEqual(await outcomes(panel.id), ['ENDED']);
    const late = await admin.call('PUT', `/collectors/${panel.id}`, { body: { isActive: true } });
    assert.deepEqual([late.status, late.body.details], [409, { reason: 'COLLECTOR_CLOSED', state: 'ENDED' }]);
    assert.equal((await change({ isActive: true, closesAt: null })).state, 'OPEN');
    assert.deepEqual(await outcomes(panel.id), [201]);
    await change({ isActive: false }, standard);
    assert.deepEqual([await outcomes(), await outcomes(panel.id)], [['PAUSED'], [201]]);
    await admin.remove(`/collectors/${panel.id}`);
    assert.deepEqual(await outcomes(panel.id), ['DELETED']);
    assert.equal((await admin.call('GET', `/collectors/${panel.id}`)).status, 404);
    const kept = await admin.call('DELETE', `/collectors/${standard.id}`);
    assert.deepEqual([kept.status, kept.body.details.reason], [409, 'DEFAULT_COLLECTOR']);
  });

  it('take exactly as many complete responses as their quota allows, over all processes', async () => {
    const { id } = await makeSurvey();
    const panel = await addCollector(id, { responseQuota: 25 });
    const replies = await Promise.all(Array.from({ length: 60 }, () => submit(id, { collectorId: panel.id })));
    const count = (outcome: unknown) => replies.filter((reply) => outcomeOf(reply) === outcome).length;
    assert.deepEqual([count(201), count('QUOTA_REACHED')], [25, 35]);
    const full = await admin.get(`/collectors/${panel.id}`);
    assert.deepEqual([full.state, full.completeResponses], ['QUOTA_REACHED', 25]);
    const byLink = async () => (await callOnce(service.base, 'GET', `/public/collectors/${full.linkId}`)).status;
    assert.equal(await byLink(), 404, 'a link leads nowhere while its collector is full');
    const { responseId } = replies.find(({ status }) => status === 201)?.body.data ?? {};
    await admin.remove(`/responses/${responseId}`);
    assert.equal(await byLink(), 200);
    assert.deepEqual([outcomeOf(await submit(id, { collectorId: panel.id })), outcomeOf(await submit(id))], [201, 201]);
    assert.equal(outcomeOf(await submit(id, { collectorId: panel.id })), 'QUOTA_REACHED');
    await admin.put(`/collectors/${panel.id}`, { responseQuota: 26 });
    assert.equal(await byLink(), 200);
  });

  it('are a filter, a variable of crosstabs, a count of the analytics and a column of exports', async () => {
    const { id, standard, question } = await makeSurvey();
    const before = await submit(id, { answers: [{ questionId: question.id, textValue: 'no' }] });
    const panel = await addCollector(id, { name: 'Panel' });
    for (const textValue of ['yes', 'yes', 'no'])
      await submit(id, { collectorId: panel.id, answers: [{ questionId: question.id, textValue }] });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 4));
    assert.deepEqual((await admin.get(`/analytics/surveys/${id}`)).collectors, [
      { collectorId: standard.id, name: 'Default', responseCount: 1 },
      { collectorId: panel.id, name: 'Panel', responseCount: 3 },
    ]);
    const ofPanel = await admin.get(`/analytics/surveys/${id}?filter=collector:${panel.id}`);
    assert.deepEqual([ofPanel.totalResponses, ofPanel.collectors.map((one: any) => one.responseCount)], [3, [0, 3]]);
    assert.equal((await admin.get(`/analytics/surveys/${id}?filter=collector:${standard.id}`)).totalResponses, 1);
    assert.equal((await admin.call('GET', `/analytics/surveys/${id}?filter=collector:${newId()}`)).status, 400);
    const table = await admin.post(`/analytics/surveys/${id}/crosstab`, {
      questionId1: 'collector',
      questionId2: question.id,
    });
    assert.deepEqual(
      [
        table.rows.map((row: any) => [row.value, row.total]),
        table.cells.map((row: any) => row.map((cell: any) => cell.count)),
      ],
      [
        [
          [standard.id, 1],
          [panel.id, 3],
        ],
        [
          [0, 1],
          [2, 1],
        ],
      ],
    );
    const { text } = await exportFile(service, admin, admin.token ?? '', id, { format: 'CSV' });
    const [heading = '', ...lines] = text.trim().split('\r\n');
    const place = heading.split(',').indexOf('collectorId');
    assert.deepEqual(
      lines.map((line) => line.split(',')[place]).sort(),
      [standard.id, panel.id, panel.id, panel.id].sort(),
    );
    const json = await exportFile(service, admin, admin.token ?? '', id, { format: 'NDJSON' });
    const [oldest] = json.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual([oldest.id, oldest.collectorId], [before.body.data.responseId, standard.id]);
  });

  it('show in crosstabs of a survey that has one alone', async () => {
    const { id, standard, question } = await makeSurvey();
    await submit(id, { answers: [{ questionId: question.id, textValue: 'yes' }] });
    await eventually(async () => {
      const table = await admin.post(`/analytics/surveys/${id}/crosstab`, {
        questionId1: question.id,
        questionId2: 'collector',
        filters: [`collector:${standard.id}`],
      });
      assert.deepEqual([table.total, table.columns.map(({ value }: any) => value)], [1, [standard.id]]);
    });
    const { text } = await exportFile(service, admin, admin.token ?? '', id, { format: 'CSV' });
    assert.ok(!text.includes('collectorId'));
  });

  it('are named by live events', async () => {
    const { id } = await makeSurvey();
    const events = await openEvents(`${service.base}/surveys/${id}/live?channels=responses`, admin.token ?? '');
    await events.next('subscribed');
    const panel = await addCollector(id);
    const { responseId } = (await submit(id, { collectorId: panel.id })).body.data;
    const { data } = await events.next('response');
    assert.deepEqual([data.responseId, data.collectorId], [responseId, panel.id]);
    events.close();
  });

  it('are read by who may read the survey, changed by who may edit it, and nobody else', async () => {
    const { id, standard } = await makeSurvey();
    const [viewer, editor, stranger] = [
      await signInNewUser(service, admin, 'VIEWER'),
      await signInNewUser(service, admin, 'EDITOR'),
      await signInNewUser(service, admin, 'EDITOR'),
    ];
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    await admin.put(`/surveys/${id}/members/${editor.id}`, { role: 'EDITOR' });
    const statuses = async (client: Client) =>
      Promise.all([
        client.call('GET', `/surveys/${id}/collectors`),
        client.call('GET', `/collectors/${standard.id}`),
        client.call('PUT', `/collectors/${standard.id}`, { body: { name: 'Website' } }),
        client.call('POST', `/surveys/${id}/collectors`, { body: { name: 'Poster' } }),
      ]).then((replies) => replies.map(({ status }) => status));
    assert.deepEqual(
      [await statuses(viewer), await statuses(editor), await statuses(stranger)],
      [
        [200, 200, 403, 403],
        [200, 200, 200, 201],
        [404, 404, 404, 404],
      ],
    );
    assert.deepEqual(await admin.call('GET', `/collectors/${newId()}`).then(({ status }) => status), 404);
    const names = (await admin.get(`/surveys/${id}/collectors`)).map(({ name }: any) => name);
    assert.deepEqual(names, ['Website', 'Poster']);
    const { items } = { items: (await admin.get(`/audit?surveyId=${id}&limit=100`)) as any[] };
    assert.deepEqual(
      items
        .map(({ action }) => action)
        .filter((action) => action.startsWith('collector'))
        .sort(),
      ['collector.changed', 'collector.created'],
    );
  });

  it('take at most 256 KiB of metadata together, which ends with each', async () => {
    const { id } = await makeSurvey();
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${n}`, '語'.repeat(1000)]));
    const add = () => admin.call('POST', `/surveys/${id}/collectors`, { body: { name: 'Panel', metadata } });
    const panel = await addCollector(id, { metadata });
    for (let n = 0; n < 3; n += 1) assert.equal((await add()).status, 201);
    const refused = await add();
    assert.deepEqual([refused.status, refused.body.details[0].path], [400, 'metadata']);
    await admin.remove(`/collectors/${panel.id}`);
    assert.equal((await add()).status, 201);
  });

  it('refuse bad input with the path of what is wrong', async () => {
    const { id, standard } = await makeSurvey();
    const pathsOf = async (method: string, path: string, body: unknown) => {
      const reply = await admin.call(method, path, { body });
      return reply.status === 400 ? [...new Set(reply.body.details.map((issue: any) => issue.path))] : reply.status;
    };
    const cases: [unknown, unknown][] = [
      [{}, ['name']],
      [{ name: ' ' }, ['name']],
      [{ name: 'x'.repeat(201) }, ['name']],
      [{ name: 'a', kind: 'PANEL' }, ['kind']],
      [{ name: 'a', responseQuota: 0 }, ['responseQuota']],
      [{ name: 'a', responseQuota: 1.5 }, ['responseQuota']],
      [{ name: 'a', language: 'qqqqqqqqq' }, ['language']],
      [{ name: 'a', opensAt: '2026-01-01' }, ['opensAt']],
      [{ name: 'a', opensAt: '2026-01-02T00:00:00Z', closesAt: '2026-01-01T00:00:00Z' }, ['closesAt']],
      [{ name: 'a', metadata: { k: 1 } }, ['metadata.k']],
      [{ name: 'a', code: 7 }, ['code']],
      [{ name: 'a', linkId: 'mine' }, ['linkId']],
    ];
    for (const [body, paths] of cases)
      assert.deepEqual(await pathsOf('POST', `/surveys/${id}/collectors`, body), paths, JSON.stringify(body));
    assert.deepEqual(await pathsOf('PUT', `/collectors/${standard.id}`, {}), ['']);
    const metadata = { 'invitation:team': 'A' };
    assert.deepEqual((await submit(id, { metadata })).body.details[0].path, 'metadata.invitation:team');
  });
});
