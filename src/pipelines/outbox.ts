import type { Log } from '../log.ts';
import type { Sql } from '../stores/postgres/client.ts';

export interface OutboxRow {
  id: number;
  kind: string;
  payload: Record<string, unknown>;
}

/** Carries one kind of event to whom it concerns; idempotent, because a crash repeats it. */
export type OutboxHandler = (row: OutboxRow) => Promise<void>;

export interface OutboxDeps {
  sql: Sql;
  handlers: Readonly<Record<string, readonly OutboxHandler[]>>;
  log: Log;
}

const batch = 50;
const idleMs = 200;
const keptDays = 7;

interface StoredRow {
  id: number;
  kind: string;
  payload: Record<string, unknown>;
}

/**
 * Delivers what transactions have left in the outbox, in order of its writing, at least once. Several processes may run it:
 * each takes rows that no other has locked.
 */
export function createOutbox({ sql, handlers, log }: OutboxDeps) {
  let isStopping = false;
  let wake: () => void = () => undefined;
  let running: Promise<void> = Promise.resolve();

  const pass = (): Promise<number> =>
    sql.begin(async (tx) => {
      const rows = await tx<StoredRow[]>`
        SELECT id, kind, payload FROM outbox WHERE done_at IS NULL AND attempts < 1000000 ORDER BY id LIMIT ${batch} FOR UPDATE SKIP LOCKED`;
      let done = 0;
      for (const row of rows) {
        try {
          for (const handle of handlers[row.kind] ?? []) await handle(row);
          await tx`UPDATE outbox SET done_at = now() WHERE id = ${row.id}`;
          done += 1;
        } catch (error) {
          log.warn({ err: error, outboxId: row.id, kind: row.kind }, 'an outbox event could not be delivered yet');
          await tx`UPDATE outbox SET attempts = attempts + 1 WHERE id = ${row.id}`;
        }
      }
      return done;
    });

  const loop = async () => {
    while (!isStopping) {
      const done = await pass().catch((error: unknown) => {
        log.warn({ err: error }, 'the outbox could not be read');
        return 0;
      });
      if (done === batch) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, idleMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  return {
    start(): void {
      running = loop();
    },
    /** Forgets what was delivered a week ago. */
    purge: async (): Promise<void> => void (await sql`DELETE FROM outbox WHERE done_at < now() - make_interval(days => ${keptDays})`),
    async stop(): Promise<void> {
      isStopping = true;
      wake();
      await running;
    },
  };
}

export type Outbox = ReturnType<typeof createOutbox>;
