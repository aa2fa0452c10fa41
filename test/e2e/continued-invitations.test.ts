import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import type { Sql } from 'postgres';
import { newId } from '../../src/platform/ids.ts';
import { hashOfResponseId } from '../../src/stores/redis/intake/idempotency.ts';
import { answersKey, responseKey } from '../../src/stores/redis/intake/shards.ts';
import { type Client, createClient } from '../support/client.ts';
import { withSql } from '../support/embedded-stores.ts';
import { eventually } from '../support/eventually.ts';
import { forgetRecord, forgetResponseId } from '../support/intake.ts';
import { makeInvitations } from '../support/invitations.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import type { RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

describe('responses by invitation that go on by their resumeToken', () => {
  let service: RunningService;
  let admin: Client;
  let redis: Redis;
  before(async () => {
    redis = await openPatientRedis((await sharedStores()).redisUrl);
  });
  after(() => void redis?.disconnect());
  useService((served) => {
    ({ service, admin } = served);
  });

  const makeSurvey = async (fields: Record<string, unknown> = {}) => {
    const { id } = await admin.create('/surveys', { title: 'By invitation', status: 'ACTIVE', ...fields });
    const collector = await admin.create(`/surveys/${id}/collectors`, { name: 'List', kind: 'INVITATION' });
    return { id: id as string, collectorId: collector.id as string };
  };
  const inviteOne = async (collectorId: string, row: object = {}) =>
    (await makeInvitations(service, admin, collectorId, [row]))[0]?.token ?? '';
  const submit = (surveyId: string, body: object, headers: Record<string, string> = {}) =>
    createClient(service).call('POST', `/responses/surveys/${surveyId}/submit`, {
      body: { answers: [], ...body },
      headers,
    });
  const outcomeOf = ({ status, body }: Awaited<ReturnType<typeof submit>>) =>
    status === 201 ? 201 : `${status} ${body?.details?.reason ?? body?.code}`;
  /** Saves a part by the token, and gives the right to go on. */
  const begin = async (surveyId: string, body: object) => {
    const saved = await submit(surveyId, { isComplete: false, ...body });
    assert.equal(saved.status, 201, JSON.stringify(saved.body));
    const { responseId, resumeToken } = saved.body.data;
    return { responseId, resumeToken };
  };
  const listed = async (collectorId: string) => (await admin.get(`/collectors/${collectorId}/invitations`))[0];

  it('count for their invitation, from what is saved and from the response store', async () => {
    for (const isEvicted of [false, true]) {
      const { id, collectorId } = await makeSurvey();
      const token = await inviteOne(collectorId, { metadata: { team: 'A' } });
      const own = await begin(id, { invitation: token });
      assert.equal(outcomeOf(await submit(id, { ...own, isComplete: false, metadata: { on: 'the way' } })), 201);
      if (isEvicted) {
        await eventually(async () => assert.equal((await listed(collectorId)).responseId, own.responseId));
        await eventually(async () => assert.ok((await admin.get(`/responses/${own.responseId}`)).metadata.on));
        await redis.del(answersKey(own.responseId), responseKey(own.responseId));
        await forgetRecord(redis, hashOfResponseId(own.responseId));
      }
      const keyed = { 'idempotency-key': newId() };
      const done = await submit(id, own, keyed);
      assert.equal(outcomeOf(done), 201, JSON.stringify(done.body));
      const repeat = await submit(id, own, keyed);
      assert.deepEqual([repeat.status, repeat.body], [201, done.body], 'the key is that of the header');
      assert.equal(outcomeOf(await submit(id, { ...own, language: 'fr' })), '409 ALREADY_COMPLETE');
      assert.equal(outcomeOf(await submit(id, { invitation: token, language: 'fr' })), '409 INVITATION_USED');
      await eventually(async () => {
        const { status, responseId, completedAt } = await listed(collectorId);
        assert.deepEqual([status, responseId, typeof completedAt], ['COMPLETED', own.responseId, 'string']);
      });
      const { byStatus } = await admin.get(`/collectors/${collectorId}/invitations/counts`);
      assert.deepEqual([byStatus.STARTED, byStatus.COMPLETED], [0, 1]);
      const { metadata } = await admin.get(`/responses/${own.responseId}`);
      assert.deepEqual(metadata, { on: 'the way', 'invitation:team': 'A' });
    }
  });

  it('count for their invitation also while its first use is not recorded yet', async () => {
    const { id, collectorId } = await makeSurvey();
    const token = await inviteOne(collectorId);
    const { id: invitationId } = await listed(collectorId);
    const { databaseUrl } = await sharedStores();
    const whileLocked = (sql: Sql) =>
      sql.begin(async (tx) => {
        await tx`SELECT FROM invitations WHERE id = ${invitationId} FOR UPDATE`;
        const begun = await begin(id, { invitation: token });
        await eventually(async () =>
          assert.equal((await admin.get(`/responses/${begun.responseId}`)).isComplete, false),
        );
        await redis.del(answersKey(begun.responseId), responseKey(begun.responseId));
        await forgetRecord(redis, hashOfResponseId(begun.responseId));
        const done = await submit(id, begun);
        assert.equal(outcomeOf(done), 201, JSON.stringify(done.body));
        assert.equal((await listed(collectorId)).status, 'UNUSED');
        return begun.responseId;
      });
    const responseId = await withSql(databaseUrl, whileLocked);
    await eventually(async () => {
      const { completedAt, ...record } = await listed(collectorId);
      assert.deepEqual([record.status, record.responseId, typeof completedAt], ['COMPLETED', responseId, 'string']);
    });
  });

  it('count for no invitation of another survey, where one of the same id was begun', async () => {
    const [own, other] = [await makeSurvey(), await makeSurvey({ isAnonymous: true })];
    const { responseId } = await begin(own.id, { invitation: await inviteOne(own.collectorId) });
    await eventually(async () => assert.equal((await listed(own.collectorId)).responseId, responseId));
    await forgetResponseId(responseId);
    const begun = await begin(other.id, { invitation: await inviteOne(other.collectorId), responseId });
    await admin.put(`/surveys/${other.id}`, { isAnonymous: false });
    assert.equal(outcomeOf(await submit(other.id, begun)), 201);
    // What is recorded of this one is recorded after that.
    const last = await admin.create(`/surveys/${other.id}/collectors`, { name: 'Last', kind: 'INVITATION' });
    assert.equal(outcomeOf(await submit(other.id, { invitation: await inviteOne(last.id) })), 201);
    await eventually(async () => assert.equal((await listed(last.id)).status, 'COMPLETED'));
    const { status, completedAt } = await listed(own.collectorId);
    assert.deepEqual([status, completedAt], ['STARTED', null]);
  });

  it('are refused once their invitation is revoked or has expired', async () => {
    const { id, collectorId } = await makeSurvey();
    const revoked = await begin(id, { invitation: await inviteOne(collectorId) });
    await eventually(async () => assert.equal((await listed(collectorId)).status, 'STARTED'));
    await admin.post(`/collectors/${collectorId}/invitations/${(await listed(collectorId)).id}/revoke`);
    assert.equal(outcomeOf(await submit(id, revoked)), '409 INVITATION_REVOKED');
    const other = await makeSurvey();
    // Again where a busy machine reads the row, or saves the part, so late that the invitation has expired by then.
    const expiring = await eventually(async () => {
      const expiresAt = new Date(Date.now() + 3000).toISOString();
      return begin(other.id, { invitation: await inviteOne(other.collectorId, { expiresAt }) });
    });
    // Each differs from those before it, of which it would be a repeat.
    await eventually(async () => {
      const part = { ...expiring, isComplete: false, metadata: { at: newId() } };
      assert.equal(outcomeOf(await submit(other.id, part)), '409 INVITATION_EXPIRED');
    });
    assert.equal(outcomeOf(await submit(other.id, expiring)), '409 INVITATION_EXPIRED');
  });

  it('are asked by the metadata of the invitation that they show, in an anonymous survey', async () => {
    const { id, collectorId } = await makeSurvey({ isAnonymous: true });
    const options = [{ text: 'Tea' }, { text: 'Coffee' }];
    const visibleIf = { invitation: 'group', operator: 'equalsText', value: 'vip' };
    const question = { type: 'MULTIPLE_CHOICE', text: 'What may we bring?', options, visibleIf };
    const drink = await admin.create(`/surveys/${id}/questions`, question);
    for (const [index, { text }] of options.entries()) {
      const where = { questionId: drink.id, operator: 'isAnyOf', optionIds: [drink.options[index].id] };
      await admin.create(`/surveys/${id}/quotas`, { name: text, limit: 1, counts: 'STARTED', where });
    }
    const seats = () =>
      eventually(async () => {
        const quotas = await admin.get(`/surveys/${id}/quotas`);
        assert.ok(quotas.every((quota: any) => !quota.isCounting));
        return quotas.map((quota: any) => quota.count);
      });
    assert.deepEqual(await seats(), [0, 0]);
    const chosen = (index: number) => [{ questionId: drink.id, optionId: drink.options[index].id }];
    const [token, stranger] = [
      await inviteOne(collectorId, { metadata: { group: 'vip' } }),
      await inviteOne((await makeSurvey()).collectorId),
    ];
    const own = await begin(id, { invitation: token, answers: chosen(0) });
    // A part counts by what is stored of it, which says nothing of the invitation.
    assert.deepEqual(await seats(), [0, 0]);
    for (const invitation of ['A'.repeat(22), stranger])
      assert.equal(outcomeOf(await submit(id, { ...own, invitation })), '403 FORBIDDEN');
    // It has been used, and is revoked: it names the metadata all the same.
    const other = await admin.create(`/surveys/${id}/collectors`, { name: 'Others', kind: 'INVITATION' });
    const elsewhere = await inviteOne(other.id, { metadata: { group: 'vip' } });
    assert.equal(outcomeOf(await submit(id, { ...own, invitation: elsewhere })), '403 FORBIDDEN');
    await admin.post(`/collectors/${collectorId}/invitations/${(await listed(collectorId)).id}/revoke`);
    const done = await submit(id, { ...own, invitation: token, answers: chosen(1) });
    assert.deepEqual([done.status, done.body.data?.ignored], [201, undefined]);
    assert.deepEqual(await seats(), [0, 1]);
    // However it is shown, nobody is counted who has no seat.
    const invited = await inviteOne(collectorId, { metadata: { group: 'vip' } });
    const late = await begin(id, { invitation: invited });
    assert.equal(outcomeOf(await submit(id, { ...late, answers: chosen(1), isComplete: false })), 201);
    const outcome = (await submit(id, { ...late, invitation: invited })).body.data?.outcome;
    assert.deepEqual([outcome, await seats()], ['OVER_QUOTA', [0, 1]]);
    await eventually(async () => {
      const { answers, metadata } = await admin.get(`/responses/${own.responseId}`);
      assert.deepEqual([answers.length, answers[0].optionId, metadata], [1, drink.options[1].id, {}]);
    });
  });
});
