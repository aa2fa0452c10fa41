import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { maxRetentionMs } from '../../../../src/pipelines/ingest/retention.ts';
import { newId, newResponseId } from '../../../../src/platform/ids.ts';
import { answersKey, createShards, responseKey } from '../../../../src/stores/redis/intake/shards.ts';
import {
  announceSurvey,
  appendix,
  forgetStates,
  type OpenIntake,
  openIntake,
  submittedAt,
} from '../../../support/intake.ts';

describe('deletions in the intake', () => {
  const shards = createShards(2);
  let intake: OpenIntake['intake'];
  let plain: OpenIntake['plain'];
  let stream: OpenIntake['stream'];
  let close: OpenIntake['close'] | undefined;
  before(async () => {
    ({ intake, plain, stream, close } = await openIntake(shards));
  });
  after(() => close?.());

  const survey = (facts?: Parameters<typeof announceSurvey>[1]) => announceSurvey(intake, facts);
  const [first, second] = ['first', 'second'];

  describe('states of responses', () => {
    it('of a deleted survey are removed, not those of another survey that have the same ids', async () => {
      const [deleted, other] = [await survey(), await survey()];
      const [own, ofOther] = [newId(), newId()];
      for (const [surveyId, responseId] of [[deleted, own] as const, [other, ofOther] as const]) {
        const open = { responseId, observedVersion: 0, outcome: 'PARTIAL', savedState: '{}' } as const;
        assert.equal((await intake.append(appendix(surveyId, open))).code, 'ACCEPTED');
      }
      await intake.removeResponseStates(deleted, [own, ofOther, newId()]);
      const kept = await Promise.all([own, ofOther].map((id) => plain.exists(responseKey(id), answersKey(id))));
      assert.deepEqual(kept, [0, 2]);
    });
  });

  it('a deletion frees the seat of its response once', async () => {
    const surveyId = await survey({ quota: 2 });
    const responseId = newId();
    await intake.append(appendix(surveyId, { responseId, observedVersion: 0, digest: 'a' }));
    const removal = { surveyId, responseId, submittedAtMs: 1, outcome: 'COMPLETED' as const, row: '["gone"]' };
    assert.deepEqual([await intake.deleteResponse(removal), await intake.deleteResponse(removal)], [true, false]);
    assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
    assert.equal((await intake.state(responseId))?.version, -1);
  });

  it('counts never fall below 0', async () => {
    const surveyId = await survey();
    assert.equal(
      await intake.deleteResponse({
        surveyId,
        responseId: newId(),
        submittedAtMs: 1,
        outcome: 'COMPLETED',
        row: '["gone"]',
      }),
      true,
    );
    assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
  });

  it('responses with the same id are deleted one by one, and take little memory', async () => {
    const surveyId = await survey();
    const [again, own] = [newId(), newResponseId()];
    const at = (ms: number) => ({
      surveyId,
      responseId: again,
      submittedAtMs: submittedAt + ms,
      outcome: 'PARTIAL' as const,
      row: `["gone ${ms}"]`,
    });
    await intake.append(appendix(surveyId, { responseId: again, observedVersion: 0, digest: first }));
    await forgetStates(plain, again);
    // As it is after two days: the same id comes again, and a partial response has it.
    await intake.append(
      appendix(surveyId, {
        responseId: again,
        observedVersion: 0,
        digest: second,
        outcome: 'PARTIAL',
        savedState: '{}',
      }),
    );
    assert.deepEqual(await intake.counts(surveyId), { total: 2, completed: 1 });
    assert.equal(await intake.deleteResponse({ ...at(-200_000_000), outcome: 'COMPLETED' }), true);
    assert.deepEqual(
      [await intake.counts(surveyId), (await intake.state(again))?.savedState],
      [{ total: 1, completed: 0 }, '{}'],
    );
    assert.deepEqual(
      [
        await intake.deleteResponse(at(0)),
        await intake.deleteResponse(at(0)),
        await intake.deleteResponse(at(-200_000_000)),
      ],
      [true, false, false],
    );
    assert.deepEqual(
      [await intake.counts(surveyId), (await intake.state(again))?.version],
      [{ total: 0, completed: 0 }, -1],
    );
    for (const ms of [-200_000_000, 0, 1])
      assert.equal(await stream.isDeleted(shards.of(surveyId), again, at(ms).submittedAtMs), ms !== 1);
    await intake.append(
      appendix(surveyId, {
        responseId: own,
        observedVersion: null,
        digest: first,
        outcome: 'PARTIAL',
        savedState: '{}',
      }),
    );
    assert.equal(await intake.deleteResponse({ ...at(0), responseId: own }), true);
    assert.equal(await plain.exists(responseKey(own), answersKey(own)), 0);
  });

  it('a deletion is remembered for longer than its entry may be read, whoever made the id', async () => {
    const surveyId = await survey();
    for (const responseId of [newId(), newResponseId()]) {
      await intake.append(appendix(surveyId, { responseId, observedVersion: null, digest: first }));
      const deletion = {
        surveyId,
        responseId,
        submittedAtMs: submittedAt,
        outcome: 'COMPLETED',
        row: '["gone"]',
      } as const;
      assert.equal(await intake.deleteResponse(deletion), true);
      const leftMs = await plain.pttl(`${shards.of(surveyId).prefix}removed:${responseId}`);
      assert.ok(leftMs > maxRetentionMs + 3_600_000 && leftMs <= 26 * 3_600_000, `${leftMs} ms`);
    }
  });

  it('a deletion is remembered for six hours once no entry of its response can be left, as after its retention', async () => {
    const surveyId = await survey();
    const shard = shards.of(surveyId);
    const open = { observedVersion: 0, outcome: 'PARTIAL', savedState: '{}' } as const;
    await intake.append(appendix(surveyId, { ...open, responseId: newId() }));
    const newest = await stream.newestId(shard);
    await plain.mset(`${shard.prefix}acked`, newest, `${shard.prefix}handed-on`, newest);
    await stream.trim(shard, `${Number.MAX_SAFE_INTEGER}-0`);
    const keptFromMs = Number.parseInt(newest, 10);
    const hoursLeft = async (lastSavedAtMs: number | undefined, responseId = newId()) => {
      await intake.deleteResponse({
        surveyId,
        responseId,
        submittedAtMs: submittedAt,
        outcome: 'COMPLETED',
        lastSavedAtMs,
        row: '["gone"]',
      });
      return Math.ceil((await plain.pttl(`${shard.prefix}removed:${responseId}`)) / 3_600_000);
    };
    const [longAgo, lately] = [keptFromMs - 2 * 3_600_000, keptFromMs - 3_500_000];
    assert.deepEqual(
      [await hoursLeft(longAgo), await hoursLeft(longAgo, newResponseId()), await hoursLeft(lately)],
      [6, 6, 26],
    );
    assert.equal(await hoursLeft(undefined), 26);
    // One that is open may have been saved since the caller read it.
    const continued = newResponseId();
    await intake.append(appendix(surveyId, { ...open, responseId: continued, observedVersion: null }));
    assert.equal(await hoursLeft(longAgo, continued), 26);
  });
});
