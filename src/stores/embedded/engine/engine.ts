import { Session } from 'chdb';
import { createSemaphore } from '../../../platform/semaphore.ts';
import { literal, type QueueName } from './query-text.ts';

export interface EngineOptions {
  /** Absolute; holds the tables. */
  dir: string;
  /** Memory limit of the whole engine; one query may use half. */
  memoryBytes: number;
}

/** What applies to one request only. */
export interface QueryScope {
  database: string;
  /** Names are checked by the caller, values are escaped here. */
  settings: ReadonlyMap<string, string>;
  /** Values of `{name:Type}` in ClickHouse's escaped text form. */
  parameters: ReadonlyMap<string, string>;
  /** Aborted when the client goes away: the query is then cancelled. */
  signal: AbortSignal;
}

export interface QuerySession {
  session: Session;
  /**
   * Runs one call of the session in the request's queue. A stream queues for each piece, so that a slow reader blocks
   * no other request while it reads.
   */
  runInQueue<T>(call: () => Promise<T>): Promise<T>;
}

export interface Engine {
  /** Opens a session for one query; its settings end with it. */
  use<T>(queue: QueueName, scope: QueryScope, work: (query: QuerySession) => Promise<T>): Promise<T>;
  /** The result of a SELECT of one value, outside the queues. */
  selectValue(sql: string): Promise<string>;
  /** Cancels every running query and closes. */
  close(): Promise<void>;
}

/** The database of requests that name none. */
export const defaultDatabase = 'survey';

/**
 * Each call into the engine and each file access takes a thread of libuv's pool (16, see clickhouse.ts); the queues
 * leave some free.
 */
const queueSizes = { read: 8, insert: 2, schema: 1, change: 2, kill: 1 };

/**
 * The ClickHouse engine in this process. Opening a session takes 0.1 ms, so every query gets its own; settings,
 * parameters and database are SET on it and cannot reach another request. The engine's own binding of parameters runs
 * only one such query at a time, so it is not used.
 */
export async function openEngine({ dir, memoryBytes }: EngineOptions): Promise<Engine> {
  const root = new Session(dir, { connectionArgs: connectionArguments(memoryBytes) });
  await root.queryAsync(`CREATE DATABASE IF NOT EXISTS ${defaultDatabase} ENGINE = Atomic`);
  const queues = {
    read: createSemaphore({ concurrency: queueSizes.read }),
    insert: createSemaphore({ concurrency: queueSizes.insert }),
    schema: createSemaphore({ concurrency: queueSizes.schema }),
    change: createSemaphore({ concurrency: queueSizes.change }),
    kill: createSemaphore({ concurrency: queueSizes.kill }),
  };
  const defaults = [['max_memory_usage', String(Math.floor(memoryBytes / 2))]] as const;
  const running = new Set<Promise<unknown>>();
  let queries = 0;

  const selectValue = async (sql: string) => {
    const session = new Session(dir);
    try {
      return (await session.queryAsync(sql, { format: 'TSVRaw' })).text().trimEnd();
    } finally {
      session.close();
    }
  };
  const kill = (id: string) =>
    selectValue(`KILL QUERY WHERE startsWith(Settings['log_comment'], ${literal(`${id} `)}) ASYNC`).catch(() => '');

  const useSession = async <T>(
    queue: QueueName,
    scope: QueryScope,
    work: (query: QuerySession) => Promise<T>,
  ): Promise<T> => {
    const id = `q${process.pid}-${++queries}`;
    const session = new Session(dir);
    let killing: Promise<unknown> | undefined;
    // The abort may come before the engine lists the query, so it is repeated until the work has ended.
    const timer = { handle: undefined as NodeJS.Timeout | undefined };
    const cancel = () => {
      killing = kill(id);
      timer.handle ??= setInterval(() => {
        killing = kill(id);
      }, killRepeatMs);
    };
    scope.signal.addEventListener('abort', cancel, { once: true });
    try {
      const runInQueue = <R>(call: () => Promise<R>) => queues[queue].run(call, scope.signal);
      await runInQueue(() => prepare(session, id, { ...scope, settings: new Map([...defaults, ...scope.settings]) }));
      return await work({ session, runInQueue });
    } finally {
      scope.signal.removeEventListener('abort', cancel);
      clearInterval(timer.handle);
      await killing;
      session.close();
    }
  };

  return {
    selectValue,
    use(queue, scope, work) {
      const job = useSession(queue, scope, work);
      const ended = job.then(
        () => {},
        () => {},
      );
      running.add(ended);
      void ended.then(() => running.delete(ended));
      return job;
    },
    async close() {
      await selectValue("KILL QUERY WHERE query NOT LIKE 'KILL%' ASYNC").catch(() => '');
      await Promise.allSettled(running);
      root.close();
    },
  };
}

const killRepeatMs = 250;

async function prepare(session: Session, id: string, scope: QueryScope): Promise<void> {
  const comment = `${id} ${scope.settings.get('log_comment') ?? ''}`;
  const settings = [...scope.settings].filter(([name]) => name !== 'log_comment');
  const pairs = [
    ...settings,
    ...[...scope.parameters].map(([name, value]) => [`param_${name}`, value] as const),
    ['log_comment', comment] as const,
  ];
  const set = pairs.map(([name, value]) => `${name} = ${literal(value)}`).join(', ');
  await session.queryAsync(`USE ${quotedName(scope.database)}; SET ${set}`);
}

function connectionArguments(memoryBytes: number): string[] {
  const caches = Math.floor(memoryBytes / 16);
  const values = {
    max_server_memory_usage: memoryBytes,
    mark_cache_size: caches,
    primary_index_cache_size: caches,
    index_mark_cache_size: caches,
  };
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

function quotedName(name: string): string {
  return `\`${name.replace(/\\/g, '\\\\').replace(/`/g, '\\`')}\``;
}
