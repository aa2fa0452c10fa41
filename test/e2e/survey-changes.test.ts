import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { signInNewUser } from '../support/new-user.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

describe('an edited survey with responses', () => {
  let service: RunningService;
  let admin: Client;
  useService((served) => ({ service, admin } = served));

  const past = () => new Date(Date.now() - 1000).toISOString();
  const later = () => new Date(Date.now() + 3_600_000).toISOString();
  /** Status and, where there is one, the reason of a refusal. */
  const outcome = async (method: string, path: string, body?: unknown) => {
    const reply = await admin.call(method, path, body === undefined ? {} : { body });
    return [reply.status, reply.body.details?.reason ?? reply.body.data?.status];
  };

  it('keeps the meaning of answers on a scale, however its options are edited', async () => {
    const { id } = await admin.create('/surveys', { title: 'Scale', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'LIKERT_SCALE', text: 'q' });
    const path = `/surveys/questions/${question.id}`;
    for (const numberValue of [1, 5])
      assert.equal((await admin.submit(id, { answers: [{ questionId: question.id, numberValue }] })).status, 201);
    assert.deepEqual(await outcome('PUT', path, { options: question.options.toReversed() }), [409, 'HAS_RESPONSES']);
    assert.deepEqual(await outcome('PUT', path, { options: [{ text: 'Never' }, ...question.options] }), [
      409,
      'HAS_RESPONSES',
    ]);
    await admin.put(path, { options: question.options.slice(1) });
    await eventually(async () => {
      const { responseCount, averageValue, minValue, maxValue, bottomBox } = await admin.get(
        `/analytics/surveys/${id}/questions/${question.id}`,
      );
      assert.deepEqual([responseCount, averageValue, minValue, maxValue, bottomBox.count], [2, 3, 1, 5, 0]);
    });
    assert.equal((await admin.submit(id, { answers: [{ questionId: question.id, numberValue: 5 }] })).status, 201);
    assert.equal((await admin.submit(id, { answers: [{ questionId: question.id, numberValue: 1 }] })).status, 400);
    const copy = await admin.create(`/surveys/${id}/duplicate`);
    await admin.post(`/surveys/${copy.id}/publish`);
    assert.equal(
      (await admin.submit(copy.id, { answers: [{ questionId: copy.questions[0].id, numberValue: 1 }] })).status,
      201,
      'a copy begins anew',
    );
  });

  it('loses no answer that arrives while its question changes: the answer keeps its meaning, or the change is refused', async () => {
    const seen = { changed: 0, refused: 0 };
    const [first, last] = [0, 5];
    for (let round = first; round <= last; round += 1) {
      const { id } = await admin.create('/surveys', { title: 'Raced', status: 'ACTIVE' });
      const question = await admin.create(`/surveys/${id}/questions`, {
        type: 'RATING_SCALE',
        text: 'q',
        isRequired: true,
      });
      // Sent again, under its key, while it is not decided: a busy store may keep the service waiting for too long.
      const answer = () => {
        const key = { 'idempotency-key': randomUUID() };
        return eventually(async () => {
          const answers = [{ questionId: question.id, numberValue: 4 }];
          const { status, body } = await admin.submit(id, { answers }, key);
          assert.equal(status, 201, JSON.stringify(body));
        });
      };
      const replies: Promise<void>[] = [];
      if (round === last) replies.push(Promise.resolve(await answer()));
      let isOver = false;
      const change = eventually(async () => {
        const decided = await outcome('PUT', `/surveys/questions/${question.id}`, { settings: { max: 10 } });
        assert.notEqual(decided[0], 503);
        return decided;
      }).finally(() => {
        isOver = true;
        return isOver;
      });
      for (let n = 0; !isOver; n += 1) {
        // None in the first round, and in each later round they arrive earlier; in the last one is there before.
        if (round > first && n >= 30 - 6 * round) replies.push(answer());
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const [status, reason] = await change;
      assert.ok(status === 200 || reason === 'HAS_RESPONSES', `${status} ${reason}`);
      seen[status === 200 ? 'changed' : 'refused'] += 1;
      await Promise.all(replies);
      await eventually(async () => {
        const { responseCount, distribution } = await admin.get(`/analytics/surveys/${id}/questions/${question.id}`);
        assert.deepEqual([responseCount, distribution['4'] ?? 0], [replies.length, replies.length]);
      });
      assert.equal((await admin.get(`/surveys/${id}`)).questions[0].settings.max, status === 200 ? 10 : 5);
    }
    assert.ok(seen.changed > 0 && seen.refused > 0, JSON.stringify(seen));
  });

  it('may be published without questions, and then takes submissions without answers', async () => {
    const { id } = await admin.create('/surveys', { title: 'Empty' });
    assert.deepEqual(await outcome('POST', `/surveys/${id}/publish`), [200, 'ACTIVE']);
    const {
      body: {
        data: { responseId },
      },
    } = await admin.submit(id, { answers: [] });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'q', isRequired: true });
    assert.equal((await admin.submit(id, { answers: [] })).status, 400);
    assert.equal((await admin.submit(id, { answers: [{ questionId: question.id, textValue: 'yes' }] })).status, 201);
    assert.deepEqual((await admin.get(`/responses/${responseId}`)).answers, []);
    await eventually(async () => {
      const { totalResponses, questionStats } = await admin.get(`/analytics/surveys/${id}`);
      const { responseCount, skippedCount, notAskedCount } = questionStats[0];
      assert.deepEqual([totalResponses, responseCount, skippedCount, notAskedCount], [2, 1, 0, 1]);
    });
  });

  it('is not opened after its end or with a full quota, unless the same request changes that', async () => {
    const { id } = await admin.create('/surveys', { title: 'Ends', status: 'ACTIVE', responseQuota: 1 });
    await admin.put(`/surveys/${id}`, { endsAt: past() });
    for (const [method, path] of [
      ['PUT', `/surveys/${id}`],
      ['POST', `/surveys/${id}/publish`],
    ] as const)
      assert.deepEqual(await outcome(method, path, { status: 'ACTIVE' }), [409, 'SURVEY_ENDED']);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { status: 'ACTIVE', title: 'Not changed' }), [
      409,
      'SURVEY_ENDED',
    ]);
    const closed = await admin.get(`/surveys/${id}`);
    assert.deepEqual([closed.title, closed.status, typeof closed.closedAt], ['Ends', 'CLOSED', 'string']);
    const open = await admin.put(`/surveys/${id}`, { status: 'ACTIVE', endsAt: later() });
    assert.deepEqual([open.status, open.closedAt], ['ACTIVE', null]);
    assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).status, 'CLOSED'));
    for (const [method, path] of [
      ['PUT', `/surveys/${id}`],
      ['POST', `/surveys/${id}/publish`],
    ] as const)
      assert.deepEqual(await outcome(method, path, { status: 'ACTIVE' }), [409, 'QUOTA_REACHED']);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { status: 'ACTIVE', responseQuota: 2 }), [200, 'ACTIVE']);
    assert.deepEqual(await outcome('POST', '/surveys', { title: 'Over', status: 'ACTIVE', endsAt: past() }), [
      409,
      'SURVEY_ENDED',
    ]);
  });

  it('closes at once when its quota is lowered to the present number of responses, and reports the reason', async () => {
    const { id } = await admin.create('/surveys', { title: 'Enough', status: 'ACTIVE', responseQuota: 9 });
    for (let n = 0; n < 2; n += 1) assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { responseQuota: 3 }), [200, 'ACTIVE']);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { responseQuota: 2 }), [200, 'CLOSED']);
    assert.deepEqual(await outcome('POST', `/responses/surveys/${id}/submit`, { answers: [] }), [409, 'QUOTA_REACHED']);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { responseQuota: 3, status: 'ACTIVE' }), [200, 'ACTIVE']);
  });

  it('is no longer reported as full after its quota was raised or removed, but stays closed', async () => {
    const { id } = await admin.create('/surveys', { title: 'More', status: 'ACTIVE', responseQuota: 1 });
    const submit = () => outcome('POST', `/responses/surveys/${id}/submit`, { answers: [] });
    assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).status, 'CLOSED'));
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { title: 'Full all the same' }), [200, 'CLOSED']);
    assert.deepEqual(await submit(), [409, 'QUOTA_REACHED']);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { responseQuota: 2 }), [200, 'CLOSED']);
    assert.deepEqual(await submit(), [409, 'SURVEY_NOT_ACTIVE']);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { status: 'ACTIVE' }), [200, 'ACTIVE']);
    assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).status, 'CLOSED'));
    assert.deepEqual(await submit(), [409, 'QUOTA_REACHED']);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { responseQuota: null }), [200, 'CLOSED']);
    assert.deepEqual(await submit(), [409, 'SURVEY_NOT_ACTIVE']);
  });

  it('is no longer reported as ended after its end was moved to the future', async () => {
    const { id } = await admin.create('/surveys', { title: 'Longer', status: 'ACTIVE' });
    const submit = () => outcome('POST', `/responses/surveys/${id}/submit`, { answers: [] });
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { endsAt: past() }), [200, 'CLOSED']);
    assert.deepEqual(await submit(), [409, 'SURVEY_ENDED']);
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { endsAt: later() }), [200, 'CLOSED']);
    assert.deepEqual(await submit(), [409, 'SURVEY_NOT_ACTIVE']);
  });

  it('becomes anonymous only if no response names a respondent', async () => {
    const { id } = await admin.create('/surveys', { title: 'Names', status: 'ACTIVE' });
    const partial = (await admin.submit(id, { answers: [], isComplete: false, respondent: 'Ada' })).body.data;
    assert.deepEqual(await outcome('PUT', `/surveys/${id}`, { isAnonymous: true }), [409, 'HAS_RESPONSES']);
    await admin.remove(`/responses/${partial.responseId}`);
    assert.equal((await admin.put(`/surveys/${id}`, { isAnonymous: true })).isAnonymous, true);
    assert.equal((await admin.submit(id, { answers: [], respondent: 'Ada' })).status, 400);
    assert.equal((await admin.submit(id, { answers: [], respondent: '', isComplete: false })).status, 201);
    assert.equal(
      (await admin.submit(id, { answers: [], responseId: partial.responseId, resumeToken: partial.resumeToken }))
        .status,
      404,
    );
    assert.equal((await admin.put(`/surveys/${id}`, { isAnonymous: false })).isAnonymous, false);
  });

  it('lets nobody be named afterwards in a response that was begun while it was anonymous', async () => {
    const survey = await admin.create('/surveys', { title: 'No names', status: 'ACTIVE', isAnonymous: true });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'SHORT_TEXT', text: 'Well?' });
    const answers = [{ questionId: question.id, textValue: 'a secret' }];
    const begin = async () => (await admin.submit(survey.id, { answers, isComplete: false })).body.data;
    const [first, second] = [await begin(), await begin()];
    await admin.put(`/surveys/${survey.id}`, { isAnonymous: false });
    const later = await begin();
    const go = ({ responseId, resumeToken }: any, more: Record<string, unknown>) =>
      admin.submit(survey.id, { responseId, resumeToken, answers: [], ...more });
    const refused = await go(first, { respondent: 'Eve' });
    assert.deepEqual(
      [refused.status, refused.body.details],
      [400, [{ path: 'respondent', message: 'is not taken by a response that was begun anonymously' }]],
    );
    // Another save without a name makes it no less anonymous.
    assert.equal((await go(second, { isComplete: false })).status, 201);
    assert.equal((await go(second, { respondent: 'Eve' })).status, 400);
    assert.deepEqual([(await go(first, {})).status, (await go(second, {})).status], [201, 201]);
    assert.equal((await go(later, { respondent: 'Ada' })).status, 201);
    assert.equal((await admin.submit(survey.id, { answers, respondent: 'Bob' })).status, 201);
    const names = await Promise.all(
      [first, second, later].map(async ({ responseId }) => (await admin.get(`/responses/${responseId}`)).respondent),
    );
    assert.deepEqual(names, [null, null, 'Ada']);
  });

  it('has an access token only while PRIVATE, and the same one when PRIVATE again', async () => {
    const survey = await admin.create('/surveys', { title: 'Private', visibility: 'PRIVATE' });
    assert.ok(survey.accessToken);
    const open = await admin.put(`/surveys/${survey.id}`, { visibility: 'PUBLIC' });
    assert.ok(!('accessToken' in open));
    assert.equal((await admin.call('POST', `/surveys/${survey.id}/rotate-token`)).status, 400);
    assert.equal((await admin.put(`/surveys/${survey.id}`, { visibility: 'PRIVATE' })).accessToken, survey.accessToken);
  });

  it('refuses a cursor of another survey', async () => {
    const [one, other] = [
      await admin.create('/surveys', { title: '1', status: 'ACTIVE' }),
      await admin.create('/surveys', { title: '2', status: 'ACTIVE' }),
    ];
    for (let n = 0; n < 2; n += 1) assert.equal((await admin.submit(one.id, { answers: [] })).status, 201);
    const cursor = await eventually(async () => {
      const { pagination } = (await admin.call('GET', `/responses/surveys/${one.id}?limit=1`)).body;
      assert.ok(pagination.nextCursor);
      return pagination.nextCursor as string;
    });
    assert.equal((await admin.call('GET', `/responses/surveys/${one.id}?limit=1&cursor=${cursor}`)).status, 200);
    assert.equal((await admin.call('GET', `/responses/surveys/${other.id}?limit=1&cursor=${cursor}`)).status, 400);
  });

  it('is sorted by title as readers expect', async () => {
    for (const title of [
      'sorted Äpfel',
      'sorted cherry',
      'sorted Zebra',
      'sorted apple',
      'sorted éclair',
      'sorted Birne',
    ])
      await admin.create('/surveys', { title });
    const titles = async (sort: string) =>
      (await admin.get(`/surveys?search=sorted&sort=${sort}`)).map(({ title }: any) => title.slice(7));
    const expected = ['Äpfel', 'apple', 'Birne', 'cherry', 'éclair', 'Zebra'];
    assert.deepEqual(await titles('title'), expected);
    assert.deepEqual(await titles('-title'), expected.toReversed());
  });

  it('is read by ids, as far as the reader may see them', async () => {
    const [one, other] = [
      await admin.create('/surveys', { title: 'One' }),
      await admin.create('/surveys', { title: 'Other' }),
    ];
    const found = await admin.get(`/surveys?id=${one.id}&id=${other.id}&id=${randomUUID()}&sort=createdAt`);
    assert.deepEqual(
      found.map(({ title }: any) => title),
      ['One', 'Other'],
    );
    const stranger = await signInNewUser(service, admin);
    assert.deepEqual(await stranger.get(`/surveys?id=${one.id}`), []);
    assert.equal((await admin.call('GET', '/surveys?id=one')).status, 400);
  });
});
