import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { newId } from '../../src/platform/ids.ts';
import { hashOfResponseId } from '../../src/stores/redis/intake/idempotency.ts';
import { answersKey, responseKey } from '../../src/stores/redis/intake/shards.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { exportFile } from '../support/exports.ts';
import { forgetRecord } from '../support/intake.ts';
import { uploadInvitations } from '../support/invitations.ts';
import { invitedSurveys } from '../support/invited-survey.ts';
import { signInNewUser } from '../support/new-user.ts';
import { callOnce } from '../support/one-connection.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import type { RunningService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useService } from '../support/use-service.ts';

describe('invitations', () => {
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
  type Made = Awaited<ReturnType<typeof makeSurvey>>;
  const answer = ({ questionId }: Made, textValue: string) => [{ questionId, textValue }];
  /** What the intake knows of a response, as if it had let go of it. */
  const forget = async (redis: Redis, responseId: string) => {
    await redis.del(answersKey(responseId), responseKey(responseId));
    await forgetRecord(redis, hashOfResponseId(responseId));
  };
  const today = () => new Date().toISOString().slice(0, 10);

  it('take one response each, and tell a repeat from another answer', async () => {
    const made = await makeSurvey();
    const { id, collectorId } = made;
    const began = today();
    const token = await inviteOne(collectorId, { reference: 'guest-17' });
    assert.match(token, /^[\w-]{22}$/);
    const body = { invitation: token, answers: answer(made, 'fine') };
    const first = await submit(id, body);
    assert.equal(first.status, 201, JSON.stringify(first.body));
    const repeat = await submit(id, body);
    assert.deepEqual([repeat.status, repeat.headers['idempotent-replayed'], repeat.body], [201, 'true', first.body]);
    assert.equal(outcomeOf(await submit(id, { ...body, answers: answer(made, 'bad') })), '409 INVITATION_USED');
    const other = await submit(id, { ...body, answers: answer(made, 'bad') }, { 'idempotency-key': newId() });
    assert.equal(outcomeOf(other), '409 INVITATION_USED');
    const response = await admin.get(`/responses/${first.body.data.responseId}`);
    assert.deepEqual([response.collectorId, response.answers[0].textValue], [collectorId, 'fine']);
    await eventually(async () => {
      const [shown] = await admin.get(`/collectors/${collectorId}/invitations?reference=guest-17`);
      assert.deepEqual([shown.status, shown.responseId], ['COMPLETED', response.id]);
      assert.ok(shown.completedAt);
      // A midnight may lie between them.
      assert.ok(shown.usedOn >= began && shown.usedOn <= today(), shown.usedOn);
    });
    assert.equal(outcomeOf(await submit(id, { ...body, answers: answer(made, 'late') })), '409 INVITATION_USED');
    assert.deepEqual((await submit(id, body)).body, first.body, 'a repeat is one after the use was recorded too');
  });

  it('bring metadata that conditions and texts name, on the path and in the submission', async () => {
    const made = await makeSurvey();
    const { id, collectorId } = made;
    const vip = await admin.create(`/surveys/${id}/questions`, {
      type: 'SHORT_TEXT',
      text: 'Dear {{invitation:name|guest}}, what may we bring?',
      isRequired: true,
      visibleIf: { invitation: 'group', operator: 'equalsText', value: 'vip' },
    });
    const [plain, asked] = await invite(collectorId, [{}, { metadata: { group: 'VIP', name: 'Ada' } }]);
    const pathFor = (invitation: unknown) =>
      admin.call('POST', `/public/surveys/${id}/path`, { body: { answers: [], invitation } });
    const textsFor = async (invitation: unknown) =>
      (await pathFor(invitation)).body.data.sections.flatMap(({ questions }: any) =>
        questions.map(({ text }: any) => text),
      );
    assert.deepEqual(await textsFor(plain?.token), ['Well?']);
    assert.deepEqual(await textsFor(asked?.token), ['Well?', 'Dear Ada, what may we bring?']);
    assert.equal((await pathFor('A'.repeat(22))).status, 403);
    const lacking = await submit(id, { invitation: asked?.token, answers: answer(made, 'yes') });
    assert.deepEqual([lacking.status, lacking.body.details[0].path], [400, `answers.${vip.id}`]);
    const answers = [...answer(made, 'yes'), { questionId: vip.id, textValue: 'Tea' }];
    const done = await submit(id, { invitation: asked?.token, answers });
    assert.deepEqual([done.status, done.body.data.outcome, done.body.data.ignored], [201, 'COMPLETED', undefined]);
    const ignored = await submit(id, { invitation: plain?.token, answers });
    assert.deepEqual(ignored.body.data.ignored, [{ questionId: vip.id, reason: 'NOT_ON_PATH' }]);
    await eventually(async () => {
      assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 2);
    });
    const filter = 'invitation:group:VIP';
    const ofVips = await admin.get(`/analytics/surveys/${id}?filter=${filter}`);
    assert.deepEqual([ofVips.totalResponses, ofVips.questionStats[1].responseCount], [1, 1]);
    const byOutcome = { questionId1: 'outcome', questionId2: 'language', filters: [filter] };
    assert.equal((await admin.expect(200, 'POST', `/analytics/surveys/${id}/crosstab`, byOutcome)).total, 1);
    const { text } = await exportFile(service, admin, admin.token ?? '', id, { format: 'CSV', filters: [filter] });
    assert.equal(text.trimEnd().split('\r\n').length, 2);
  });

  it('are needed by their collector, and must be its own', async () => {
    const one = await makeSurvey();
    const other = await makeSurvey();
    const token = await inviteOne(one.collectorId);
    assert.equal(outcomeOf(await submit(one.id, { collectorId: one.collectorId })), '403 FORBIDDEN');
    assert.equal(
      outcomeOf(await submit(one.id, { invitation: randomBytes(16).toString('base64url') })),
      '403 FORBIDDEN',
    );
    assert.equal(outcomeOf(await submit(other.id, { invitation: token })), '403 FORBIDDEN');
    const [standard] = await admin.get(`/surveys/${one.id}/collectors`);
    assert.equal(
      outcomeOf(await submit(one.id, { invitation: token, collectorId: standard.id })),
      '400 VALIDATION_ERROR',
    );
    assert.equal(outcomeOf(await submit(one.id, { invitation: token, responseId: newId() })), '400 VALIDATION_ERROR');
    assert.equal(outcomeOf(await submit(one.id, {})), 201);
    assert.equal(outcomeOf(await submit(one.id, { invitation: token, collectorId: one.collectorId })), 201);
    const plain = await admin.create('/surveys', { title: 'Open to all', status: 'ACTIVE' });
    assert.equal(outcomeOf(await submit(plain.id, { invitation: token })), '403 FORBIDDEN');
    assert.equal(outcomeOf(await submit(plain.id, { invitation: 7 as never })), '400 VALIDATION_ERROR');
  });

  it('open after their collector has become one for everybody, on every way', async () => {
    const made = await makeSurvey();
    const [fresh, started] = [await inviteOne(made.collectorId), await inviteOne(made.collectorId)];
    const part = { invitation: started, isComplete: false, answers: answer(made, 'a part') };
    assert.equal(outcomeOf(await submit(made.id, part)), 201);
    await admin.put(`/collectors/${made.collectorId}`, { kind: 'OPEN' });
    const page = await fetch(`${service.origin}/s/${made.id}?invitation=${fresh}`);
    const path = await callOnce(service.base, 'POST', `/public/surveys/${made.id}/path`, {
      body: { answers: [], invitation: fresh },
    });
    assert.deepEqual([page.status, path.status], [200, 200]);
    assert.equal(outcomeOf(await submit(made.id, part)), 201);
    for (const invitation of [fresh, started])
      assert.equal(outcomeOf(await submit(made.id, { invitation, answers: answer(made, 'whole') })), 201);
    assert.equal(outcomeOf(await submit(made.id, { answers: answer(made, 'nobody invited') })), 201);
  });

  it('are used exactly once, whatever races in four processes', async () => {
    const made = await makeSurvey();
    const invited = await invite(
      made.collectorId,
      Array.from({ length: 12 }, (_, n) => ({ reference: `r${n}` })),
    );
    for (const { token } of invited) {
      const replies = await Promise.all(
        Array.from({ length: 12 }, (_, n) => submit(made.id, { invitation: token, answers: answer(made, `try ${n}`) })),
      );
      const outcomes = replies.map(outcomeOf).sort();
      assert.deepEqual(outcomes, [201, ...Array.from({ length: 11 }, () => '409 INVITATION_USED')]);
    }
    const same = await inviteOne(made.collectorId);
    const body = { invitation: same, answers: answer(made, 'the same') };
    const replies = await Promise.all(Array.from({ length: 12 }, () => submit(made.id, body)));
    assert.deepEqual(
      [...new Set(replies.map(({ status, body: reply }) => `${status} ${reply.data?.responseId}`))].length,
      1,
    );
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${made.id}`)).totalResponses, invited.length + 1),
    );
    await eventually(async () =>
      assert.deepEqual(
        await statuses(made.collectorId),
        Array.from({ length: 13 }, () => 'COMPLETED'),
      ),
    );
  });

  it('let a partial response go on under the token alone, on any device, and merge what comes at once', async () => {
    const made = await makeSurvey();
    const more = await admin.create(`/surveys/${made.id}/questions`, { type: 'YES_NO', text: 'And?' });
    const token = await inviteOne(made.collectorId, { metadata: { team: 'A' } });
    const save = (answers: unknown[], isComplete = false) =>
      submit(made.id, { invitation: token, isComplete, answers });
    const replies = await Promise.all([
      save(answer(made, 'phone')),
      save([{ questionId: more.id, textValue: 'yes' }]),
      save([]),
    ]);
    assert.deepEqual(replies.map(outcomeOf), [201, 201, 201]);
    const ids = new Set(replies.map(({ body }) => body.data.responseId));
    assert.equal(ids.size, 1);
    await eventually(async () => assert.deepEqual(await statuses(made.collectorId), ['STARTED']));
    assert.equal(outcomeOf(await save(answer(made, 'desk'), true)), 201);
    assert.equal(outcomeOf(await save(answer(made, 'again'), true)), '409 INVITATION_USED');
    const response = await admin.get(`/responses/${[...ids][0]}`);
    assert.deepEqual(
      [response.answers.map(({ textValue, optionId }: any) => textValue ?? Boolean(optionId)), response.metadata],
      [['desk', true], { 'invitation:team': 'A' }],
    );
  });

  it('save what was said before and is said again, also when the intake has evicted what it knew', async (context) => {
    const made = await makeSurvey();
    const redis = await openPatientRedis((await sharedStores()).redisUrl);
    context.after(() => redis.disconnect());
    for (const isEvicted of [false, true]) {
      const token = await inviteOne(made.collectorId);
      const saveAndRead = async (textValue: string) => {
        const { status, body, headers } = await submit(made.id, {
          invitation: token,
          isComplete: false,
          answers: answer(made, textValue),
        });
        assert.deepEqual([status, headers['idempotent-replayed']], [201, undefined], textValue);
        await eventually(async () =>
          assert.equal((await admin.get(`/responses/${body.data.responseId}`)).answers[0].textValue, textValue),
        );
        return body.data.responseId;
      };
      for (const textValue of ['yes', 'no', 'yes', 'no']) {
        const responseId = await saveAndRead(textValue);
        if (isEvicted) await forget(redis, responseId);
      }
    }
  });

  it('work alike when the intake has evicted what it knew of their response', async () => {
    const made = await makeSurvey();
    const redis = await openPatientRedis((await sharedStores()).redisUrl);
    const isStored = (responseId: string) =>
      eventually(async () => assert.equal((await admin.call('GET', `/responses/${responseId}`)).status, 200));
    // Continued before and after the use of the invitation was recorded, and by two devices at once.
    for (const isRecorded of [false, true]) {
      const token = await inviteOne(made.collectorId, { reference: `recorded ${isRecorded}` });
      const save = (textValue: string, isComplete: boolean) =>
        submit(made.id, { invitation: token, isComplete, answers: answer(made, textValue) });
      const first = await save('part', false);
      const { responseId } = first.body.data;
      await isStored(responseId);
      if (isRecorded) {
        const path = `/collectors/${made.collectorId}/invitations?reference=recorded%20true`;
        await eventually(async () => assert.equal((await admin.get(path))[0].status, 'STARTED'));
      }
      await forget(redis, responseId);
      assert.deepEqual((await save('part', false)).body, first.body, 'a repeat');
      const both = await Promise.all([save('one', true), save('other', true)]);
      assert.deepEqual(both.map(outcomeOf).sort(), [201, '409 INVITATION_USED']);
      const winner = both.find(({ status }) => status === 201);
      assert.equal(winner?.body.data.responseId, responseId);
      await isStored(responseId);
      await forget(redis, responseId);
      assert.equal(outcomeOf(await save('late', true)), '409 INVITATION_USED');
      const text = (await admin.get(`/responses/${responseId}`)).answers[0].textValue;
      assert.deepEqual((await save(text, true)).body, winner?.body, 'a repeat of what completed it');
    }
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${made.id}`)).totalResponses, 2));
    await redis.quit();
  });

  it('bring their language and metadata, which respondents cannot override, to responses, filters and exports', async () => {
    const made = await makeSurvey();
    const metadata = { team: '=cmd|calc', __proto__x: 'y' };
    const [first, second] = await invite(made.collectorId, [{ language: 'de', metadata }, { metadata: { team: 'B' } }]);
    assert.equal(
      outcomeOf(await submit(made.id, { invitation: first?.token, metadata: { 'invitation:team': 'Z' } })),
      '400 VALIDATION_ERROR',
    );
    const given = { invitation: first?.token, metadata: { own: '1' } };
    const { responseId } = (await submit(made.id, given)).body.data;
    await submit(made.id, { invitation: second?.token, language: 'fr' });
    const response = await admin.get(`/responses/${responseId}`);
    assert.deepEqual(
      [response.language, response.metadata],
      ['de', { own: '1', 'invitation:team': '=cmd|calc', 'invitation:__proto__x': 'y' }],
    );
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${made.id}`)).totalResponses, 2));
    const { text } = await exportFile(service, admin, admin.token ?? '', made.id, { format: 'CSV' });
    assert.match(text.split('\r\n')[0] ?? '', /metadata\.invitation:team/);
    assert.ok(text.includes("'=cmd|calc"), 'a formula is no formula in a file');
  });

  it('give the page those of their notes alone that conditions and texts name, as they are shown', async () => {
    const made = await makeSurvey();
    const { id, collectorId, questionId } = made;
    const named = { invitation: 'group', operator: 'equalsText', value: 'vip' };
    await admin.put(`/surveys/${id}`, { title: 'For {{invitation:name|you}}' });
    await admin.create(`/surveys/${id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Which?',
      visibleIf: { any: [{ not: named }, { questionId, operator: 'answered' }] },
      options: [{ text: 'That of {{invitation:team}}' }, { text: 'None', visibleIf: { ...named, invitation: 'size' } }],
      skips: [{ if: { ...named, invitation: 'branch' }, to: 'END' }],
    });
    await admin.put(`/surveys/${id}/translations/fr`, { title: 'Pour {{invitation:nom|vous}}' });
    const keys = ['group', 'name', 'team', 'size', 'branch', 'nom', 'note'];
    const metadata = Object.fromEntries(keys.map((key) => [key, `the ${key}`]));
    const token = await inviteOne(collectorId, { metadata });
    const shownIn = async (language: string) => {
      const page = await fetch(`${service.origin}/s/${id}?invitation=${token}&lang=${language}`);
      const text = await page.text();
      const json = /<script id="state" type="application\/json">(.*?)<\/script>/s.exec(text)?.[1] ?? '{}';
      assert.ok(!text.includes('the note'));
      return Object.keys(JSON.parse(json).form.invitation).sort();
    };
    assert.deepEqual(await shownIn('en'), ['branch', 'group', 'name', 'size', 'team']);
    assert.deepEqual(await shownIn('fr'), ['branch', 'group', 'nom', 'size', 'team']);
  });

  it('are made by who may edit the survey, listed by who may read it, and by nobody else', async () => {
    const { id, collectorId } = await makeSurvey();
    const viewer = await signInNewUser(service, admin, 'VIEWER');
    const stranger = await signInNewUser(service, admin, 'EDITOR');
    await admin.put(`/surveys/${id}/members/${viewer.id}`, { role: 'VIEWER' });
    await invite(collectorId, [{ reference: 'x' }]);
    const [{ id: invitationId }] = await admin.get(`/collectors/${collectorId}/invitations`);
    const statusesOf = async (client: Client) => [
      (await uploadInvitations(service, client, collectorId, '{}\n')).status,
      (await client.call('GET', `/collectors/${collectorId}/invitations`)).status,
      (await client.call('GET', `/collectors/${collectorId}/invitations/counts`)).status,
      (await client.call('POST', `/collectors/${collectorId}/invitations/${invitationId}/revoke`)).status,
    ];
    assert.deepEqual(
      [await statusesOf(viewer), await statusesOf(stranger)],
      [
        [403, 200, 200, 403],
        [404, 404, 404, 404],
      ],
    );
    const other = await makeSurvey();
    const foreign = `/collectors/${other.collectorId}/invitations/${invitationId}/revoke`;
    assert.equal((await admin.call('POST', foreign)).status, 404);
    const actions = (await admin.get(`/audit?surveyId=${id}&limit=100`)).map(({ action }: any) => action);
    assert.ok(actions.includes('invitations.created'));
  });

  it('are guessed no oftener than the submission limit allows', async () => {
    const made = await makeSurvey({ submissionRateLimit: 5 });
    const guesses = [];
    for (let n = 0; n < 8; n += 1)
      guesses.push(outcomeOf(await submit(made.id, { invitation: randomBytes(16).toString('base64url') })));
    assert.deepEqual(
      guesses.slice(5),
      Array.from({ length: 3 }, () => '429 RATE_LIMITED'),
    );
    assert.deepEqual(
      guesses.slice(0, 5),
      Array.from({ length: 5 }, () => '403 FORBIDDEN'),
    );
  });
});
