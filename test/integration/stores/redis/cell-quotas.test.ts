import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import type { AnnouncedQuota } from '../../../../src/stores/redis/intake/scripts.ts';
import { quota, useCellQuotas } from '../../../support/cell-quotas.ts';
import { announceSurvey, type OpenIntake } from '../../../support/intake.ts';

describe('quotas by cell in the intake', () => {
  let open: OpenIntake;
  const { shards, survey, count, send, counts, stored, position } = useCellQuotas((opened) => (open = opened));

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
    assert.equal(await open.intake.filling(surveyId), undefined);
    assert.equal((await send(surveyId, [1], { revision: 2, key: 'x', digest: 'x' })).code, 'QUOTA');
    assert.equal((await send(surveyId, [1], { revision: 2 })).code, 'QUOTA');
  });

  it('leave the survey filled when another change is announced, until it is closed or they have free seats', async () => {
    const closing = quota(1, { whenFull: 'CLOSE', limit: 1 });
    const surveyId = await survey([closing, quota(2)]);
    assert.equal((await send(surveyId, [1])).code, 'FILLED');
    let revision = 1;
    const announced = async (change: Partial<AnnouncedQuota>, isClosable = true) => {
      revision += 1;
      const cellQuotas = [{ ...closing, ...change }, quota(2)];
      await announceSurvey(open.intake, { id: surveyId, revision, cellQuotas, isClosable });
      return (await open.intake.filling(surveyId))?.revision === revision;
    };
    assert.equal(await announced({}), true);
    assert.equal((await send(surveyId, [2], { revision })).code, 'QUOTA');
    assert.equal(await announced({ name: 'Another' }), true);
    assert.equal(await announced({ limit: 2 }), false);
    assert.equal((await send(surveyId, [1], { revision })).code, 'FILLED');
    assert.equal(await announced({ limit: 2, whenFull: 'OVER_QUOTA' }), false);
    assert.equal((await send(surveyId, [2], { revision })).code, 'ACCEPTED');
    assert.equal(await announced({ limit: 1 }), true, 'a full one closes the survey from now on');
    assert.equal(await announced({ limit: 1 }, false), false);
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
      [{ surveyId, code: 1, times: 1, count: 3, quota: { id: 'quota-1', name: 'Quota 1', limit: 2 } }],
    );
    await announce(5, 4);
    await send(surveyId, [1], { revision: 5 });
    assert.deepEqual((await stored(surveyId, from)).reached, [
      [1, 1],
      [1, 2],
    ]);
  });

  it('say what they were when they were reached, whatever is announced of them since', async () => {
    const named = { id: newId(), name: 'Women, 18–39: “North”, 50 %' };
    const surveyId = await survey([quota(1, { ...named, limit: 1 })]);
    const from = await position(surveyId);
    await send(surveyId, [1]);
    const changed = [quota(1, { ...named, name: 'Women', limit: 2 })];
    await announceSurvey(open.intake, { id: surveyId, revision: 2, cellQuotas: changed });
    await send(surveyId, [1], { revision: 2 });
    await announceSurvey(open.intake, { id: surveyId, revision: 3, cellQuotas: [] });
    const entries = await open.stream.readAfter(shards.of(surveyId), from, 1000);
    assert.deepEqual(
      entries.flatMap(({ reachedQuotas }) => reachedQuotas.map(({ count, quota: then }) => [count, then])),
      [
        [1, { ...named, limit: 1 }],
        [2, { ...named, name: 'Women', limit: 2 }],
      ],
    );
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
});
