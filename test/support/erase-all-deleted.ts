import type { ResponseStore } from '../../src/stores/clickhouse/responses.ts';

/** Erases deleted responses from all parts, however large; gives the number of partitions that were rewritten. */
export async function eraseAllDeleted(responses: Pick<ResponseStore, 'eraseDeleted'>): Promise<number> {
  const everything = { maxPartBytes: Number.POSITIVE_INFINITY, tombstonesBefore: new Date(0), keepTombstonesOf: [] };
  return (await responses.eraseDeleted(everything)).partitions;
}
