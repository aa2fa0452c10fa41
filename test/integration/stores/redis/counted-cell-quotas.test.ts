import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import type { AnnouncedQuota } from '../../../../src/stores/redis/intake/scripts.ts';
import { quotasKey } from '../../../../src/stores/redis/intake/shards.ts';
import { quota, useCellQuotas } from '../../../support/cell-quotas.ts';
import { announceSurvey, type OpenIntake } from '../../../support/intake.ts';

describe('quotas by cell when stored responses are counted', () => {
  let open: OpenIntake;
  const { shards, survey, begin, remove, count, send, counts, stored, position } = useCellQuotas(
    (opened) => (open = opened),
  );

  /** Other tests have surveys in the same intake. */
  const isToCount = async (surveyId: string) => (await open.intake.quotas.surveysToCount()).includes(surveyId);

  it('limit nobody while the responses of before are being counted, and then exactly', async () => {
    const surveyId = await announceSurvey(open.intake, { cellQuotas: [quota(1, { limit: 3 })] });
    assert.ok(await isToCount(surveyId));
    const counting = await begin(surveyId);
    await send(surveyId, [1]);
    assert.deepEqual(await open.intake.quotas.counts(surveyId), new Map([[1, { count: 1, isCounting: true }]]));
    await counting?.end([{ code: 1, version: 1, count: 1 }]);
    assert.deepEqual(await open.intake.quotas.counts(surveyId), new Map([[1, { count: 2, isCounting: false }]]));
    assert.ok(!(await isToCount(surveyId)));
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
    assert.ok(await isToCount(surveyId));
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

  it('keep the seats of responses that may lack among the stored ones, and those only', async () => {
    const surveyId = await survey([quota(1, { limit: 9 }), quota(2, { limit: 9, counts: 'STARTED' })]);
    for (let sent = 0; sent < 4; sent += 1) await send(surveyId, [1, 2]);
    const counted: unknown[] = [];
    for (const [stored, total, completed] of [
      [0, 9, 9],
      [1, 1, 2],
      [2, 1, 0],
      [1, 0, 1],
      [2, 0, 0],
      [3, 2, 2],
    ] as const) {
      const counting = await begin(surveyId);
      if (stored === 3) await send(surveyId, [1, 2]);
      const cells = [1, 2].map((code) => ({ code, version: 1, count: stored }));
      await counting?.end(cells, { total, completed });
      counted.push(Object.values(await counts(surveyId)));
    }
    assert.deepEqual(counted, [
      [4, 4],
      [3, 4],
      [2, 3],
      [2, 2],
      [2, 2],
      [4, 4],
    ]);
  });

  it('are counted once more after a deletion during a count, which is no difference', async () => {
    const surveyId = await survey([quota(1, { limit: 9 })]);
    const first = newId();
    await send(surveyId, [1], { responseId: first });
    await send(surveyId, [1]);
    const counting = await begin(surveyId);
    await remove(surveyId, first);
    assert.equal(await counting?.end([{ code: 1, version: 1, count: 2 }]), 0);
    assert.ok(await isToCount(surveyId));
    assert.equal(await count(surveyId, [{ code: 1, count: 1 }]), 0, 'the deletion explains it');
    assert.ok(!(await isToCount(surveyId)));
    assert.equal(await count(surveyId, [{ code: 1, count: 0 }]), 1, 'nothing explains this one');
  });

  it('are counted again after a count that was broken off, without what it had noted', async () => {
    const surveyId = await announceSurvey(open.intake, { cellQuotas: [quota(1, { limit: 9 })] });
    await begin(surveyId);
    await send(surveyId, [1]);
    assert.ok(await isToCount(surveyId));
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
