import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createCodeColumns, fitPartSize } from '../../../../src/stores/clickhouse/schema/code-columns.ts';

/** As much of a statement as a server reads of itself. */
const maxQueryBytes = 262_144;

/** A table that grows, and is set, as its statements say. */
function fakeTable(columns: number) {
  const present = new Set(Array.from({ length: columns }, (_, slot) => `c${slot}`));
  const statements: string[] = [];
  const state = { isBusy: false, engine: 'ReplacingMergeTree(version, is_deleted) ORDER BY id' };
  const clickhouse: Partial<ClickHouse> = {
    database: 'd',
    table: (table) => `d.${table}`,
    async select<Row extends readonly unknown[]>(sql: string) {
      return [[sql.includes('system.tables') ? state.engine : present.size]] as unknown as Row[];
    },
    async command(sql) {
      assert.ok(Buffer.byteLength(sql) < maxQueryBytes, `a statement of ${Buffer.byteLength(sql)} bytes`);
      statements.push(sql);
      for (const [, column = ''] of sql.matchAll(/ADD COLUMN IF NOT EXISTS (c\d+) /g)) present.add(column);
      const setting = /MODIFY SETTING (.*)$/.exec(sql)?.[1];
      if (setting === undefined) return;
      if (state.isBusy) throw new Error('busy');
      state.engine = `ReplacingMergeTree(version, is_deleted) ORDER BY id SETTINGS index_granularity = 8192, ${setting}`;
    },
  };
  return { clickhouse: clickhouse as ClickHouse, present, statements, state };
}

describe('the columns of code positions', () => {
  it('are added by statements of bounded length, however many are missing', async () => {
    const { clickhouse, present, statements } = fakeTable(64);
    await createCodeColumns(clickhouse).ensure(20_001);
    assert.equal(present.size, 20_032);
    assert.match(statements.at(-1) ?? '', /MODIFY SETTING min_bytes_for_wide_part = 3282042880$/);
  });

  it('are not changed if there are enough', async () => {
    const { clickhouse, statements, state } = fakeTable(256);
    state.engine += ` SETTINGS min_bytes_for_wide_part = ${256 * 160 * 1024}`;
    await createCodeColumns(clickhouse).ensure(200);
    assert.deepEqual(statements, []);
  });
});

describe('the minimum size of wide parts', () => {
  it('is set once when migrating a table with more columns', async () => {
    const { clickhouse, statements } = fakeTable(2048);
    for (let start = 0; start < 2; start += 1) await fitPartSize(clickhouse);
    assert.deepEqual(statements, ['ALTER TABLE d.responses MODIFY SETTING min_bytes_for_wide_part = 335544320']);
  });

  it('is left at its default for a table without further columns', async () => {
    const { clickhouse, statements } = fakeTable(64);
    await fitPartSize(clickhouse);
    assert.deepEqual(statements, []);
  });

  it('is set by the next batch if the server was busy after adding columns', async () => {
    const { clickhouse, statements, state } = fakeTable(64);
    const columns = createCodeColumns(clickhouse);
    state.isBusy = true;
    await assert.rejects(columns.ensure(100), /busy/);
    state.isBusy = false;
    await columns.ensure(100);
    await columns.ensure(100);
    assert.deepEqual(
      statements.map((sql) => /ADD COLUMN|min_bytes_for_wide_part = \d+/.exec(sql)?.[0]),
      ['ADD COLUMN', ...Array(2).fill('min_bytes_for_wide_part = 20971520')],
    );
  });
});
