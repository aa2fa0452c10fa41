import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { invitedSurveys } from '../support/invited-survey.ts';
import { callOnce } from '../support/one-connection.ts';
import type { RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

describe('invitations that are revoked, expired, used or deleted', () => {
  let service: RunningService;
  let admin: Client;
  before(async () => void (await sharedStores()));
  useService(
    (served) => {
      ({ service, admin } = served);
    },
    { env: { WORKERS: '4' } },
  );

  const { makeSurvey, invite, inviteOne, submit, outcomeOf, statuses } = invitedSurveys(() => ({ service, admin }));

  it('are refused once they are revoked, have expired, or their collector is closed', async () => {
    const made = await makeSurvey();
    const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
    // Again where a busy machine reads them so late that one has expired by then, which is refused.
    const [revoked, started, expiring, used, kept] = await eventually(() =>
      invite(made.collectorId, [
        { reference: 'revoked' },
        { reference: 'started' },
        { reference: 'expiring', expiresAt: inMs(3000) },
        { reference: 'used' },
        { reference: 'kept', expiresAt: inMs(3_600_000) },
      ]),
    );
    const listed = await admin.get(`/collectors/${made.collectorId}/invitations`);
    const path = (reference: string) =>
      `/collectors/${made.collectorId}/invitations/${listed.find((one: any) => one.reference === reference).id}/revoke`;
    assert.equal(outcomeOf(await submit(made.id, { invitation: started?.token, isComplete: false })), 201);
    assert.equal(outcomeOf(await submit(made.id, { invitation: used?.token })), 201);
    await eventually(async () =>
      assert.deepEqual((await statuses(made.collectorId)).toSpliced(2, 1), [
        'UNUSED',
        'STARTED',
        'COMPLETED',
        'UNUSED',
      ]),
    );
    for (const reference of ['revoked', 'started']) assert.equal((await admin.post(path(reference))).status, 'REVOKED');
    assert.equal((await admin.post(path('revoked'))).status, 'REVOKED', 'twice is once');
    const late = await admin.call('POST', path('used'));
    assert.deepEqual([late.status, late.body.details.reason], [409, 'INVITATION_USED']);
    for (const invited of [revoked, started])
      assert.equal(outcomeOf(await submit(made.id, { invitation: invited?.token })), '409 INVITATION_REVOKED');
    await eventually(async () => assert.equal((await statuses(made.collectorId))[2], 'EXPIRED'));
    assert.equal(outcomeOf(await submit(made.id, { invitation: expiring?.token })), '409 INVITATION_EXPIRED');
    assert.deepEqual(await admin.get(`/collectors/${made.collectorId}/invitations/counts`), {
      total: 5,
      byStatus: { UNUSED: 1, STARTED: 0, COMPLETED: 1, REVOKED: 2, EXPIRED: 1 },
    });
    const expired = await admin.get(`/collectors/${made.collectorId}/invitations?status=EXPIRED`);
    assert.deepEqual(
      expired.map(({ reference }: any) => reference),
      ['expiring'],
    );
    await admin.put(`/collectors/${made.collectorId}`, { isActive: false });
    assert.equal(outcomeOf(await submit(made.id, { invitation: kept?.token })), '409 COLLECTOR_CLOSED');
  });

  it('are revoked together where the reply to their upload was lost, unless they were used', async () => {
    const { id, collectorId } = await makeSurvey();
    const [used, lost] = await invite(collectorId, [{ reference: 'used' }, { reference: 'lost' }]);
    assert.equal(outcomeOf(await submit(id, { invitation: used?.token })), 201);
    await eventually(async () => assert.deepEqual(await statuses(collectorId), ['COMPLETED', 'UNUSED']));
    const again = await inviteOne(collectorId, { reference: 'lost' });
    const [{ createdAt }] = await admin.get(`/collectors/${collectorId}/invitations`);
    const revoke = () => admin.post(`/collectors/${collectorId}/invitations/revoke`, { uploadedAt: createdAt });
    assert.deepEqual([await revoke(), await revoke()], [{ revoked: 1 }, { revoked: 0 }]);
    assert.equal(outcomeOf(await submit(id, { invitation: lost?.token })), '409 INVITATION_REVOKED');
    assert.equal(outcomeOf(await submit(id, { invitation: again })), 201);
    const [event] = await admin.get(`/audit?surveyId=${id}&action=invitations.revoked`);
    assert.equal(event.objectId, collectorId);
  });

  it('show nothing of their person on the path, once they or their collector take nothing', async () => {
    for (const isAnonymous of [false, true]) {
      const made = await makeSurvey({ isAnonymous });
      const { id, collectorId } = made;
      await admin.put(`/surveys/${id}`, { title: 'About your {{invitation:diagnosis}}' });
      const metadata = { diagnosis: 'angina' };
      const rows = ['revoked', 'started', 'used', 'kept'].map((reference) => ({ reference, metadata }));
      const [revoked, started, used, kept] = (await invite(collectorId, rows)).map(({ token }) => token);
      const titleFor = async (invitation: string | undefined) => {
        const body = { answers: [], invitation };
        const reply = await callOnce(service.base, 'POST', `/public/surveys/${id}/path`, { body });
        return reply.status === 200 ? reply.body.data.title : outcomeOf(reply);
      };
      assert.equal(await titleFor(revoked), 'About your angina');
      const [{ id: revokedId }] = await admin.get(`/collectors/${collectorId}/invitations?reference=revoked`);
      await admin.post(`/collectors/${collectorId}/invitations/${revokedId}/revoke`);
      assert.equal(await titleFor(revoked), '409 INVITATION_REVOKED');
      if (!isAnonymous) {
        assert.equal(outcomeOf(await submit(id, { invitation: started, isComplete: false })), 201);
        assert.equal(outcomeOf(await submit(id, { invitation: used })), 201);
        await eventually(async () =>
          assert.deepEqual((await statuses(collectorId)).slice(0, 3), ['REVOKED', 'STARTED', 'COMPLETED']),
        );
        assert.deepEqual([await titleFor(started), await titleFor(used)], ['About your angina', '409 INVITATION_USED']);
      }
      // Again where a busy machine reads it so late that it has expired by then, which is refused.
      const expiring = await eventually(() =>
        inviteOne(collectorId, { metadata, expiresAt: new Date(Date.now() + 2000).toISOString() }),
      );
      await eventually(async () => assert.equal(await titleFor(expiring), '409 INVITATION_EXPIRED'));
      await admin.put(`/collectors/${collectorId}`, { isActive: false });
      assert.equal(await titleFor(kept), '409 COLLECTOR_CLOSED');
      await admin.put(`/collectors/${collectorId}`, { isActive: true });
      assert.equal(await titleFor(kept), 'About your angina');
      await admin.call('DELETE', `/collectors/${collectorId}`);
      assert.equal(await titleFor(kept), '409 COLLECTOR_CLOSED');
    }
  });

  it('stay used after their response was deleted, and lose their reference with the respondent', async () => {
    const made = await makeSurvey();
    const [one, two] = await invite(made.collectorId, [
      { reference: 'anna', metadata: { email: 'anna@example.org' } },
      { reference: 'bert', metadata: { email: 'bert@example.org' } },
    ]);
    const body = { invitation: one?.token, isComplete: false, respondent: 'Anna B.' };
    const { responseId } = (await submit(made.id, body)).body.data;
    await eventually(async () => assert.deepEqual(await statuses(made.collectorId), ['STARTED', 'UNUSED']));
    await admin.remove(`/surveys/${made.id}/respondents/${encodeURIComponent('Anna B.')}`);
    await admin.remove(`/surveys/${made.id}/respondents/bert`);
    assert.equal((await admin.call('GET', `/responses/${responseId}`)).status, 404);
    const shown = await admin.get(`/collectors/${made.collectorId}/invitations`);
    assert.deepEqual(
      shown.map(({ reference, metadata }: any) => [reference, metadata]),
      [
        [null, {}],
        [null, {}],
      ],
    );
    assert.equal(outcomeOf(await submit(made.id, { invitation: one?.token })), '409 INVITATION_USED');
    assert.equal(outcomeOf(await submit(made.id, { invitation: two?.token })), 201);
  });

  it('take their response with them when their reference is erased, recorded or not, but in anonymous surveys', async () => {
    const made = await makeSurvey();
    const [recorded, waiting] = await invite(made.collectorId, [
      { reference: 'anna', metadata: { name: 'Anna' } },
      { reference: 'bert' },
    ]);
    const answer = { answers: [{ questionId: made.questionId, textValue: 'Elm Street' }] };
    const anna = (await submit(made.id, { ...answer, invitation: recorded?.token, isComplete: false })).body.data;
    await eventually(async () => assert.deepEqual(await statuses(made.collectorId), ['STARTED', 'UNUSED']));
    const bert = (await submit(made.id, { ...answer, invitation: waiting?.token })).body.data;
    for (const [reference, { responseId }] of [
      ['bert', bert],
      ['anna', anna],
    ]) {
      const erased = await admin.remove(`/surveys/${made.id}/respondents/${reference}`);
      assert.deepEqual(erased, { id: reference, deleted: true, responses: 1, isFinished: true });
      assert.equal((await admin.call('GET', `/responses/${responseId}`)).status, 404);
      const [event] = await admin.get(`/audit?surveyId=${made.id}&action=respondent.erased`);
      assert.deepEqual(event.details, { deleted: 1, responseIds: [responseId] });
    }
    const shown = await admin.get(`/collectors/${made.collectorId}/invitations`);
    assert.deepEqual(
      shown.map(({ reference, metadata }: any) => [reference, metadata]),
      [
        [null, {}],
        [null, {}],
      ],
    );

    const anonymous = await makeSurvey({ isAnonymous: true });
    const token = await inviteOne(anonymous.collectorId, { reference: 'anna' });
    const { responseId } = (await submit(anonymous.id, { invitation: token })).body.data;
    assert.equal((await admin.remove(`/surveys/${anonymous.id}/respondents/anna`)).responses, 0);
    assert.equal((await admin.get(`/responses/${responseId}`)).id, responseId);
  });

  it('go with their survey', async () => {
    const { id, collectorId } = await makeSurvey();
    const token = await inviteOne(collectorId);
    await admin.remove(`/surveys/${id}`);
    assert.equal((await submit(id, { invitation: token })).status, 404);
    assert.equal((await admin.call('GET', `/collectors/${collectorId}/invitations`)).status, 404);
  });
});
