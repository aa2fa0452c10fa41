import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPace } from '../../../src/webhooks/pace.ts';

const looks = 4;

/** `second` sends so many requests a quarter of a second, or as many as the pace allows, under load or not. */
function usePace(t: TestContext, leastPerSecond: number) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let isLoaded: boolean | Error = false;
  let asked = 0;
  const pace = createPace({
    leastPerSecond,
    isUnderLoad: async () => {
      asked += 1;
      if (isLoaded instanceof Error) throw isLoaded;
      return isLoaded;
    },
  });
  return {
    pace,
    asked: () => asked,
    async look({ load, wanted }: { load: boolean | Error; wanted: number }): Promise<number> {
      isLoaded = load;
      for (let n = 0; n < Math.min(wanted, pace.perSecond() / looks); n += 1) pace.begin();
      t.mock.timers.tick(1000 / looks);
      await nextTurn();
      return Math.round(pace.perSecond());
    },
  };
}

describe('the pace of webhooks', () => {
  it('is halved at each look while respondents need the machine, down to the least', async (t) => {
    const { look } = usePace(t, 50);
    assert.equal(await look({ load: false, wanted: 250 }), Number.POSITIVE_INFINITY);
    const seen = [];
    for (let n = 0; n < 6; n += 1) seen.push(await look({ load: true, wanted: 250 }));
    assert.deepEqual(seen, [500, 250, 125, 63, 50, 50]);
  });

  it('is never below the least, however little went out', async (t) => {
    const { look } = usePace(t, 50);
    assert.equal(await look({ load: true, wanted: 1 }), 50);
  });

  it('grows by a tenth at each look afterwards, until there is no limit', async (t) => {
    const { look } = usePace(t, 50);
    await look({ load: true, wanted: 20 });
    assert.equal(await look({ load: false, wanted: 250 }), 55);
    assert.equal(await look({ load: false, wanted: 250 }), 61);
    for (let n = 0; n < 60; n += 1) await look({ load: false, wanted: 250 });
    assert.equal(await look({ load: false, wanted: 250 }), Number.POSITIVE_INFINITY);
  });

  it('is not slowed while the load cannot be told', async (t) => {
    const { look } = usePace(t, 50);
    assert.equal(await look({ load: new Error('no intake'), wanted: 250 }), Number.POSITIVE_INFINITY);
  });

  it('is not looked at while nothing goes out', async (t) => {
    const { look, asked } = usePace(t, 50);
    await look({ load: false, wanted: 0 });
    assert.equal(asked(), 0);
    await look({ load: false, wanted: 1 });
    await look({ load: false, wanted: 0 });
    const before = asked();
    await look({ load: true, wanted: 0 });
    assert.equal(asked(), before);
  });
});
