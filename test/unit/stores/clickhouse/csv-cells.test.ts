import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bitsPerWord } from '../../../../src/domain/questions/contract.ts';
import { csvCells } from '../../../../src/stores/clickhouse/read/csv-cells.ts';

/** The SQL of all flags of a question with so many options, and the expressions that they have named. */
function flagsOf(options: number) {
  const slots = Array.from({ length: Math.ceil(options / bitsPerWord) }, (_, slot) => slot);
  const named = new Set<string>();
  const columns = Array.from({ length: options }, (_, index) => ({
    cell: { kind: 'flag' as const, slots, code: index + 1 },
    textOf: () => '',
  }));
  const cells = csvCells(columns, (slot) => `q${slot}`, {
    nameOf(expression) {
      named.add(expression);
      return 'is_empty';
    },
    nameOfConstant: (expression) => expression,
  });
  return { cells, named: [...named] };
}

describe('the SQL of CSV cells', () => {
  it('compares the columns of a question of many options once, not for each of them', () => {
    const { cells, named } = flagsOf(1000);
    assert.equal(cells.length, Math.ceil(1000 / bitsPerWord));
    assert.match(
      cells[1] ?? '',
      /^multiIf\(is_empty, ',{15}', arrayStringConcat\(arrayMap\(bit -> if\(bitTest\(q1, bit\)/,
    );
    assert.equal(named.length, 1);
    assert.ok(named[0]?.startsWith('q0 = 0 AND q1 = 0 AND '), named[0]);
    assert.ok(cells.join().length < 20_000, `${cells.join().length} characters`);
  });

  it('needs no name for a question whose options fit into one column', () => {
    const { cells, named } = flagsOf(3);
    assert.match(cells.join(), /^multiIf\(q0 = 0, ',,', arrayStringConcat\(.+, \[0, 1, 2\]\), ','\)\)$/);
    assert.deepEqual(named, []);
  });

  it('joins flags of one question only, in the order of the columns', () => {
    const flag = (slots: number[], code: number) => ({
      cell: { kind: 'flag' as const, slots, code },
      textOf: () => '',
    });
    const [first, second] = [[0], [1]];
    const columns = [flag(first, 2), flag(first, 1), flag(second, 1), { field: 'id' as const }, flag(second, 2)];
    const names = { nameOf: (text: string) => text, nameOfConstant: (text: string) => text };
    const cells = csvCells(columns, (slot) => `q${slot}`, names);
    assert.deepEqual(
      cells.map((cell) => [/q\d/.exec(cell)?.[0], /\[[\d, ]+\]/.exec(cell)?.[0]]),
      [
        ['q0', '[1, 0]'],
        ['q1', '[0]'],
        [undefined, undefined],
        ['q1', '[1]'],
      ],
    );
  });
});
