import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createExportRows } from '../../../../src/stores/clickhouse/read/export-rows.ts';

const surveyId = '01900000-0000-7000-8000-000000000001';
const steps = 8;
const rowsPerStep = 2500;

interface Given {
  codes?: number[];
  metadata?: Record<string, string>;
  text?: string;
}

/**
 * How many steps of 2,500 rows each span has that is read for a file of such responses, and how many statements ran or
 * waited when the first batch of the second span was given.
 */
async function spansOf({ codes = [1], metadata = {}, text = '' }: Given) {
  const read: number[] = [];
  const row = ['s', 'r', 0, 1, 1, 1, 0, 0, 0, 'en', '', metadata, [], [text], codes];
  const clickhouse = {
    database: 'survey',
    table: (name: string) => name,
    select: async (sql: string) => {
      if (sql.includes('system.columns')) return [[1024]];
      return Array.from({ length: steps - 1 }, (_, index) => [1000 + index]);
    },
    selectUpTo: async (sql: string) => {
      const [from, to] = ['>=', '<'].map(
        (sign) => sql.match(new RegExp(`submitted_at ${sign} .*?toInt64\\((\\d+)\\)`))?.[1],
      );
      read.push((to === undefined ? steps : Number(to) - 999) - (from === undefined ? 0 : Number(from) - 999));
      return { rows: Array.from({ length: (read.at(-1) ?? 0) * rowsPerStep }, () => row), isWhole: true };
    },
  };
  const rows = createExportRows({ clickhouse: clickhouse as unknown as ClickHouse });
  let given = 0;
  let begun = 0;
  for await (const batch of rows.batches({ surveyId }, codes.length)) {
    given += batch.length;
    if (begun === 0 && given > rowsPerStep) begun = read.length;
  }
  assert.equal(given, steps * rowsPerStep);
  return { read, begun };
}

describe('the spans in which responses are read for a file', () => {
  it('have ten thousand short responses, and one is read ahead', async () => {
    assert.deepEqual(await spansOf({}), { read: [1, 4, 3], begun: 3 });
  });

  it('have fewer responses of many positions, large metadata or long texts', async () => {
    const wide = await spansOf({ codes: Array.from({ length: 150 }, () => 1) });
    assert.deepEqual(wide.read, [1, 1, 1, 1, 1, 1, 1, 1]);
    const described = await spansOf({ metadata: { a: 'x'.repeat(400), b: 'y'.repeat(400) } });
    assert.deepEqual(described.read, wide.read);
    assert.deepEqual((await spansOf({ text: 'x'.repeat(800) })).read, wide.read);
  });

  it('are not read ahead where one step alone is over the limit', async () => {
    assert.equal((await spansOf({ codes: Array.from({ length: 1000 }, () => 1) })).begun, 2);
    assert.equal((await spansOf({ text: 'x'.repeat(3000) })).begun, 2);
  });
});
