import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { pageResponseId } from '../../src/domain/submission/page-response-id.ts';
import { newResponseId } from '../../src/platform/ids.ts';
import { responseKey } from '../../src/stores/redis/intake/shards.ts';
import { type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { forgetResponseId } from '../support/intake.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import type { RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { uploadPicture } from '../support/uploads.ts';
import { useService } from '../support/use-service.ts';

describe('response ids', () => {
  let service: RunningService;
  let admin: Client;
  before(async () => void (await sharedStores()));
  useService((served) => {
    ({ service, admin } = served);
  });

  async function survey(owner = admin): Promise<{ id: string; answers: (score: number) => object[] }> {
    const { id } = await owner.create('/surveys', { title: 'Ids' });
    const question = await owner.create(`/surveys/${id}/questions`, { type: 'NPS', text: 'Again?' });
    await owner.post(`/surveys/${id}/publish`);
    return { id, answers: (numberValue) => [{ questionId: question.id, numberValue }] };
  }

  async function editor(): Promise<{ userId: string; client: Client }> {
    const [email, password] = [`${randomUUID()}@example.org`, 'correct horse battery'];
    const { id } = await admin.create('/users', { email, password, role: 'EDITOR' });
    const { accessToken } = await admin.post('/auth/login', { email, password });
    return { userId: id, client: createClient(service, accessToken) };
  }

  /** Submits a response and waits until it is stored. */
  async function store(surveyId: string, body: { responseId: string; answers: object[] }): Promise<void> {
    await forgetResponseId(body.responseId);
    assert.equal((await admin.submit(surveyId, body)).status, 201);
    await eventually(async () =>
      assert.equal((await admin.get(`/responses/surveys/${surveyId}`))[0]?.id, body.responseId),
    );
  }

  const listed = async (id: string) =>
    (await admin.get(`/responses/surveys/${id}`)).map((response: any) => [
      response.id,
      response.answers[0]?.numberValue,
    ]);

  it('an id of a client that has the form of the service’s ids is one response, and its repeats get the reply', async () => {
    const { id, answers } = await survey();
    const body = { responseId: newResponseId(), answers: answers(7) };
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => admin.submit(id, body)));
    assert.equal(first?.status, 201);
    const repeat = async () => {
      const { status, body: reply } = await admin.submit(id, body);
      return [status, reply.data];
    };
    for (const { status, body: reply } of others) assert.deepEqual([status, reply.data], [201, first?.body.data]);
    assert.deepEqual(await repeat(), [201, first?.body.data]);
    await eventually(async () => assert.deepEqual(await listed(id), [[body.responseId, 7]]));
    assert.deepEqual(await repeat(), [201, first?.body.data]);
    assert.equal((await admin.submit(id, { ...body, answers: answers(3) })).status, 409);
    assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 1);
  });

  for (const [when, wait] of [
    ['at once', false],
    ['when it has been stored', true],
  ] as const)
    it(`an id of the service is refused for another response, ${when}`, async () => {
      const { id, answers } = await survey();
      const { responseId } = (await admin.submit(id, { answers: answers(9) })).body.data;
      if (wait)
        await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 1));
      const twin = await admin.submit(id, { responseId, answers: answers(0) });
      assert.deepEqual([twin.status, twin.body.details?.reason], [409, 'ALREADY_COMPLETE']);
      assert.equal(
        (await admin.submit(id, { responseId, isComplete: false, answers: [] })).body.details?.reason,
        'ALREADY_COMPLETE',
      );
      const elsewhere = await survey();
      assert.equal(
        (await admin.submit(elsewhere.id, { responseId, answers: elsewhere.answers(5) })).body.details?.reason,
        'IDEMPOTENCY_MISMATCH',
      );
      await eventually(async () => assert.deepEqual(await listed(id), [[responseId, 9]]));
      await admin.remove(`/responses/${responseId}`);
      await eventually(async () => assert.deepEqual(await listed(id), []));
      assert.equal((await admin.submit(id, { responseId, answers: answers(0) })).status, 409);
      assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 0);
    });

  it('an id that a page has had for days is one response, also when its request comes again after two of them', async () => {
    const { id, answers } = await survey();
    const openedDaysAgo = (days: number) => pageResponseId(randomUUID(), Date.now() - days * 86_400_000);
    const late = { responseId: openedDaysAgo(3), answers: answers(7) };
    for (const expected of [201, 409]) {
      await forgetResponseId(late.responseId);
      const { status, body } = await admin.submit(id, late);
      assert.deepEqual([status, body.details?.reason], [expected, expected === 409 ? 'ALREADY_COMPLETE' : undefined]);
    }
    await eventually(async () => assert.deepEqual(await listed(id), [[late.responseId, 7]]));
    assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 1);
    // Its record is sure to be there, so the response store is not asked.
    const early = { responseId: openedDaysAgo(1), answers: answers(5) };
    assert.equal((await admin.submit(id, early)).status, 201);
    await forgetResponseId(early.responseId);
    assert.equal((await admin.submit(id, early)).status, 201);
  });

  it('an id names one response over all surveys: another survey refuses it and stores nothing', async () => {
    const surveys = await Promise.all(Array.from({ length: 5 }, () => survey()));
    const responseId = randomUUID();
    const replies = [];
    for (const { id } of surveys) replies.push(await admin.submit(id, { responseId, answers: [] }));
    assert.deepEqual(
      replies.map((reply) => reply.body.details?.reason ?? reply.status),
      [201, ...Array.from({ length: 4 }, () => 'IDEMPOTENCY_MISMATCH')],
    );
    for (const [index, { id }] of surveys.entries())
      assert.equal((await admin.get(`/surveys/${id}`)).responseCount, index === 0 ? 1 : 0);
  });

  it('a key recognises repeats in one survey only, and the refusal does not say otherwise', async () => {
    const surveys = await Promise.all([survey(), survey()]);
    const key = randomUUID();
    const send = (id: string, more: object = {}) =>
      admin.submit(id, { answers: [], ...more }, { 'idempotency-key': key });
    for (const { id } of surveys) {
      const reply = await send(id);
      assert.deepEqual([reply.status, reply.headers.get('idempotent-replayed')], [201, null]);
    }
    const { status, body } = await send(surveys[0]?.id ?? '', { language: 'de' });
    assert.deepEqual([status, body.details.reason], [409, 'IDEMPOTENCY_MISMATCH']);
    assert.match(body.message, /^This key was used before with another body, or this responseId .* in another survey,/);
  });

  it('an id is looked up only for callers within the submission limit', async () => {
    const { id } = await survey();
    await admin.put(`/surveys/${id}`, { submissionRateLimit: 5 });
    const replies = await Promise.all(
      Array.from({ length: 30 }, () => admin.submit(id, { responseId: newResponseId(), answers: [] })),
    );
    const count = (status: number) => replies.filter((reply) => reply.status === status).length;
    assert.deepEqual([count(201), count(429)], [5, 25]);
  });

  it('an id that is used again after its eviction shows and deletes all its responses', async () => {
    const { id, answers } = await survey();
    const [responseId, other] = [randomUUID(), randomUUID()];
    const send = async (more: object) => assert.equal((await admin.submit(id, more)).status, 201);
    const twice = async (body: { responseId: string }) => {
      await send(body);
      await forgetResponseId(body.responseId);
      await send({ ...body, answers: answers(3) });
    };
    await twice({ responseId, answers: answers(9) } as { responseId: string });
    await send({ responseId: other, answers: answers(5) });
    await eventually(async () =>
      assert.deepEqual(await listed(id), [
        [other, 5],
        [responseId, 3],
        [responseId, 9],
      ]),
    );
    assert.equal((await admin.get(`/responses/${responseId}`)).answers[0].numberValue, 3);
    await admin.remove(`/responses/${responseId}`);
    assert.equal((await admin.call('GET', `/responses/${responseId}`)).status, 404);
    await eventually(async () => assert.deepEqual(await listed(id), [[other, 5]]));
    assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 1);
    await twice({ responseId: randomUUID(), answers: answers(1), respondent: 'kiosk' } as { responseId: string });
    assert.deepEqual(await admin.remove(`/surveys/${id}/respondents/kiosk`), {
      id: 'kiosk',
      deleted: true,
      responses: 2,
      isFinished: true,
    });
    await eventually(async () => assert.deepEqual(await listed(id), [[other, 5]]));
    assert.deepEqual(
      [(await admin.get(`/surveys/${id}`)).responseCount, (await admin.get(`/analytics/surveys/${id}`)).totalResponses],
      [1, 1],
    );
  });

  it('an id that several surveys hold is read and deleted in those on which the caller has the right', async () => {
    const [{ client: owner, userId }, { client: other }] = [await editor(), await editor()];
    const [first, second] = [await survey(owner), await survey(other)];
    const responseId = randomUUID();
    await store(first.id, { responseId, answers: first.answers(9) });
    await store(second.id, { responseId, answers: second.answers(1) });
    const read = async (client: Client) => {
      const { status, body } = await client.call('GET', `/responses/${responseId}`);
      return status === 200 ? [body.data.surveyId, body.data.answers[0].numberValue] : status;
    };
    assert.deepEqual(
      [await read(owner), await read(other), await read(admin), await read((await editor()).client)],
      [[first.id, 9], [second.id, 1], [second.id, 1], 404],
    );
    const of = (surveyId: string) => `/responses/${responseId}?surveyId=${surveyId}`;
    const chosen = async (client: Client, method: string, surveyId: string) =>
      (await client.call(method, of(surveyId))).status;
    assert.equal((await admin.get(of(first.id))).surveyId, first.id);
    assert.deepEqual(
      [
        await chosen(owner, 'GET', second.id),
        await chosen(owner, 'DELETE', second.id),
        await chosen(admin, 'GET', '1'),
      ],
      [404, 404, 400],
    );
    // Reads the newest, and may not delete it.
    await other.put(`/surveys/${second.id}/members/${userId}`, { role: 'VIEWER' });
    assert.deepEqual(await read(owner), [second.id, 1]);
    await owner.remove(`/responses/${responseId}`);
    assert.equal((await owner.call('DELETE', `/responses/${responseId}`)).status, 403);
    assert.deepEqual([await listed(first.id), await listed(second.id)], [[], [[responseId, 1]]]);
    await store(first.id, { responseId, answers: first.answers(8) });
    assert.deepEqual(await read(admin), [first.id, 8]);
    await admin.remove(of(second.id));
    assert.deepEqual([await listed(first.id), await listed(second.id)], [[[responseId, 8]], []]);
    await store(second.id, { responseId, answers: second.answers(2) });
    await other.remove(`/surveys/${second.id}`);
    assert.deepEqual(await read(admin), [first.id, 8], 'a deleted survey holds nothing');
  });

  it('a response is read as soon as it is accepted, whoever holds its id since before', async () => {
    const [{ client: owner }, { client: other }] = [await editor(), await editor()];
    const [first, second] = [await survey(other), await survey(owner)];
    const responseId = randomUUID();
    await store(first.id, { responseId, answers: first.answers(9) });
    await forgetResponseId(responseId);
    assert.equal((await admin.submit(second.id, { responseId, answers: second.answers(1) })).status, 201);
    assert.equal((await owner.get(`/responses/${responseId}`)).surveyId, second.id);
  });

  it('a deletion leaves the uploads of the response that has the same id in another survey', async () => {
    const [{ client: owner }, { client: other }] = [await editor(), await editor()];
    const { id } = await owner.create('/surveys', { title: 'Files' });
    const file = await owner.create(`/surveys/${id}/questions`, { type: 'FILE_UPLOAD', text: 'File?' });
    await owner.post(`/surveys/${id}/publish`);
    const uploadId = await uploadPicture(service, { surveyId: id, questionId: file.id });
    const second = await survey(other);
    const responseId = randomUUID();
    await store(id, { responseId, answers: [{ questionId: file.id, textValue: uploadId }] });
    await store(second.id, { responseId, answers: second.answers(1) });
    await other.remove(`/responses/${responseId}`);
    assert.equal((await owner.call('GET', `/uploads/${uploadId}`)).status, 200);
    await owner.remove(`/responses/${responseId}`);
    assert.equal((await owner.call('GET', `/uploads/${uploadId}`)).status, 404);
  });

  it('an id of the service stays taken after its response was deleted, even when it is evicted', async () => {
    const redis = await openPatientRedis((await sharedStores()).redisUrl);
    const { id, answers } = await survey();
    const { responseId } = (await admin.submit(id, { answers: answers(9) })).body.data;
    await admin.remove(`/responses/${responseId}`);
    await redis.del(responseKey(responseId));
    const again = await admin.submit(id, { responseId, answers: answers(9) });
    assert.deepEqual([again.status, again.body.details?.reason], [409, 'IDEMPOTENCY_MISMATCH']);
    await redis.quit();
  });

  it('an id may be sent in upper case and is returned in lower case', async () => {
    const { id } = await survey();
    const given = randomUUID().toUpperCase();
    const first = await admin.submit(id, { responseId: given, answers: [] });
    assert.deepEqual([first.status, first.body.data.responseId], [201, given.toLowerCase()]);
    assert.equal(
      (await admin.submit(id, { responseId: given, answers: [] })).headers.get('idempotent-replayed'),
      'true',
    );
    assert.equal((await admin.get(`/responses/${given.toLowerCase()}`)).id, given.toLowerCase());
  });
});
