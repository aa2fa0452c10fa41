import { rm, writeFile } from 'node:fs/promises';
import type { QuerySession } from './engine.ts';
import { isBinaryInput } from './formats.ts';
import type { InsertHead } from './insert-head.ts';
import { literal } from './query-text.ts';

/**
 * One INSERT is one block, however large, so that all of its rows appear or none: the reader must not cut it by rows, by bytes, or
 * for several parsers. The engine's own queue of small inserts would acknowledge later and forget the request's token.
 */
export const atomicInsertSettings: ReadonlyMap<string, string> = new Map([
  ['async_insert', '0'],
  ['input_format_parallel_parsing', '0'],
  ['max_insert_block_size', '1000000000'],
  ['max_insert_block_size_bytes', '0'],
  ['min_insert_block_size_rows', '1000000000'],
  ['min_insert_block_size_bytes', '100000000000'],
]);

/** Signs that make a file's name a pattern of names. */
const patternSign = /[*?{}]/;

/**
 * Runs an INSERT with its data by way of the file `spool`: data that stands in the query itself is looked at several times over, sign by sign,
 * which takes as long as reading and sorting its rows.
 */
export async function insertData(
  { session, runInQueue }: QuerySession,
  head: InsertHead,
  data: Buffer,
  spool: string,
): Promise<void> {
  const ending = `${head.settings ? `SETTINGS ${head.settings}` : ''} FORMAT ${head.format}`;
  // Text is all that a query may carry.
  if (patternSign.test(spool) && !isBinaryInput(head.format)) {
    await runInQueue(() => session.queryAsync(`${head.target} ${ending}\n${data.toString('utf8')}`));
    return;
  }
  await writeFile(spool, data, { mode: 0o600 });
  try {
    await runInQueue(() => session.queryAsync(`${head.target} FROM INFILE ${literal(spool)} ${ending}`));
  } finally {
    await rm(spool, { force: true });
  }
}
