import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import { createCodeColumns } from '../../src/stores/clickhouse/code-columns.ts';

/** As much of a statement as a server reads of itself. */
const maxQueryBytes = 262_144;

/** A table that grows as its statements say. */
function fakeTable(columns: number) {
  const present = new Set(Array.from({ length: columns }, (_, slot) => `c${slot}`));
  const statements: string[] = [];
  const clickhouse: Partial<ClickHouse> = {
    database: 'd', table: (table) => `d.${table}`,
    async select<Row extends readonly unknown[]>() {
      return [[present.size]] as unknown as Row[];
    },
    async command(sql) {
      assert.ok(Buffer.byteLength(sql) < maxQueryBytes, `a statement of ${Buffer.byteLength(sql)} bytes`);
      statements.push(sql);
      for (const [, column = ''] of sql.matchAll(/ADD COLUMN IF NOT EXISTS (c\d+) /g)) present.add(column);
    },
  };
  return { clickhouse: clickhouse as ClickHouse, present, statements };
}

describe('the columns of code positions', () => {
  it('are added by statements that a server can read, however many are missing', async () => {
    const { clickhouse, present, statements } = fakeTable(64);
    await createCodeColumns(clickhouse).ensure(20_001);
    assert.equal(present.size, 20_032);
    assert.match(statements.at(-1) ?? '', /MODIFY SETTING min_bytes_for_wide_part = 3282042880$/);
  });

  it('are left alone when there are enough', async () => {
    const { clickhouse, statements } = fakeTable(256);
    await createCodeColumns(clickhouse).ensure(200);
    assert.deepEqual(statements, []);
  });
});
