import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bitsPerWord } from '../../../../src/domain/questions/contract.ts';
import { csvCell } from '../../../../src/stores/clickhouse/read/csv-cells.ts';

/** The SQL of all flags of a question with so many options, and the expressions that they have named. */
function flagsOf(options: number) {
  const slots = Array.from({ length: Math.ceil(options / bitsPerWord) }, (_, slot) => slot);
  const named = new Set<string>();
  const cells = Array.from({ length: options }, (_, index) =>
    csvCell({ cell: { kind: 'flag', slots, code: index + 1 }, textOf: () => '' }, (slot) => `q${slot}`, {
      nameOf(expression) {
        named.add(expression);
        return 'is_empty';
      },
      nameOfConstant: (expression) => expression,
    }),
  );
  return { cells, named: [...named] };
}

describe('the SQL of CSV cells', () => {
  it('compares the columns of a question of many options once, not for each of them', () => {
    const { cells, named } = flagsOf(1000);
    assert.equal(cells[17], "multiIf(bitTest(q1, 1), '1', is_empty, '', '0')");
    assert.equal(named.length, 1);
    assert.ok(named[0]?.startsWith('q0 = 0 AND q1 = 0 AND '), named[0]);
    assert.ok(cells.join().length < 100_000, `${cells.join().length} characters`);
  });

  it('needs no name for a question whose options fit into one column', () => {
    const { cells, named } = flagsOf(3);
    assert.equal(cells[2], "multiIf(bitTest(q0, 2), '1', q0 = 0, '', '0')");
    assert.deepEqual(named, []);
  });
});
