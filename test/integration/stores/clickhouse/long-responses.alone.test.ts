import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { ExportCell } from '../../../../src/domain/questions/contract.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { ClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import type { CsvColumn } from '../../../../src/stores/clickhouse/read/csv-cells.ts';
import { createExportRows } from '../../../../src/stores/clickhouse/read/export-rows.ts';
import type { ResponseRecord } from '../../../../src/stores/clickhouse/read/record.ts';
import { createResponseStore } from '../../../../src/stores/clickhouse/responses.ts';
import {
  givenStart,
  type ResponseDatabase,
  responseLine,
  useResponseDatabase,
} from '../../../support/response-database.ts';

/** Together more than a piece of a list, and more than is read at once of a walk or a file. */
const [amount, textBytes] = [40, 1024 * 1024];
const mebibyte = 1024 * 1024;
const textCell: ExportCell = { kind: 'text', presence: 0, slot: 0, form: 'text' };

describe('responses that are too long to be held together', () => {
  let database: ResponseDatabase;
  let surveyId: string;
  useResponseDatabase((opened) => {
    database = opened;
  });
  before(async () => {
    // Two for each millisecond.
    const responses = Array.from({ length: amount }, (_, n) => ({
      submittedAtMs: givenStart + Math.floor(n / 2),
      codes: [1],
      texts: [`${n} `.padEnd(textBytes, 'long ')],
    }));
    surveyId = newId();
    const lines = responses.map((response) => responseLine({ surveyId, ...response }));
    for (let at = 0; at < amount; at += 10) await database.store(lines.slice(at, at + 10));
  });

  /** The database, and the size of the largest result that was read from it. */
  function measured() {
    const size = { largest: 0, queries: 0 };
    const measure = <Rows extends readonly unknown[]>(rows: Rows): Rows => {
      size.largest = Math.max(
        size.largest,
        rows.reduce<number>((sum, row) => sum + JSON.stringify(row).length, 0),
      );
      return rows;
    };
    const { clickhouse } = database;
    const reading: ClickHouse = {
      ...clickhouse,
      select: async (sql, options) => measure(await clickhouse.select(sql, options)),
      selectUpTo: async (sql, maxBytes, options) => {
        size.queries += 1;
        const result = await clickhouse.selectUpTo<never>(sql, maxBytes, options);
        return { ...result, rows: measure(result.rows) };
      },
      bytes: async (sql, format, maxBytes, options) => {
        size.queries += 1;
        const result = await clickhouse.bytes(sql, format, maxBytes, options);
        size.largest = Math.max(
          size.largest,
          result.pieces.reduce((sum, piece) => sum + piece.length, 0),
        );
        return result;
      },
    };
    return { reading, size };
  }

  const numbersOf = (records: readonly ResponseRecord[]) =>
    records.map(({ row }) => Number.parseInt(row.texts[0] ?? '', 10));
  const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
  const all = Array.from({ length: amount }, (_, n) => n);
  const isInOrder = (records: readonly ResponseRecord[]) =>
    records.every(({ submittedAt }, n) => submittedAt <= (records[n + 1]?.submittedAt ?? submittedAt));

  it('are listed in pieces, newest first, each once', async () => {
    const { reading, size } = measured();
    const { records, rest, total } = await createResponseStore({ clickhouse: reading }).list({ surveyId, limit: 100 });
    const listed = [...records];
    assert.ok(rest);
    for await (const piece of rest) listed.push(...piece.records);
    assert.deepEqual([total, sorted(numbersOf(listed))], [amount, all]);
    assert.ok(isInOrder(listed.reverse()));
    assert.ok(size.largest <= 6 * mebibyte, `${size.largest} bytes at once`);
  });

  it('are walked in bounded memory, in order, each once', async () => {
    const { reading, size } = measured();
    const walked: ResponseRecord[] = [];
    for await (const record of createResponseStore({ clickhouse: reading }).stream({ surveyId })) walked.push(record);
    assert.deepEqual(sorted(numbersOf(walked)), all);
    assert.ok(isInOrder(walked));
    assert.ok(size.largest <= 34 * mebibyte, `${size.largest} bytes at once`);
  });

  it('are read for a file in bounded memory, in order, each once', async () => {
    const { reading, size } = measured();
    const exported: ResponseRecord[] = [];
    for await (const batch of createExportRows({ clickhouse: reading }).batches({ surveyId }, 1))
      exported.push(...batch);
    assert.deepEqual(sorted(numbersOf(exported)), all);
    assert.ok(isInOrder(exported));
    assert.ok(size.largest <= 34 * mebibyte, `${size.largest} bytes at once`);
  });

  it('cost few queries where they stand among many short ones, in a list, a walk and a file', async () => {
    const mixed = newId();
    const lines = Array.from({ length: 2000 }, (_, n) =>
      responseLine({
        surveyId: mixed,
        submittedAtMs: givenStart + n,
        codes: [1],
        // The oldest for the walk and the file, the newest for the list.
        texts: [n < amount || n >= 1990 ? `${n} `.padEnd(textBytes, 'long ') : `${n}`],
      }),
    );
    for (const [from, to] of [
      [0, 20],
      [20, 1990],
      [1990, 2000],
    ])
      await database.store(lines.slice(from, to));
    const { reading, size } = measured();
    const store = createResponseStore({ clickhouse: reading });
    const queriesOf = async (read: () => Promise<number>, rows: number): Promise<number> => {
      size.queries = 0;
      assert.equal(await read(), rows);
      return size.queries;
    };
    const counts = [
      await queriesOf(async () => {
        const { records, rest } = await store.list({ surveyId: mixed, limit: 1000 });
        let listed = records.length;
        assert.ok(rest);
        for await (const piece of rest) listed += piece.records.length;
        return listed;
      }, 1000),
      await queriesOf(async () => {
        let walked = 0;
        for await (const _ of store.stream({ surveyId: mixed })) walked += 1;
        return walked;
      }, 2000),
      await queriesOf(async () => {
        let exported = 0;
        for await (const batch of createExportRows({ clickhouse: reading }).batches({ surveyId: mixed }, 1))
          exported += batch.length;
        return exported;
      }, 2000),
    ];
    assert.ok(Math.max(...counts) <= 24, `${counts.join(', ')} queries`);
  });

  it('are read as lines of a file in bounded memory, in order, each once, and so are short ones behind them', async () => {
    const surveyId = newId();
    const [long, all] = [100, 6000];
    // Four for each millisecond.
    const lines = Array.from({ length: all }, (_, n) =>
      responseLine({
        surveyId,
        submittedAtMs: givenStart + Math.floor(n / 4),
        codes: [1],
        texts: [`${n} `.padEnd(n < long ? textBytes : 8, 'long ')],
      }),
    );
    for (let at = 0; at < all; at += at < long ? 10 : all)
      await database.store(lines.slice(at, at < long ? at + 10 : all));
    const { reading, size } = measured();
    const columns: CsvColumn[] = [{ field: 'submittedAt' }, { cell: textCell, textOf: () => '' }];
    const found: { at: string; n: number }[] = [];
    let rows = 0;
    for await (const read of createExportRows({ clickhouse: reading }).csvLines({ surveyId }, columns, {
      codeColumns: 1,
    })) {
      rows += read.rows;
      for (const line of Buffer.concat(read.pieces).toString().trimEnd().split('\r\n')) {
        const [at = '', text = ''] = line.split(',');
        found.push({ at, n: Number.parseInt(text, 10) });
      }
    }
    assert.deepEqual([rows, found.length, new Set(found.map(({ n }) => n)).size], [all, all, all]);
    assert.ok(found.every(({ at }, index) => at <= (found[index + 1]?.at ?? at)));
    assert.ok(size.largest <= 66 * mebibyte, `${size.largest} bytes at once`);
    assert.ok(size.queries <= 16, `${size.queries} queries`);
  });
});
