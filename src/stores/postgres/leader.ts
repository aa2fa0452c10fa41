import type { Log } from '../../log.ts';
import type { Sql } from './client.ts';

/** Whether this process is the one that runs a group of periodic tasks. */
export interface Leader {
  isLeader(): boolean;
  /** Called whenever this process becomes the leader; at once if it is. */
  onElected(listener: () => void): void;
  /** Ends the leadership, so that another process takes over at once. */
  stop(): Promise<void>;
}

export interface LeaderOptions {
  sql: Sql;
  /** Of the group of tasks: one process holds each name. */
  name: string;
  /** Unique name of this process. */
  holder: string;
  log: Pick<Log, 'debug' | 'info'>;
  /** How long a leader that died keeps others waiting; short in tests. */
  leaseMs?: number;
}

const defaultLeaseMs = 6000;

/**
 * Elects one of several processes by a row in PostgreSQL, which the leader renews. The lease only avoids double work:
 * a leader that is cut off may finish a task while another begins it.
 */
export function createLeader({ sql, name, holder, log, leaseMs = defaultLeaseMs }: LeaderOptions): Leader {
  const listeners: (() => void)[] = [];
  let heldUntil = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  const isLeader = (): boolean => performance.now() < heldUntil;

  const ask = async (): Promise<void> => {
    const requestedAtMs = performance.now();
    const wasLeader = isLeader();
    const seconds = leaseMs / 1000;
    // A lease that ends later than any may is left from before PostgreSQL's clock was set back.
    const rows = await sql`
      INSERT INTO leaders (name, holder, held_until)
      VALUES (${name}, ${holder}, clock_timestamp() + make_interval(secs => ${seconds}))
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
      WHERE leaders.holder = excluded.holder OR leaders.held_until < clock_timestamp()
        OR leaders.held_until > clock_timestamp() + interval '1 minute'
      RETURNING name`;
    heldUntil = rows.length > 0 ? requestedAtMs + leaseMs : Number.NEGATIVE_INFINITY;
    if (wasLeader || !isLeader()) return;
    log.info({ tasks: name }, 'this process runs the periodic tasks');
    for (const listener of listeners) listener();
  };
  const askAgain = (): void => {
    asking ??= ask()
      .catch((error: unknown) =>
        log.debug({ err: error, tasks: name }, 'the leader of the periodic tasks is not known'),
      )
      .finally(() => (asking = undefined));
  };
  const timer = setInterval(askAgain, leaseMs / 3);
  timer.unref();
  askAgain();

  return {
    isLeader,
    onElected(listener) {
      listeners.push(listener);
      if (isLeader()) listener();
    },
    async stop() {
      clearInterval(timer);
      await asking;
      if (!isLeader()) return;
      heldUntil = Number.NEGATIVE_INFINITY;
      await sql`DELETE FROM leaders WHERE name = ${name} AND holder = ${holder}`.catch(() => undefined);
    },
  };
}
