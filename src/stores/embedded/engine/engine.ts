import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Session } from 'chdb';
import { createSemaphore } from '../../../platform/semaphore.ts';
import { createIdleSessions } from './idle-sessions.ts';
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
  /** Gives a session to one query; its settings are those of the scope alone. */
  use<T>(queue: QueueName, scope: QueryScope, work: (query: QuerySession) => Promise<T>): Promise<T>;
  /** The result of a SELECT of one value, outside the queues. */
  selectValue(sql: string): Promise<string>;
  /** Cancels every running query and closes. */
  close(): Promise<void>;
}

/** The database of requests that name none. */
export const defaultDatabase = 'survey';

/** Folder of the files of BACKUP and RESTORE. Relative to that of the tables, so that no path needs escaping. */
const backupsFolder = '../backups';

/**
 * Each call into the engine and each file access takes a thread of libuv's pool (16, see clickhouse.ts); the queues
 * leave some free.
 */
const queueSizes = { read: 8, insert: 2, schema: 1, change: 2, kill: 1 };

/**
 * The ClickHouse engine in this process. Each query has a session to itself; database, settings and parameters are SET
 * on it. A later query with the same database and settings may use it again (see idle-sessions.ts), unless the
 * statement can change its session or has failed. The engine's own binding of parameters runs only one such query at a
 * time, so it is not used.
 */
export async function openEngine({ dir, memoryBytes }: EngineOptions): Promise<Engine> {
  mkdirSync(join(dir, backupsFolder), { recursive: true, mode: 0o700 });
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
  const idle = createIdleSessions();
  let queries = 0;

  const selectValue = async (sql: string) => {
    const session = idle.take(plainScope) ?? new Session(dir);
    try {
      const value = (await session.queryAsync(sql, { format: 'TSVRaw' })).text().trimEnd();
      idle.give(plainScope, session);
      return value;
    } catch (error) {
      session.close();
      throw error;
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
    const settings = new Map([...defaults, ...scope.settings]);
    const comment = `${id} ${settings.get('log_comment') ?? ''}`;
    settings.delete('log_comment');
    const key = JSON.stringify([scope.database, ...settings]);
    // Parameters cannot be unset, and with readonly = 1 nothing can be set any more.
    let isReusable =
      (queue === 'read' || queue === 'insert') && scope.parameters.size === 0 && settings.get('readonly') !== '1';
    const known = isReusable ? idle.take(key) : undefined;
    const session = known ?? new Session(dir);
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
      const runInQueue = <R>(call: () => Promise<R>) =>
        queues[queue].run(call, scope.signal).catch((error: unknown) => {
          isReusable = false;
          throw error;
        });
      await runInQueue(() => (known ? nameQuery(session, comment) : prepare(session, { ...scope, settings, comment })));
      return await work({ session, runInQueue });
    } catch (error) {
      isReusable = false;
      throw error;
    } finally {
      scope.signal.removeEventListener('abort', cancel);
      clearInterval(timer.handle);
      await killing;
      if (isReusable && !scope.signal.aborted) idle.give(key, session);
      else session.close();
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
      idle.close();
      root.close();
    },
  };
}

const killRepeatMs = 250;

/** Key of the idle sessions on which nothing is set. */
const plainScope = '';

async function prepare(
  session: Session,
  { database, settings, parameters, comment }: Omit<QueryScope, 'signal'> & { comment: string },
): Promise<void> {
  const pairs = [
    ...settings,
    ...[...parameters].map(([name, value]) => [`param_${name}`, value] as const),
    ['log_comment', comment] as const,
  ];
  const set = pairs.map(([name, value]) => `${name} = ${literal(value)}`).join(', ');
  await session.queryAsync(`USE ${quotedName(database)}; SET ${set}`);
}

/** Names the next query of a session, so that it can be cancelled. */
const nameQuery = async (session: Session, comment: string): Promise<void> =>
  void (await session.queryAsync(`SET log_comment = ${literal(comment)}`));

function connectionArguments(memoryBytes: number): string[] {
  const caches = Math.floor(memoryBytes / 16);
  const values = {
    max_server_memory_usage: memoryBytes,
    mark_cache_size: caches,
    primary_index_cache_size: caches,
    index_mark_cache_size: caches,
    'backups.allowed_path': backupsFolder,
  };
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

function quotedName(name: string): string {
  return `\`${name.replace(/\\/g, '\\\\').replace(/`/g, '\\`')}\``;
}
