import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { backoffMs } from '../platform/backoff.ts';
import { createBoundedWarnings } from '../platform/bounded-warnings.ts';
import type { Sql } from '../stores/postgres/client.ts';
import type { ScheduledTask } from './schedule.ts';

interface OutboxRow {
  id: number;
  kind: string;
  payload: Record<string, unknown>;
}

/** Handles events of one kind; idempotent, because a crash repeats them. */
export type OutboxHandler = (row: OutboxRow) => Promise<void>;

export interface OutboxDeps {
  sql: Sql;
  handlers: Readonly<Record<string, readonly OutboxHandler[]>>;
  log: Log;
  metrics: Pick<Metrics, 'outboxFailed' | 'outboxState'>;
  /** Milliseconds to wait after a failed attempt; short in tests. */
  pauseMs?: (failures: number) => number;
  /** How long an event stays with a process that no longer renews its lease; short in tests. */
  leaseMs?: number;
}

type StoredRow = OutboxRow & { attempts: number };

const batchSize = 50;
const idleMs = 200;
/** A pass leases its rows; after this time it releases the rest. */
const maxPassMs = 2000;
const defaultLeaseMs = 15_000;
const retentionDays = 7;
const backoff = { firstMs: 500, maxMs: 300_000 };

/**
 * Delivers the events that transactions wrote to the outbox, at least once. Each kind has its own queue, in the order
 * of writing, and a row that fails is retried later with backoff, so neither a failing row nor a slow kind delays
 * others. Several processes may run it: each leases rows that no other has leased, of the kinds that it knows, and
 * renews the lease while a handler runs. A kind that only a newer version knows waits for such a process.
 */
export function createOutbox({
  sql,
  handlers,
  log,
  metrics,
  pauseMs = (failures) => backoffMs(failures, backoff),
  leaseMs = defaultLeaseMs,
}: OutboxDeps) {
  let isStopping = false;
  let wake: () => void = () => undefined;
  let running: Promise<void> = Promise.resolve();
  const passes = new Map<string, Promise<void>>();
  const kinds = Object.keys(handlers);
  // While PostgreSQL is away, each look at the table fails, several times a second.
  const warn = createBoundedWarnings(log);

  const deliver = async ({ attempts, ...row }: StoredRow): Promise<void> => {
    try {
      for (const handle of handlers[row.kind] ?? []) await handle(row);
      await sql`UPDATE outbox SET done_at = now() WHERE id = ${row.id}`;
    } catch (error) {
      metrics.outboxFailed(row.kind);
      const waitMs = pauseMs(attempts);
      log.warn(
        { err: error, outboxId: row.id, kind: row.kind, attempts: attempts + 1, againInMs: waitMs },
        'an outbox event could not be delivered yet',
      );
      await sql`
        UPDATE outbox
        SET attempts = attempts + 1, leased_until = NULL,
          next_attempt_at = clock_timestamp() + make_interval(secs => ${waitMs / 1000})
        WHERE id = ${row.id}`;
    }
  };

  const isDue = () =>
    sql`done_at IS NULL AND (attempts = 0 OR next_attempt_at <= now())
      AND (leased_until IS NULL OR leased_until <= now())`;
  const leaseEnd = () => sql`clock_timestamp() + make_interval(secs => ${leaseMs / 1000})`;

  /** Due rows of a kind, the oldest first, leased to this process. */
  const lease = async (kind: string): Promise<StoredRow[]> => {
    const rows = await sql<StoredRow[]>`
      UPDATE outbox SET leased_until = ${leaseEnd()}
      WHERE id IN (
        SELECT id FROM outbox WHERE kind = ${kind} AND ${isDue()} ORDER BY id LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)
      RETURNING id, kind, payload, attempts`;
    return rows.sort((one, other) => one.id - other.id);
  };

  /** Resolves with whether there may be more due rows. */
  const deliverBatch = async (kind: string): Promise<boolean> => {
    const rows = await lease(kind);
    const left = new Set(rows.map(({ id }) => id));
    const renew = () =>
      void sql`UPDATE outbox SET leased_until = ${leaseEnd()} WHERE id = ANY(${[...left]}) AND done_at IS NULL`.catch(
        (error: unknown) => log.debug({ err: error, kind }, 'the lease of outbox events could not be renewed'),
      );
    const renewal = setInterval(renew, leaseMs / 3);
    const until = performance.now() + maxPassMs;
    try {
      for (const row of rows) {
        if (isStopping || performance.now() > until) return true;
        await deliver(row);
        left.delete(row.id);
      }
      return rows.length === batchSize;
    } finally {
      clearInterval(renewal);
      if (left.size > 0) await sql`UPDATE outbox SET leased_until = NULL WHERE id = ANY(${[...left]})`;
    }
  };

  const drainKind = async (kind: string): Promise<void> => {
    try {
      while (!isStopping && (await deliverBatch(kind)));
    } catch (error) {
      warn({ err: error, kind }, 'processing the outbox failed');
    }
  };

  const startDuePasses = async (): Promise<void> => {
    const due = await sql<{ kind: string }[]>`
      SELECT DISTINCT kind FROM outbox WHERE kind = ANY(${kinds}) AND ${isDue()}`;
    for (const { kind } of due)
      if (!passes.has(kind))
        passes.set(
          kind,
          drainKind(kind).finally(() => passes.delete(kind)),
        );
  };

  const loop = async () => {
    while (!isStopping) {
      await startDuePasses().catch((error: unknown) => warn({ err: error }, 'the outbox could not be read'));
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, idleMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  const purge = async (): Promise<void> =>
    void (await sql`DELETE FROM outbox WHERE done_at < now() - make_interval(days => ${retentionDays})`);

  const measure = async (): Promise<void> => {
    const [row] = await sql<{ seconds: number; failing: number }[]>`
      SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS seconds,
        count(*) FILTER (WHERE attempts > 0) AS failing
      FROM outbox WHERE done_at IS NULL`;
    metrics.outboxState({ oldestSeconds: Math.max(0, row?.seconds ?? 0), failing: row?.failing ?? 0 });
  };

  const tasks: ScheduledTask[] = [
    { name: 'purge delivered outbox events', everyMs: 3_600_000, run: purge },
    { name: 'measure the outbox', everyMs: 5000, isOfEachProcess: true, run: measure },
  ];

  return {
    start(): void {
      running = loop();
    },
    tasks,
    /** Writes to the metrics how long the oldest event has waited, and how many failed at least once. */
    measure,
    /** Ends after the event at hand. */
    async stop(): Promise<void> {
      isStopping = true;
      wake();
      await running;
      await Promise.all(passes.values());
    },
  };
}
