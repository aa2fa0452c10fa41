import assert from 'node:assert/strict';
import { it } from 'node:test';
import { boundCounts, type CountBounds, countsAtOnce } from '../../../src/stores/bounded-counts.ts';
import { eventually } from '../../support/eventually.ts';

/** Counts that end when they are told to. */
function createCounts(bounds: CountBounds) {
  const endings: (() => void)[] = [];
  const world = { begun: 0 };
  const count = () => {
    world.begun += 1;
    return new Promise<never>((resolve) => endings.push(resolve as () => void));
  };
  const stores = { totals: { countSurvey: count }, crosstab: { countBanner: count, lacksMetadataKey: count } as never };
  return { world, endings, ...boundCounts(stores, bounds) };
}

it('a few surveys are counted at once, in totals and crosstabs together, and the others in their turn', async () => {
  const { world, endings, totals, crosstab } = createCounts({ atOnce: 6 });
  const counts = Array.from({ length: 10 }, (_, n) =>
    n % 2 === 0 ? totals.countSurvey({} as never) : crosstab.countBanner({} as never),
  );
  await eventually(() => assert.equal(world.begun, 6));
  for (const end of endings.splice(0, 3)) end();
  await eventually(() => assert.equal(world.begun, 9));
  endings.shift()?.();
  await eventually(() => assert.equal(world.begun, 10));
  for (const end of endings) end();
  await Promise.all(counts);
});

it('a count that waits too long is refused, and is not begun later', async () => {
  const { world, endings, totals } = createCounts({ atOnce: 1, maxWaitMs: 20 });
  const first = totals.countSurvey({} as never);
  await assert.rejects(totals.countSurvey({} as never), { code: 'SERVICE_UNAVAILABLE' });
  endings.shift()?.();
  await first;
  const next = totals.countSurvey({} as never);
  await eventually(() => assert.equal(world.begun, 2));
  endings.shift()?.();
  await next;
});

it('processes share the places of an embedded ClickHouse, and a server of its own has more', () => {
  const counts = [1, 2, 8].map((processes) => countsAtOnce({ isEmbedded: true, processes }));
  assert.deepEqual([...counts, countsAtOnce({ isEmbedded: false, processes: 8 })], [6, 3, 1, 24]);
});
