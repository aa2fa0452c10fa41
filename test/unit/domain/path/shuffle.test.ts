import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createGenerator, seedOf, shuffled } from '../../../../src/domain/path/shuffle.ts';
import { assetPath } from '../../../../src/platform/assets.ts';

const page = readFileSync(assetPath('docs/guide/shuffled-order.md'), 'utf8');
/** Rows of the table: response's id, scope, and what the programs print. */
const vectors = [...page.matchAll(/^\| `([0-9a-f-]{36})` \| `([^`]+)` \| (\d+) \| (\w+) \| (\w+) \|$/gm)].map(
  ([, responseId = '', scope = '', ...printed]) => ({ responseId, scope, printed: printed.join(' ') }),
);
const programOf = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '';

describe('the documented order of shuffled items', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'shuffled-order-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is that of the service', () => {
    assert.equal(vectors.length, 3);
    for (const { responseId, scope, printed } of vectors) {
      const seed = seedOf(responseId, scope);
      const items = [...'ABCDEFG'];
      const order = shuffled(items, () => false, seed).join('');
      const anchored = shuffled(items, (item) => item === 'A' || item === 'G', seed).join('');
      assert.equal([seed, order, anchored].join(' '), printed);
      assert.equal(seedOf(responseId.toUpperCase(), scope), seed);
    }
    const next = createGenerator(704_110_377);
    assert.deepEqual([next(), next(), next()], [2_000_885_399, 2_040_542_382, 737_634_694]);
  });

  /** Runs a program for each vector; the reason if the machine has nothing to run it with. */
  function run(command: string, leading: readonly string[]): string | undefined {
    for (const { responseId, scope, printed } of vectors) {
      const { error, status, stdout } = spawnSync(command, [...leading, responseId, scope], { encoding: 'utf8' });
      if (error) return `there is no ${command} here`;
      assert.deepEqual({ status, printed: stdout.trim() }, { status: 0, printed });
    }
    return undefined;
  }

  it('is that of the program in JavaScript', () => {
    const file = join(folder, 'order.mjs');
    writeFileSync(file, programOf('js'));
    assert.equal(run(process.execPath, [file]), undefined);
  });

  it('is that of the program in Python', (context) => {
    const reason = run('python3', ['-c', programOf('python')]);
    if (reason !== undefined) context.skip(reason);
  });

  it('is that of the program in C', (context) => {
    const [source, program] = [join(folder, 'order.c'), join(folder, 'order')];
    writeFileSync(source, programOf('c'));
    const { error, status, stderr } = spawnSync('cc', ['-Wall', '-Werror', '-o', program, source], {
      encoding: 'utf8',
    });
    if (error) context.skip('there is no cc here');
    else {
      assert.equal(status, 0, stderr);
      assert.equal(run(program, []), undefined);
    }
  });
});

describe('a shuffle', () => {
  const items = [0, 1, 2, 3];

  it('shows each order as often as any other', () => {
    const counts = new Map<string, number>();
    const responses = 24_000;
    for (let n = 0; n < responses; n += 1) {
      const id = `0190a5b4-7c1e-7d3a-9f00-${n.toString(16).padStart(12, '0')}`;
      const order = shuffled(items, () => false, seedOf(id, 'sections')).join('');
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    const expected = responses / 24;
    const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    assert.equal(counts.size, 24);
    assert.ok(chiSquare < 49.7, `χ² of 23 degrees of freedom is ${chiSquare} (0.1 %: 49.7)`);
  });

  it('keeps anchored items where they are, and takes any number of items', () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const order = shuffled(items, (item) => item === 1 || item === 3, seed);
      assert.deepEqual([order[1], order[3]], [1, 3]);
      assert.deepEqual(order.toSorted(), items);
    }
    assert.deepEqual(
      shuffled([], () => false, 1),
      [],
    );
    assert.deepEqual(
      shuffled(['one'], () => false, 1),
      ['one'],
    );
  });
});
