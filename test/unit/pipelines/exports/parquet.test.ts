import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parquetMetadata } from 'hyparquet';
import type { FileColumn } from '../../../../src/pipelines/exports/columns.ts';
import { writeParquet } from '../../../../src/pipelines/exports/parquet.ts';
import type { FileContent } from '../../../../src/pipelines/exports/writer.ts';
import type { ResponseRecord } from '../../../../src/stores/clickhouse/responses.ts';

const story = (text: string) => [{ heading: 'story', type: 'text', read: () => text }];
const numbers = (amount: number) =>
  Array.from({ length: amount }, (_, index) => ({ heading: `number ${index}`, type: 'number', read: () => index }));

const ranks = (amount: number) =>
  Array.from({ length: amount }, (_, index) => ({
    heading: `rank ${index}`,
    type: 'number',
    answer: { question: {}, column: { cell: { kind: 'rank' } } },
    read: () => 1 + (index % 9),
  }));

const choices = (amount: number) =>
  Array.from({ length: amount }, (_, index) => ({
    heading: `choice ${index}`,
    type: 'text',
    answer: { question: {}, column: { cell: { kind: 'choice' } } },
    read: () => 'Neither satisfied nor dissatisfied',
  }));

const statuses = (amount: number) =>
  Array.from({ length: amount }, (_, index) => ({
    heading: `choice ${index} (status)`,
    type: 'text',
    isStatus: true,
    read: () => 'NOT_ASKED',
  }));

async function groupsOf(rows: number, given: object[], expectedRows = rows) {
  const columns = given as unknown as FileColumn[];
  const batches = (async function* () {
    for (let left = rows; left > 0; left -= 700)
      yield Array.from({ length: Math.min(700, left) }, () => ({}) as ResponseRecord);
  })();
  const pieces: Uint8Array[] = [];
  await writeParquet({ layout: { columns }, batches, expectedRows } as unknown as FileContent, {
    write: async (bytes) => void pieces.push(bytes),
  });
  const file = Uint8Array.from(Buffer.concat(pieces));
  return parquetMetadata(file.buffer).row_groups;
}

const rowsOfGroups = async (rows: number, given: object[]): Promise<number[]> =>
  (await groupsOf(rows, given)).map(({ num_rows }) => Number(num_rows));

describe('the row groups of a PARQUET file', () => {
  it('hold ten thousand rows, or fewer long or wide ones, because a group is held in memory', async () => {
    assert.deepEqual(await rowsOfGroups(10_500, story('short')), [10_000, 500]);
    assert.deepEqual(await rowsOfGroups(400, story('x'.repeat(100_000))), [160, 160, 80]);
    assert.deepEqual(await rowsOfGroups(4500, numbers(1000)), [4000, 500]);
  });

  it('hold more rows where codes stand for their cells, so that the footer describes fewer groups', async () => {
    assert.deepEqual(await rowsOfGroups(6500, ranks(2000)), [6000, 500]);
  });

  it('hold as many rows of choices and statuses, whose texts all responses share', async () => {
    assert.deepEqual(await rowsOfGroups(6500, [...choices(1000), ...statuses(1000)]), [6000, 500]);
  });

  it('are described without their least and greatest values where there are very many of them', async () => {
    const statisticsOf = async (expectedRows: number) =>
      (await groupsOf(1, ranks(2000), expectedRows))[0]?.columns[7]?.meta_data?.statistics?.max_value;
    assert.equal(await statisticsOf(100_000), 8);
    assert.equal(await statisticsOf(160_000), undefined);
  });

  it('are described without them from where long answers make the groups more than was expected', async () => {
    const groups = await groupsOf(3, [...ranks(20_000), ...story('x'.repeat(16_000_000))]);
    const greatest = groups.map(({ columns }) => columns[7]?.meta_data?.statistics?.max_value);
    assert.deepEqual(greatest, [8, 8, undefined]);
  });

  it('are refused before the first one where the footer would outgrow the memory', async () => {
    await assert.rejects(groupsOf(1, ranks(2000), 1_000_000), {
      name: 'PermanentFailure',
      message: /^A PARQUET file of so many columns and responses cannot be made: ask for fewer columns/,
    });
  });
});
