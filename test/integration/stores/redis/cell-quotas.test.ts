import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { encodeResponse } from '../../../../src/domain/response-row.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import type { AnnouncedQuota } from '../../../../src/stores/redis/intake/scripts.ts';
import { createShards, quotasKey } from '../../../../src/stores/redis/intake/shards.ts';
import { announceSurvey, appendix, type OpenIntake, openIntake, submittedAt } from '../../../support/intake.ts';

const quota = (code: number, more: Partial<AnnouncedQuota> = {}): AnnouncedQuota => ({
  code,
  limit: 2,
  counts: 'COMPLETED',
  whenFull: 'OVER_QUOTA',
  version: 1,
  ...more,
});

/** A row whose outcome the script can rewrite. */
function rowOf(surveyId: string, responseId: string, isComplete = true): string {
  const head = {
    surveyId,
    responseId,
    submittedAtMs: submittedAt,
    version: 1,
    surveyVersion: 7,
    isComplete,
    outcome: isComplete ? 'COMPLETED' : 'PARTIAL',
    completedAtMs: 0,
    durationMs: -1,
    language: 'en',
    respondent: '',
    metadata: {},
  };
  return encodeResponse(head as never, { codes: [1], numbers: [], texts: [] });
}

describe('quotas by cell in the intake', () => {
  const shards = createShards(1);
  let open: OpenIntake;
  before(async () => {
    open = await openIntake(shards);
  });
  after(() => open?.close());

  /** A survey whose quotas have been counted. */
  const survey = async (cellQuotas: readonly AnnouncedQuota[], more: { quota?: number } = {}) => {
    const id = await announceSurvey(open.intake, { cellQuotas, ...more });
    await count(id, []);
    return id;
  };
  const begin = async (surveyId: string) => {
    const removals = await open.intake.quotas.removals(surveyId);
    const freeze = await open.intake.freeze(surveyId, 5000);
    const counting = await open.intake.quotas.beginCount(surveyId, { frozen: freeze?.frozen ?? '', removals });
    await freeze?.release();
    return counting;
  };
  const remove = (surveyId: string, responseId: string) =>
    open.intake.deleteResponse({
      surveyId,
      responseId,
      submittedAtMs: submittedAt,
      outcome: 'COMPLETED',
      row: rowOf(surveyId, responseId),
    });
  const count = async (surveyId: string, stored: readonly { code: number; count: number; version?: number }[]) => {
    const counting = await begin(surveyId);
    const codes = [...(counting?.versions ?? [])];
    return counting?.end(
      codes.map(([code, version]) => ({
        version,
        code,
        count: 0,
        ...stored.find((other) => other.code === code),
      })),
    );
  };
  const send = (
    surveyId: string,
    cells: readonly number[],
    more: Partial<IntakeSubmission> & { key?: string } = {},
  ) => {
    const responseId = more.responseId ?? newId();
    const row = rowOf(surveyId, responseId, more.outcome !== 'PARTIAL');
    return open.intake.append(appendix(surveyId, { cells, row, ...more, responseId }));
  };
  const counts = async (surveyId: string) =>
    Object.fromEntries([...(await open.intake.quotas.counts(surveyId))].map(([code, { count: n }]) => [code, n]));
  /** Outcome of each stored row, and the quotas that were reached. */
  const stored = async (surveyId: string, from: string) => {
    const entries = await open.stream.readAfter(shards.of(surveyId), from, 1000);
    const rows = entries
      .flatMap((entry) => entry.rows.toString().split('\n'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown[])
      .filter(([id]) => id === surveyId);
    const reached = entries.flatMap((entry) => entry.reachedQuotas).filter((other) => other.surveyId === surveyId);
    return { outcomes: rows.map((row) => row[6]), reached: reached.map(({ code, times }) => [code, times]) };
  };
  const position = (surveyId: string) => open.stream.newestId(shards.of(surveyId));

  it('take exactly as many as they have seats, together and one by one; the others are over quota', async () => {
    const surveyId = await survey([quota(1), quota(2, { limit: 3 })]);
    const from = await position(surveyId);
    const results = [
      ...(await Promise.all(Array.from({ length: 4 }, () => send(surveyId, [1])))),
      ...(await Promise.all(
        Array.from({ length: 4 }, (_, n) => send(surveyId, [2], { key: `k${n}`, digest: `d${n}` })),
      )),
    ];
    assert.deepEqual(
      results.map(({ code, text }) => (code === 'OVER_QUOTA' ? `full ${text}` : code)),
      ['ACCEPTED', 'ACCEPTED', 'full 1', 'full 1', 'ACCEPTED', 'ACCEPTED', 'ACCEPTED', 'full 2'],
    );
    assert.deepEqual(await counts(surveyId), { 1: 2, 2: 3 });
    assert.deepEqual(await stored(surveyId, from), {
      outcomes: [1, 1, 3, 3, 1, 1, 1, 3],
      reached: [
        [1, 1],
        [2, 1],
      ],
    });
    assert.deepEqual(await open.intake.counts(surveyId), { total: 8, completed: 5 });
  });

  it('give a response that fits several a seat in each, or in none', async () => {
    const surveyId = await survey([
      quota(1, { limit: 1 }),
      quota(2, { limit: 5 }),
      quota(3, { whenFull: 'COUNT_ONLY' }),
    ]);
    const results = await Promise.all([1, 2, 3].map(() => send(surveyId, [1, 2, 3])));
    assert.deepEqual(
      results.map(({ code }) => code),
      ['ACCEPTED', 'OVER_QUOTA', 'OVER_QUOTA'],
    );
    assert.deepEqual(await counts(surveyId), { 1: 1, 2: 1, 3: 1 });
    for (let n = 0; n < 4; n += 1) await send(surveyId, [3]);
    assert.deepEqual(await counts(surveyId), { 1: 1, 2: 1, 3: 5 });
  });

  it('close the survey where the author says so: the response that fills it is accepted, the next is refused', async () => {
    const surveyId = await survey([quota(1, { whenFull: 'CLOSE' }), quota(2)]);
    const from = await position(surveyId);
    const results = await Promise.all(Array.from({ length: 4 }, () => send(surveyId, [1])));
    assert.deepEqual(
      results.map(({ code }) => code),
      ['ACCEPTED', 'FILLED', 'QUOTA', 'QUOTA'],
    );
    assert.equal((await send(surveyId, [2])).code, 'QUOTA');
    const [entry] = await open.stream.readAfter(shards.of(surveyId), from, 10);
    assert.deepEqual(entry?.filled, [surveyId]);
    // Opened again although the cell is full.
    await announceSurvey(open.intake, { id: surveyId, revision: 2, cellQuotas: [quota(1, { whenFull: 'CLOSE' })] });
    assert.equal((await send(surveyId, [1], { revision: 2, key: 'x', digest: 'x' })).code, 'QUOTA');
    assert.equal((await send(surveyId, [1], { revision: 2 })).code, 'QUOTA');
  });

  it('and the survey’s own quota: whoever is over quota holds no seat of it', async () => {
    const surveyId = await survey([quota(1, { limit: 1 })], { quota: 2 });
    const results = await Promise.all([send(surveyId, [1]), send(surveyId, [1]), send(surveyId, [1])]);
    assert.deepEqual(
      results.map(({ code }) => code),
      ['ACCEPTED', 'OVER_QUOTA', 'OVER_QUOTA'],
    );
    assert.equal((await send(surveyId, [])).code, 'FILLED');
    assert.deepEqual(await open.intake.counts(surveyId), { total: 4, completed: 2 });
  });

  it('move a continued response from cell to cell', async () => {
    const surveyId = await survey([
      quota(1, { counts: 'STARTED', limit: 1 }),
      quota(2, { counts: 'STARTED' }),
      quota(3),
    ]);
    const responseId = newId();
    const save = (
      observedVersion: number,
      cells: readonly number[],
      heldCells: readonly number[],
      isComplete = false,
    ) =>
      send(surveyId, cells, {
        responseId,
        observedVersion,
        heldCells,
        outcome: isComplete ? 'COMPLETED' : 'PARTIAL',
        savedState: isComplete ? '' : '{}',
        digest: `save ${observedVersion}`,
      });
    await save(0, [1, 3], []);
    assert.deepEqual(await counts(surveyId), { 1: 1, 2: 0, 3: 0 });
    assert.equal((await save(1, [1, 3], [1, 3])).code, 'ACCEPTED', 'its own seat is no hindrance');
    await save(2, [2, 3], [1, 3]);
    assert.deepEqual(await counts(surveyId), { 1: 0, 2: 1, 3: 0 });
    await save(3, [2, 3], [2, 3], true);
    assert.deepEqual(await counts(surveyId), { 1: 0, 2: 1, 3: 1 });
  });

  it('end a partial response that finds its cell full, and say so to its repeat', async () => {
    const surveyId = await survey([quota(1, { counts: 'STARTED', limit: 0 })]);
    const from = await position(surveyId);
    const responseId = newId();
    const first = () =>
      send(surveyId, [1], { responseId, observedVersion: 0, outcome: 'PARTIAL', savedState: '{}', digest: 'a' });
    assert.deepEqual([(await first()).code, (await first()).code], ['OVER_QUOTA', 'REPLAY']);
    assert.match((await first()).text, /^3 /);
    assert.deepEqual((await stored(surveyId, from)).outcomes, [3]);
    const next = { responseId, observedVersion: 1, outcome: 'COMPLETED' as const, digest: 'b' };
    assert.equal((await send(surveyId, [1], next)).code, 'COMPLETE');
  });

  it('count nobody who is screened out', async () => {
    const surveyId = await survey([quota(1, { limit: 1 })], { quota: 5 });
    assert.equal((await send(surveyId, [1], { outcome: 'SCREENED_OUT' })).code, 'ACCEPTED');
    assert.deepEqual(await counts(surveyId), { 1: 0 });
    assert.deepEqual(await open.intake.counts(surveyId), { total: 1, completed: 0 });
  });

  it('limit nobody while the responses of before are being counted, and then exactly', async () => {
    const surveyId = await announceSurvey(open.intake, { cellQuotas: [quota(1, { limit: 3 })] });
    assert.deepEqual(await open.intake.quotas.surveysToCount(), [surveyId]);
    const counting = await begin(surveyId);
    await send(surveyId, [1]);
    assert.deepEqual(await open.intake.quotas.counts(surveyId), new Map([[1, { count: 1, isCounting: true }]]));
    await counting?.end([{ code: 1, version: 1, count: 1 }]);
    assert.deepEqual(await open.intake.quotas.counts(surveyId), new Map([[1, { count: 2, isCounting: false }]]));
    assert.deepEqual(await open.intake.quotas.surveysToCount(), []);
    assert.deepEqual(
      (await Promise.all([1, 2].map(() => send(surveyId, [1])))).map(({ code }) => code),
      ['ACCEPTED', 'OVER_QUOTA'],
    );
  });

  it('are counted again when what they count changes; a count that began before that changes nothing', async () => {
    const surveyId = await survey([quota(1), quota(2)]);
    await send(surveyId, [1, 2]);
    const counting = await begin(surveyId);
    const changed = [quota(1, { version: 2 }), quota(2, { limit: 9 })];
    await announceSurvey(open.intake, { id: surveyId, revision: 2, cellQuotas: changed });
    await counting?.end([
      { code: 1, version: 1, count: 1 },
      { code: 2, version: 1, count: 1 },
    ]);
    assert.deepEqual(
      await open.intake.quotas.counts(surveyId),
      new Map([
        [1, { count: 0, isCounting: true }],
        [2, { count: 1, isCounting: false }],
      ]),
    );
    assert.deepEqual(await open.intake.quotas.surveysToCount(), [surveyId]);
    await announceSurvey(open.intake, { id: surveyId, revision: 3, cellQuotas: [] });
    assert.deepEqual(await counts(surveyId), {}, 'deleted quotas are forgotten');
    await open.intake.quotas.dropRequest(surveyId);
  });

  it('report by how much a count differs from the stored responses', async () => {
    const surveyId = await survey([quota(1, { limit: 9 })]);
    await send(surveyId, [1]);
    await send(surveyId, [1]);
    assert.equal(await count(surveyId, [{ code: 1, count: 2 }]), 0);
    assert.equal(await count(surveyId, [{ code: 1, count: 1 }]), 1);
    assert.deepEqual(await counts(surveyId), { 1: 1 });
  });

  it('give back every seat of a started response that ends over quota', async () => {
    const surveyId = await survey([quota(1, { counts: 'STARTED' }), quota(2, { limit: 0 })]);
    const responseId = newId();
    const started = { responseId, observedVersion: 0, outcome: 'PARTIAL' as const, savedState: '{}', digest: 'a' };
    await send(surveyId, [1, 2], started);
    assert.deepEqual(await counts(surveyId), { 1: 1, 2: 0 });
    const finished = { responseId, observedVersion: 1, heldCells: [1], digest: 'b' };
    assert.equal((await send(surveyId, [1, 2], finished)).code, 'OVER_QUOTA');
    assert.deepEqual(await counts(surveyId), { 1: 0, 2: 0 });
  });

  it('are counted once more after a deletion during a count, which is no difference', async () => {
    const surveyId = await survey([quota(1, { limit: 9 })]);
    const first = newId();
    await send(surveyId, [1], { responseId: first });
    await send(surveyId, [1]);
    const counting = await begin(surveyId);
    await remove(surveyId, first);
    assert.equal(await counting?.end([{ code: 1, version: 1, count: 2 }]), 0);
    assert.deepEqual(await open.intake.quotas.surveysToCount(), [surveyId]);
    assert.equal(await count(surveyId, [{ code: 1, count: 1 }]), 0, 'the deletion explains it');
    assert.deepEqual(await open.intake.quotas.surveysToCount(), []);
    assert.equal(await count(surveyId, [{ code: 1, count: 0 }]), 1, 'nothing explains this one');
  });

  it('are counted again after a count that was broken off, without what it had noted', async () => {
    const surveyId = await announceSurvey(open.intake, { cellQuotas: [quota(1, { limit: 9 })] });
    await begin(surveyId);
    await send(surveyId, [1]);
    assert.deepEqual(await open.intake.quotas.surveysToCount(), [surveyId]);
    const next = await begin(surveyId);
    await send(surveyId, [1]);
    await next?.end([{ code: 1, version: 1, count: 1 }]);
    assert.deepEqual(await counts(surveyId), { 1: 2 });
    const fields = await open.plain.hkeys(quotasKey(shards.of(surveyId), surveyId));
    assert.deepEqual(
      fields.filter((field) => /^(counting|[dn]\d)/.test(field)),
      [],
    );
  });

  it('announce each filling, also of a quota that was inactive in between', async () => {
    const surveyId = await survey([quota(1, { limit: 1 })]);
    const from = await position(surveyId);
    await send(surveyId, [1]);
    await announceSurvey(open.intake, { id: surveyId, revision: 2, cellQuotas: [] });
    await announceSurvey(open.intake, { id: surveyId, revision: 3, cellQuotas: [quota(1, { limit: 2, version: 2 })] });
    await count(surveyId, [{ code: 1, count: 1 }]);
    await send(surveyId, [1], { revision: 3 });
    assert.deepEqual((await stored(surveyId, from)).reached, [
      [1, 1],
      [1, 2],
    ]);
  });

  it('announce a filling by the count of stored responses, once', async () => {
    const surveyId = await announceSurvey(open.intake, {
      cellQuotas: [quota(1), quota(2), quota(3, { limit: 0 }), quota(4)],
    });
    const from = await position(surveyId);
    const stored3 = [1, 2, 3].map((code) => ({ code, count: code === 3 ? 0 : 2 }));
    await count(surveyId, [...stored3, { code: 4, count: 1 }]);
    assert.deepEqual((await stored(surveyId, from)).reached, [
      [1, 1],
      [2, 1],
    ]);
    await count(surveyId, [...stored3, { code: 4, count: 1 }]);
    await send(surveyId, [4]);
    await count(surveyId, [...stored3, { code: 4, count: 2 }]);
    assert.deepEqual((await stored(surveyId, from)).reached.slice(2), [[4, 1]], 'it was reached by a submission');
    // A seat that was given back and is taken again is another filling.
    await count(surveyId, [{ code: 1, count: 1 }, ...stored3.slice(1), { code: 4, count: 2 }]);
    await count(surveyId, [...stored3, { code: 4, count: 3 }]);
    assert.deepEqual((await stored(surveyId, from)).reached.slice(3), [[1, 2]]);
  });

  it('announce a filling by a limit that is lowered to the count, once', async () => {
    const surveyId = await survey([quota(1, { limit: 9 }), quota(2, { limit: 9 })]);
    for (const cells of [[1], [1], [1, 2]]) await send(surveyId, cells);
    const from = await position(surveyId);
    const announce = (revision: number, limit: number) =>
      announceSurvey(open.intake, { id: surveyId, revision, cellQuotas: [quota(1, { limit }), quota(2)] });
    for (const [revision, limit] of [
      [2, 4],
      [3, 2],
      [4, 1],
      [4, 1],
    ] as const)
      await announce(revision, limit);
    const entries = await open.stream.readAfter(shards.of(surveyId), from, 1000);
    assert.deepEqual(
      entries.flatMap(({ reachedQuotas }) => reachedQuotas),
      [{ surveyId, code: 1, times: 1, count: 3 }],
    );
    await announce(5, 4);
    await send(surveyId, [1], { revision: 5 });
    assert.deepEqual((await stored(surveyId, from)).reached, [
      [1, 1],
      [1, 2],
    ]);
  });

  it('close the survey when a count or a lowered limit fills one that does so', async () => {
    const closing = quota(1, { whenFull: 'CLOSE' });
    const surveyId = await announceSurvey(open.intake, { cellQuotas: [closing] });
    const filledSince = async (from: string) =>
      (await open.stream.readAfter(shards.of(surveyId), from, 1000)).flatMap(({ filled }) => filled);
    const from = await position(surveyId);
    await count(surveyId, [{ code: 1, count: 2 }]);
    assert.deepEqual(await filledSince(from), [surveyId]);
    assert.equal((await send(surveyId, [])).code, 'QUOTA');
    await announceSurvey(open.intake, { id: surveyId, revision: 2, cellQuotas: [{ ...closing, limit: 3 }] });
    assert.equal((await send(surveyId, [], { revision: 2 })).code, 'ACCEPTED');
    const later = await position(surveyId);
    await announceSurvey(open.intake, { id: surveyId, revision: 3, cellQuotas: [closing] });
    assert.deepEqual(await filledSince(later), [surveyId]);
    assert.equal((await send(surveyId, [], { revision: 3 })).code, 'QUOTA');
    // Whoever opens the survey again may let it go on, until somebody comes who fits the full quota.
    await announceSurvey(open.intake, { id: surveyId, revision: 4, cellQuotas: [closing] });
    assert.equal((await send(surveyId, [], { revision: 4 })).code, 'ACCEPTED');
  });

  it('name the same quota to a repeat, whatever has been filled since', async () => {
    const surveyId = await survey([quota(1, { limit: 1 }), quota(2, { limit: 0 })]);
    const repeat = { key: 'again', digest: 'again', responseId: newId() };
    assert.deepEqual(await send(surveyId, [1, 2], repeat).then(({ code, text }) => [code, text]), ['OVER_QUOTA', '2']);
    await send(surveyId, [1]);
    const replayed = await send(surveyId, [1, 2], repeat);
    assert.equal(replayed.code, 'REPLAY');
    assert.match(replayed.text, /^3 \S{8} 2$/);
  });

  it('let nothing be decided after the intake was emptied until the seats are counted again', async () => {
    const lost = async (cellQuotas: readonly AnnouncedQuota[], total = 2) => {
      const surveyId = newId();
      const facts = { surveyId, revision: 1, quota: null, codePositions: 3, completed: total };
      await open.intake.announce({ ...facts, total, cellQuotas });
      return surveyId;
    };
    const surveyId = await lost([quota(1)]);
    assert.equal((await send(surveyId, [1])).code, 'FROZEN');
    assert.equal((await send(surveyId, [])).code, 'FROZEN');
    assert.equal(await open.intake.isFrozen(surveyId), true);
    const counting = await begin(surveyId);
    assert.equal((await send(surveyId, [1])).code, 'FROZEN');
    await counting?.end([{ code: 1, version: 1, count: 2 }]);
    assert.equal(await open.intake.isFrozen(surveyId), false);
    assert.equal((await send(surveyId, [1])).code, 'OVER_QUOTA');
    const changed = await lost([quota(1)]);
    const stale = await begin(changed);
    await announceSurvey(open.intake, { id: changed, revision: 2, cellQuotas: [quota(1, { version: 2 })] });
    await stale?.end([{ code: 1, version: 1, count: 2 }]);
    assert.equal((await send(changed, [1], { revision: 2 })).code, 'FROZEN', 'what it counts now is not known yet');
    await announceSurvey(open.intake, { id: changed, revision: 3, cellQuotas: [] });
    assert.equal((await send(changed, [], { revision: 3 })).code, 'ACCEPTED');
    for (const free of [await lost([quota(1)], 0), await lost([quota(1, { whenFull: 'COUNT_ONLY' })]), await lost([])])
      assert.equal((await send(free, [])).code, 'ACCEPTED');
    for (const id of await open.intake.quotas.surveysToCount()) await open.intake.quotas.dropRequest(id);
  });

  it('do not begin to count when the freeze is over', async () => {
    const surveyId = await survey([quota(1)]);
    const freeze = await open.intake.freeze(surveyId, 5000);
    await freeze?.release();
    assert.equal(
      await open.intake.quotas.beginCount(surveyId, { frozen: freeze?.frozen ?? '', removals: '0' }),
      undefined,
    );
  });
});
