import { rm, writeFile } from 'node:fs/promises';
import type { QuerySession } from './engine.ts';
import { isBinaryInput, rawInputFormat } from './formats.ts';
import type { InsertHead } from './insert-head.ts';
import { literal } from './query-text.ts';

export interface Written {
  rows: number;
  bytes: number;
}

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

/** Runs an INSERT with inline data; `spool` names a file that may be used for it. */
export async function insertData({ session, turn }: QuerySession, head: InsertHead, data: Buffer, spool: string): Promise<Written> {
  const format = rawInputFormat(head.format);
  if (format && head.simple) {
    const { table, columns } = head.simple;
    if (head.settings) await turn(() => session.queryAsync(`SET ${head.settings}`));
    const done = await turn(() => session.insert({ table, values: data, format, ...(columns ? { columns } : {}) }));
    return { rows: done.rowsWritten, bytes: done.bytesWritten };
  }
  const settings = head.settings ? `SETTINGS ${head.settings}` : '';
  if (!isBinaryInput(head.format)) {
    await turn(() => session.queryAsync(`${head.target} ${settings} FORMAT ${head.format}\n${data.toString('utf8')}`));
    return { rows: 0, bytes: data.length };
  }
  // Text is all that a query may carry; binary data goes by way of a file.
  await writeFile(spool, data, { mode: 0o600 });
  try {
    await turn(() => session.queryAsync(`${head.target} FROM INFILE ${literal(spool)} ${settings} FORMAT ${head.format}`));
    return { rows: 0, bytes: data.length };
  } finally {
    await rm(spool, { force: true });
  }
}
