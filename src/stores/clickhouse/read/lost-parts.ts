import type { ClickHouse } from '../client.ts';
import type { Placement } from '../schema/placement.ts';
import { sqlString } from '../sql-literals.ts';

/** A part that ClickHouse could not read and has moved out of its table: nothing else is known to have its rows. */
export interface LostPart {
  table: string;
  /** As `ALTER TABLE … DROP DETACHED PART` takes it. */
  name: string;
  /** The folder of its files. */
  path: string;
}

/** Remembers parts without loss: later merges hide what has shown that others have their rows. */
export interface HarmlessParts {
  paths(): Promise<ReadonlySet<string>>;
  add(paths: readonly string[]): Promise<void>;
}

interface Blocks {
  table: string;
  partition: string | null;
  first: number;
  last: number;
}

/** Parts with other reasons, or none, were detached by a statement, or are those of replicated tables. */
const reasonsOfLoss = ['broken', 'broken-on-start', 'broken-from-backup', 'unexpected'];
const tables = ['responses', 'findings', 'idempotency_records'];
const freshMs = 10_000;

/**
 * Finds parts that ClickHouse has moved to `detached`, as it does at a start with damaged ones, without an error for
 * anybody. Those whose rows others have are left out: a part that was merged shortly before a loss of power gives way to
 * the parts that it was merged from. Replicated tables fetch such parts from another server, so a cluster has none.
 */
export function createLostParts({
  clickhouse,
  harmless,
  cluster,
}: { clickhouse: Pick<ClickHouse, 'select' | 'database'>; harmless: HarmlessParts } & Placement) {
  let last: { found: readonly LostPart[]; atMs: number } = { found: [], atMs: Number.NEGATIVE_INFINITY };
  const ofTables = `database = ${sqlString(clickhouse.database)} AND table IN (${tables.map(sqlString).join()})`;

  const listDetached = async (): Promise<(LostPart & Blocks)[]> => {
    const rows = await clickhouse.select<[string, string, string, string | null, number | null, number | null]>(
      `SELECT table, name, path, partition_id, min_block_number, max_block_number FROM system.detached_parts
       WHERE ${ofTables} AND reason IN (${reasonsOfLoss.map(sqlString).join()}) ORDER BY path`,
    );
    return rows.map(([table, name, path, partition, first, end]) => ({
      table,
      name,
      path,
      partition,
      first: first ?? 0,
      last: end ?? 0,
    }));
  };

  /** Parts that were replaced by a merge count too while ClickHouse keeps them. */
  const listParts = async (): Promise<Blocks[]> => {
    const rows = await clickhouse.select<[string, string, number, number]>(
      `SELECT table, partition_id, min_block_number, max_block_number FROM system.parts WHERE ${ofTables}`,
    );
    return rows.map(([table, partition, first, end]) => ({ table, partition, first, last: end }));
  };

  const find = async (): Promise<LostPart[]> => {
    if (cluster !== undefined) return [];
    const detached = await listDetached();
    if (detached.length === 0) return [];
    const [parts, known] = [await listParts(), await harmless.paths()];
    const covered = detached.filter((part) => !known.has(part.path) && isCovered(part, parts));
    if (covered.length > 0) await harmless.add(covered.map(({ path }) => path));
    return detached
      .filter((part) => !known.has(part.path) && !covered.includes(part))
      .map(({ table, name, path }) => ({ table, name, path }));
  };

  /** Looks, and keeps what it has found for `known`. */
  const look = async (): Promise<readonly LostPart[]> => {
    last = { ...last, atMs: performance.now() };
    const found = await find();
    last = { ...last, found };
    return found;
  };

  return {
    find: look,
    /** Those found last, at once; looks again in the background when that was some seconds ago. */
    known(): readonly LostPart[] {
      if (performance.now() - last.atMs > freshMs) void look().catch(() => undefined);
      return last.found;
    },
  };
}

export type LostParts = ReturnType<typeof createLostParts>;

/**
 * Whether the parts that it was merged from are there: those with its first and its last block, without reaching beyond
 * them. Blocks between may be missing, as mutations take numbers too; a part that is lost there is named itself. A part
 * that reaches beyond is no proof: a merge of neighbours spans the gap.
 */
function isCovered({ table, partition, first, last }: Blocks, parts: readonly Blocks[]): boolean {
  const within = parts.filter(
    (part) => part.table === table && part.partition === partition && part.first >= first && part.last <= last,
  );
  return within.some((part) => part.first === first) && within.some((part) => part.last === last);
}
