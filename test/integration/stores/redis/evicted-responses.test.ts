import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import type { Submission } from '../../../../src/domain/submission/submission.ts';
import { newId, newResponseId } from '../../../../src/platform/ids.ts';
import type { Intake } from '../../../../src/stores/redis/intake/intake.ts';
import { answersKey, responseKey } from '../../../../src/stores/redis/intake/shards.ts';
import { bareSubmissions, emptySubmission, held, request } from '../../../support/bare-submissions.ts';
import { announceSurvey, appendix, submittedAt } from '../../../support/intake.ts';
import { type OwnIntake, startOwnIntake, wanted } from '../../../support/own-intake.ts';
import { surveyOf } from '../../../support/path-surveys.ts';

describe('open responses that the intake evicts', () => {
  let own: OwnIntake;
  let redis: Redis;
  let intake: Intake;
  before(async () => {
    own = await startOwnIntake();
    ({ redis, intake } = own);
  });
  after(() => own.stop());

  it('an open response is evicted once the response store has it, unless it was saved again', async () => {
    const surveyId = await announceSurvey(intake);
    const [kept, dropped] = [newResponseId(), newResponseId()];
    const save = async (responseId: string, observedVersion: number | null, digest: string) => {
      const { generation: observedGeneration } = await intake.observe(responseId);
      const observed = { observedVersion, observedGeneration };
      return intake.append(
        appendix(surveyId, { responseId, ...observed, digest, outcome: 'PARTIAL', savedState: '{}' }),
      );
    };
    for (const id of [kept, dropped]) assert.equal((await save(id, null, 'one')).code, 'ACCEPTED');
    await own.generations().rotate(wanted);
    assert.equal((await save(kept, 1, 'two')).code, 'ACCEPTED');
    await own.storeAll();
    for (const key of await redis.keys('idem:closed:*')) await redis.hset(key, 'at', 1);
    // The generation that is open by now is not closed at the same time.
    while (await own.generations().rotate({ maxBytes: 1e9, isMemoryNeeded: true }))
      if ((await redis.exists(responseKey(dropped))) === 0) break;
    assert.deepEqual(
      [
        await redis.exists(responseKey(dropped), answersKey(dropped)),
        await redis.exists(responseKey(kept), answersKey(kept)),
      ],
      [0, 2],
    );
    assert.equal((await save(dropped, 1, 'two')).code, 'ACCEPTED', 'it goes on with what the response store has');
  });

  /**
   * An open response, and what happens to it while a save of it is planned: it is completed and stored, and its state is
   * evicted, as while memory is short. `onReserve` and `onRestore` are steps of the plan that may take seconds.
   */
  async function setUpSlowSave(during: { onReserve?: () => Promise<void>; onRestore?: () => Promise<void> }) {
    const { survey: plain, questions } = surveyOf([{ type: 'FILE_UPLOAD' }]);
    const [surveyId, questionId, uploadId] = [await announceSurvey(intake), questions[0]?.id ?? '', newId()];
    const survey = { ...plain, id: surveyId, revision: 1, status: 'ACTIVE' as const };
    const upload = { id: uploadId, questionId, mimeType: 'image/png', sizeBytes: 10 };
    let [isEnding, isEnded] = [false, false];
    const submit = bareSubmissions({
      actors: { peek: () => ({ ...held, survey, compiled: compileSurvey(survey) }) },
      intake,
      uploads: {
        async reserve() {
          await during.onReserve?.();
          return new Map([[uploadId, upload]]);
        },
        release: async () => undefined,
      },
      secrets: { resumeToken: () => 'token', isResumeToken: () => true },
      now: () => submittedAt,
      newId: newResponseId,
      async restore() {
        const found = isEnded ? { observedVersion: 2, isComplete: true } : { observedVersion: 1, isComplete: false };
        await during.onRestore?.();
        const row = { codes: [], numbers: [], texts: [] };
        const saved = { submittedAtMs: submittedAt, startedAtMs: 0, language: '', respondent: '', metadata: {}, row };
        return { ...found, saved };
      },
      findRecords: async () => [],
    });
    const send = (body: object, more: Partial<Submission>) =>
      submit({ ...request(undefined), surveyId, submission: { ...emptySubmission, ...more }, body });
    const first = await send({ save: 1 }, { isComplete: false });
    assert.ok(first.kind === 'accepted');
    const { responseId } = JSON.parse(first.replyText);
    const open = { responseId, resumeToken: 'token' };
    const evict = async (): Promise<void> => {
      await own.storeAll();
      await own.drop();
      assert.equal(await redis.exists(responseKey(responseId)), 0);
    };
    return {
      evict,
      /** Once, however often the save is planned. */
      async completeAndEvict(): Promise<void> {
        if (isEnding) return;
        isEnding = true;
        assert.equal((await send({ save: 2 }, open)).kind, 'accepted');
        isEnded = true;
        await evict();
      },
      async saveLate(): Promise<unknown> {
        const answers = [{ questionId, textValue: uploadId }];
        const late = await send({ save: 3 }, { ...open, answers, isComplete: false });
        return [late.kind === 'refused' ? late.problem.details : late, await intake.counts(surveyId)];
      },
    };
  }

  const isComplete = [{ reason: 'ALREADY_COMPLETE' }, { total: 1, completed: 1 }];

  it('an open response that is completed and evicted while its upload is reserved stays complete', async () => {
    const slow = await setUpSlowSave({ onReserve: () => slow.completeAndEvict() });
    assert.deepEqual(await slow.saveLate(), isComplete);
  });

  it('an open response that is completed and evicted while it is restored stays complete', async () => {
    const slow = await setUpSlowSave({ onRestore: () => slow.completeAndEvict() });
    await slow.evict();
    assert.deepEqual(await slow.saveLate(), isComplete);
  });

  it('an open response that is evicted while its upload is reserved is restored, and goes on', async () => {
    let reserved = 0;
    const slow = await setUpSlowSave({
      onReserve: async () => {
        reserved += 1;
        if (reserved === 1) await slow.evict();
      },
    });
    const [late, counts] = (await slow.saveLate()) as [{ kind: string }, unknown];
    assert.deepEqual([late.kind, counts], ['accepted', { total: 1, completed: 0 }]);
  });

  it('a repeat of an evicted first save is looked up in the response store', async () => {
    const surveyId = await announceSurvey(intake);
    const responseId = newId();
    const save = async (observedVersion: number, digest: string, more: Parameters<typeof appendix>[1] = {}) => {
      const { generation: observedGeneration } = await intake.observe(responseId);
      const observed = { observedVersion, observedGeneration };
      return intake.append(
        appendix(surveyId, { responseId, ...observed, digest, outcome: 'PARTIAL', savedState: '{}', ...more }),
      );
    };
    await save(0, 'one');
    await own.storeAll();
    await own.drop();
    assert.equal((await save(1, 'two')).code, 'ACCEPTED');
    assert.deepEqual(
      [(await save(0, 'one')).code, (await save(0, 'two')).code, (await save(0, 'one', { isLookupDone: true })).code],
      ['LOOKUP', 'REPLAY', 'MISMATCH'],
    );
  });
});
