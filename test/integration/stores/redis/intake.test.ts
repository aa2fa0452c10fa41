import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { encodeMoment } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  announceSurvey,
  appendix,
  connectIntake,
  type OpenIntake,
  openIntake,
  submittedAt,
} from '../../../support/intake.ts';

describe('the intake script', () => {
  const shards = createShards(2);
  let intake: OpenIntake['intake'];
  let stream: OpenIntake['stream'];
  let close: OpenIntake['close'] | undefined;
  before(async () => {
    ({ intake, stream, close } = await openIntake(shards));
  });
  after(() => close?.());

  const survey = (facts?: Parameters<typeof announceSurvey>[1]) => announceSurvey(intake, facts);

  it('writes the submissions of a tick as one stream entry and counts them', async () => {
    const surveyId = await survey();
    const before = await stream.newestId(shards.of(surveyId));
    const results = await Promise.all([1, 2, 3].map((n) => intake.append(appendix(surveyId, { row: `[${n}]` }))));
    assert.deepEqual(
      results.map((result) => result.code),
      ['ACCEPTED', 'ACCEPTED', 'ACCEPTED'],
    );
    const [entry] = await stream.readAfter(shards.of(surveyId), before, 10);
    assert.equal(entry?.rows.toString(), '[1]\n[2]\n[3]');
    assert.equal(entry?.count, 3);
    assert.equal(entry?.codeColumns, 3);
    assert.deepEqual(entry?.surveyIds, [surveyId]);
    assert.deepEqual(await intake.counts(surveyId), { total: 3, completed: 3 });
  });

  it('writes no entry that is much longer than four megabytes, however long the submissions of a tick are', async () => {
    const surveyId = await survey();
    const before = await stream.newestId(shards.of(surveyId));
    const row = (n: number) => `["${String(n).padStart(8, '0')}${'x'.repeat(200_000)}"]`;
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) => intake.append(appendix(surveyId, { row: row(n) }))),
    );
    assert.deepEqual(new Set(results.map((result) => result.code)), new Set(['ACCEPTED']));
    const entries = await stream.readAfter(shards.of(surveyId), before, 100);
    assert.ok(
      Math.max(...entries.map((entry) => entry.rows.length)) <= 4 * 1024 * 1024,
      `entries of ${entries.map((entry) => entry.rows.length).join(', ')} bytes`,
    );
    assert.deepEqual(
      entries.flatMap((entry) => entry.rows.toString().split('\n')),
      Array.from({ length: 50 }, (_, n) => row(n)),
    );
  });

  it('accepts exactly the quota under concurrency, and reports once that it is filled', async () => {
    const surveyId = await survey({ quota: 50 });
    const before = await stream.newestId(shards.of(surveyId));
    const results = await Promise.all(
      Array.from({ length: 400 }, (_, n) => intake.append(appendix(surveyId, { row: `[${n}]` }))),
    );
    const count = (code: string) => results.filter((result) => result.code === code).length;
    assert.equal(count('ACCEPTED'), 49);
    assert.equal(count('FILLED'), 1);
    assert.equal(count('QUOTA'), 350);
    const entries = await stream.readAfter(shards.of(surveyId), before, 1000);
    assert.deepEqual(
      entries.flatMap((entry) => entry.filled),
      [surveyId],
    );
    const accepted = results.flatMap(({ code }, n) => (code === 'ACCEPTED' || code === 'FILLED' ? [`[${n}]`] : []));
    assert.deepEqual(
      entries.flatMap((entry) => entry.rows.toString().split('\n')),
      accepted,
    );
    assert.equal(
      entries.reduce((sum, entry) => sum + entry.count, 0),
      50,
    );
    assert.deepEqual(await intake.counts(surveyId), { total: 50, completed: 50 });
  });

  it('keeps the submissions of a tick apart by survey, caller and kind', async () => {
    const [free, full, strict] = await Promise.all([survey(), survey({ quota: 1 }), survey()]);
    const caller = { caller: 'me', limit: 2 };
    const results = await Promise.all([
      intake.append(appendix(strict, { ...caller, row: '[0]' })),
      intake.append(appendix(full, { row: '[1]' })),
      intake.append(appendix(strict, { ...caller, key: 'k', digest: 'd', row: '[2]' })),
      intake.append(appendix(free, { caller: 'other', limit: 2, row: '[3]' })),
      intake.append(appendix(strict, { ...caller, row: '[4]' })),
      intake.append(appendix(full, { row: '[5]' })),
      intake.append(appendix(free, { revision: 9, row: '[6]' })),
      intake.append(appendix(strict, { ...caller, caller: 'you', row: '[7]' })),
    ]);
    // Groups are counted before single submissions.
    assert.deepEqual(
      results.map(({ code }) => code),
      ['ACCEPTED', 'FILLED', 'LIMITED', 'ACCEPTED', 'ACCEPTED', 'QUOTA', 'STALE', 'ACCEPTED'],
    );
    assert.deepEqual(
      results.map(({ remaining }) => remaining),
      [1, -1, 0, 1, 0, -1, -1, 1],
    );
    assert.deepEqual(await intake.counts(strict), { total: 3, completed: 3 });
    assert.deepEqual(await intake.counts(full), { total: 1, completed: 1 });
    assert.deepEqual(await intake.counts(free), { total: 1, completed: 1 });
  });

  it('accepts as many of a caller’s submissions in a tick as its limit allows, with their rows', async () => {
    const surveyId = await survey();
    const before = await stream.newestId(shards.of(surveyId));
    const send = (n: number) => intake.append(appendix(surveyId, { caller: 'me', limit: 5, row: `[${n}]` }));
    const results = [...(await Promise.all([0, 1, 2].map(send))), ...(await Promise.all([3, 4, 5, 6].map(send)))];
    assert.deepEqual(
      results.map(({ code, remaining }) => [code, remaining]),
      [...[4, 3, 2, 1, 0].map((left) => ['ACCEPTED', left]), ['LIMITED', 0], ['LIMITED', 0]],
    );
    const entries = await stream.readAfter(shards.of(surveyId), before, 10);
    assert.deepEqual(
      entries.map((entry) => entry.rows.toString()),
      ['[0]\n[1]\n[2]', '[3]\n[4]'],
    );
  });

  it('gives partial responses no seat', async () => {
    const surveyId = await survey({ quota: 1 });
    const partial = await intake.append(appendix(surveyId, { outcome: 'PARTIAL', savedState: '{}', digest: 'a' }));
    assert.equal(partial.code, 'ACCEPTED');
    assert.equal((await intake.append(appendix(surveyId))).code, 'FILLED');
    assert.equal(
      (await intake.append(appendix(surveyId, { outcome: 'PARTIAL', savedState: '{}', digest: 'b' }))).code,
      'QUOTA',
    );
  });

  it('gives a hundred concurrent repeats one row and one reply', async () => {
    const surveyId = await survey();
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        intake.append(appendix(surveyId, { key: 'k', digest: 'd', submittedAtMs: submittedAt + n })),
      ),
    );
    assert.equal(results.filter((result) => result.code === 'ACCEPTED').length, 1);
    const replays = results.filter((result) => result.code === 'REPLAY');
    assert.equal(replays.length, 99);
    assert.equal(new Set(replays.map((result) => result.text)).size, 1);
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 1 });
    const other = await intake.append(appendix(surveyId, { key: 'k', digest: 'e' }));
    assert.equal(other.code, 'MISMATCH');
  });

  it('replays an accepted key even when the submission would be refused by now', async () => {
    const surveyId = await survey();
    await intake.append(appendix(surveyId, { key: 'k', digest: 'd' }));
    const late = await intake.append(
      appendix(surveyId, { key: 'k', digest: 'd', submittedAtMs: submittedAt + 5, mustRefuse: true }),
    );
    assert.deepEqual([late.code, late.text], ['REPLAY', `1 ${encodeMoment(submittedAt)}`]);
    assert.equal((await intake.append(appendix(surveyId, { mustRefuse: true }))).code, 'REFUSED');
  });

  it('returns STALE after a change of the survey, and UNKNOWN for an unannounced one', async () => {
    const surveyId = await survey({ revision: 7 });
    assert.equal((await intake.append(appendix(surveyId, { revision: 6 }))).code, 'STALE');
    assert.equal((await intake.append(appendix(newId()))).code, 'UNKNOWN');
    assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
  });

  it('ignores an announcement that is older than the known revision', async () => {
    const surveyId = await survey({ revision: 5 });
    assert.equal(
      await intake.announce({ surveyId, revision: 4, quota: 1, codePositions: 0, total: 9, completed: 9 }),
      false,
    );
    assert.equal(
      await intake.announce({ surveyId, revision: 6, quota: 1, codePositions: 0, total: 9, completed: 9 }),
      true,
    );
    assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
  });

  it('accepts nothing while a survey is frozen: until it is released, changed, or the freeze expires', async () => {
    const surveyId = await survey();
    const codes = async () =>
      (
        await Promise.all([
          intake.append(appendix(surveyId)),
          intake.append(appendix(surveyId, { key: newId(), digest: 'd' })),
        ])
      ).map(({ code }) => code);
    const first = await intake.freeze(surveyId, 60_000);
    assert.equal(first?.revision, 1);
    assert.equal(await intake.freeze(surveyId, 60_000), undefined);
    assert.deepEqual(await codes(), ['FROZEN', 'FROZEN']);
    assert.deepEqual(
      [await intake.isFrozen(surveyId), (await intake.append(appendix(surveyId, { revision: 9 }))).code],
      [true, 'STALE'],
    );
    await first?.release();
    assert.equal(await intake.isFrozen(surveyId), false);
    assert.deepEqual(await codes(), ['ACCEPTED', 'ACCEPTED']);
    const second = await intake.freeze(surveyId, 60_000);
    await first?.release();
    assert.deepEqual(await codes(), ['FROZEN', 'FROZEN'], 'another holds it now');
    assert.equal(
      await intake.announce({ surveyId, revision: 1, quota: null, codePositions: 3, total: 0, completed: 0 }),
      false,
    );
    assert.deepEqual(await codes(), ['FROZEN', 'FROZEN'], 'nothing new is in force');
    assert.equal(
      await intake.announce({ surveyId, revision: 2, quota: null, codePositions: 3, total: 0, completed: 0 }),
      true,
    );
    assert.equal((await intake.append(appendix(surveyId, { revision: 2 }))).code, 'ACCEPTED');
    await second?.release();
    assert.ok(await intake.freeze(surveyId, 0));
    await eventually(async () => assert.equal(await intake.isFrozen(surveyId), false));
    assert.equal((await intake.append(appendix(surveyId, { revision: 2 }))).code, 'ACCEPTED');
  });

  it('freezes a survey that was not announced', async () => {
    const surveyId = newId();
    const hold = await intake.freeze(surveyId, 60_000);
    assert.deepEqual([hold?.revision, (await intake.append(appendix(surveyId))).code], [undefined, 'UNKNOWN']);
    assert.equal(
      await intake.announce({ surveyId, revision: 1, quota: null, codePositions: 3, total: 4, completed: 4 }),
      true,
    );
    assert.equal((await intake.append(appendix(surveyId))).code, 'FROZEN');
    await hold?.release();
    assert.equal((await intake.append(appendix(surveyId))).code, 'ACCEPTED');
    assert.deepEqual(await intake.counts(surveyId), { total: 5, completed: 5 });
  });

  it('accepts exactly the limit in a window and returns what remains', async () => {
    const surveyId = await survey();
    const results = await Promise.all(
      Array.from({ length: 100 }, () => intake.append(appendix(surveyId, { caller: 'me', limit: 60 }))),
    );
    assert.equal(results.filter((result) => result.code === 'ACCEPTED').length, 60);
    assert.equal(results.filter((result) => result.code === 'LIMITED').length, 40);
    assert.deepEqual(
      results.slice(0, 3).map((result) => result.remaining),
      [59, 58, 57],
    );
    assert.ok(results.every((result) => result.resetMs > 0 && result.resetMs <= 60_000));
  });

  it('accepts one of two merges of the same version, and returns CHANGED for the other', async () => {
    const surveyId = await survey();
    const responseId = newId();
    const save = (observedVersion: number, digest: string, isComplete = false) =>
      intake.append(
        appendix(surveyId, {
          responseId,
          observedVersion,
          digest,
          outcome: isComplete ? 'COMPLETED' : 'PARTIAL',
          savedState: isComplete ? '' : '{"kept":1}',
        }),
      );
    assert.equal((await save(0, 'a')).code, 'ACCEPTED');
    const both = await Promise.all([save(1, 'b'), save(1, 'c')]);
    assert.deepEqual(
      both.map((result) => result.code),
      ['ACCEPTED', 'CHANGED'],
    );
    assert.equal((await save(2, 'd', true)).code, 'ACCEPTED');
    assert.equal((await save(2, 'e')).code, 'COMPLETE');
    assert.equal((await save(0, 'f')).code, 'MISMATCH');
    assert.equal((await save(0, 'd', true)).code, 'REPLAY');
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 1 });
  });

  it('names the survey of a row that only continues a response', async () => {
    const [surveyId, other] = [await survey(), await survey()];
    const responseId = newId();
    const save = (observedVersion: number) =>
      intake.append(
        appendix(surveyId, {
          responseId,
          observedVersion,
          digest: String(observedVersion),
          outcome: 'PARTIAL',
          savedState: '{"kept":1}',
        }),
      );
    await save(0);
    const before = await stream.newestId(shards.of(surveyId));
    assert.equal((await save(1)).code, 'ACCEPTED');
    assert.equal((await save(1)).code, 'REPLAY');
    assert.equal((await intake.append(appendix(other, { revision: 9 }))).code, 'STALE');
    assert.deepEqual(
      (await stream.readAfter(shards.of(surveyId), before, 10)).map(({ count, surveyIds }) => [count, surveyIds]),
      [[1, [surveyId]]],
    );
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 0 });
  });

  it('works after SCRIPT FLUSH', async () => {
    const surveyId = await survey();
    const other = await connectIntake();
    await other.script('FLUSH');
    await other.quit();
    assert.equal((await intake.append(appendix(surveyId))).code, 'ACCEPTED');
  });
});
