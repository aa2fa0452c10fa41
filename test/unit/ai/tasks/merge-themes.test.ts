import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergeThemesTask } from '../../../../src/ai/tasks/merge-themes.ts';

/** The merges that a reply about these names leads to. */
function read({ settled = [], fresh }: { settled?: string[]; fresh: string[] }, same: unknown) {
  const outcome = mergeThemesTask({ settled, fresh }).read({ same });
  return 'value' in outcome ? Object.fromEntries(outcome.value.map(({ name, into }) => [name, into])) : outcome.wrong;
}

describe('the merging of themes that mean the same', () => {
  it('keeps of each group the most frequent name, however its pairs are given', () => {
    const fresh = ['Price', 'Food', 'Pricing', 'Too expensive'];
    const wanted = { Pricing: 'Price', 'Too expensive': 'Price' };
    for (const same of [
      [
        { n: 3, as: 1 },
        { n: 4, as: 1 },
      ],
      [
        { n: 4, as: 3 },
        { n: 3, as: 1 },
      ],
      [
        { n: 3, as: 4 },
        { n: 4, as: 1 },
      ],
      [
        { n: 1, as: 3 },
        { n: 3, as: 4 },
        { n: 4, as: 1 },
      ],
    ])
      assert.deepEqual(read({ fresh }, same), wanted, JSON.stringify(same));
  });

  it('never moves a settled name, not even where a new one stands between two', () => {
    assert.deepEqual(
      read({ settled: ['Food', 'Price'], fresh: ['Costs'] }, [
        { n: 1, as: 2 },
        { n: 2, as: 3 },
      ]),
      { Costs: 'Price' },
    );
    assert.deepEqual(
      read({ settled: ['Food', 'Price'], fresh: ['Costs'] }, [
        { n: 3, as: 2 },
        { n: 3, as: 1 },
      ]),
      { Costs: 'Price' },
    );
  });

  it('leaves every other name as it is', () => {
    assert.deepEqual(read({ fresh: ['Price', 'Food'] }, []), {});
    assert.deepEqual(read({ fresh: ['Price', 'Food'] }, [{ n: 2, as: 2 }]), {});
  });

  it('rejects unknown numbers and other values', () => {
    assert.deepEqual(read({ fresh: ['Price', 'Food'] }, [{ n: 3, as: 1 }]), ['there is no theme 3']);
    assert.deepEqual(read({ fresh: ['Price', 'Food'] }, [{ n: 0, as: 1 }]), ['there is no theme 0']);
    for (const same of [undefined, [{ n: '2', as: 1 }], [{ n: 1.5, as: 1 }], [{ n: 2, into: 'Everything' }]])
      assert.ok(Array.isArray(read({ fresh: ['Price', 'Food'] }, same)));
  });
});
