import { Readable } from 'node:stream';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { CallTimeout, isUnreachable, toProblem } from './errors.ts';
import { createServerHealth, type ServerHealthOptions } from './server-health.ts';
import { sqlName, sqlString } from './sql-literals.ts';

export interface SelectOptions {
  /**
   * Bound of the whole query, on both sides; default 15 s. A server that answers nothing at all is given up much
   * sooner.
   */
  timeoutMs?: number;
  /** For this query alone. */
  settings?: Readonly<Record<string, number | string>>;
}

/** The response store's database. Every failure that is not a mistake of ours is SERVICE_UNAVAILABLE. */
export interface ClickHouse {
  /** Named in every statement, so that a connection needs no database of its own. */
  readonly database: string;
  /** A table of ours as it is written in a statement. */
  table(table: string): string;
  /** Rows as tuples, in the order of the columns asked for; 64-bit numbers as numbers. */
  select<Row extends readonly unknown[]>(sql: string, options?: SelectOptions): Promise<Row[]>;
  /** A whole result as it is sent, in a format that the server knows. */
  bytes(sql: string, format: string, options?: SelectOptions): Promise<Uint8Array[]>;
  command(sql: string, options?: { timeoutMs?: number }): Promise<void>;
  /**
   * Sends raw bytes in the format that the statement names; resolves when the server says that it has stored them.
   * `signal` ends the call, not what the server does.
   */
  insert(
    sql: string,
    body: readonly Uint8Array[],
    options?: { timeoutMs?: number; signal?: AbortSignal },
  ): Promise<void>;
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

export interface ClickHouseOptions {
  /**
   * Servers of equal content: the next is used when one cannot be reached. The path of the first names the database.
   */
  urls: readonly string[];
  log: Log;
  /** How soon a server that says nothing is given up; short in tests. */
  healthOptions?: Pick<ServerHealthOptions, 'pingAfterMs' | 'unresponsiveAfterMs'>;
}

const defaultDatabase = 'survey';
const readTimeoutMs = 15_000;
const changeTimeoutMs = 60_000;
const pingTimeoutMs = 2000;
const maxCallMs = 60 * 60_000;
/** A server that was started again drops its idle connections: the first failure on one says nothing. */
const minAttempts = 2;

export function createClickHouse({ urls, log, healthOptions = {} }: ClickHouseOptions): ClickHouse {
  const database = databaseOf(urls[0] ?? '');
  const servers = urls.map((url) => connectTo(url, log, healthOptions));
  let current = 0;

  const attempt = async <T>(timeoutMs: number, step: (server: Server, call: CallControl) => Promise<T>): Promise<T> => {
    for (let attempts = 1; ; attempts += 1) {
      const used = current % servers.length;
      try {
        return await withTimeout(timeoutMs, (call) => step(serverAt(servers, used), call));
      } catch (error) {
        if (!isUnreachable(error)) throw toProblem(error);
        if (current % servers.length === used) current = used + 1;
        if (servers.length > 1) log.warn({ err: error, server: used }, 'a ClickHouse server cannot be reached');
        if (error instanceof CallTimeout || attempts >= Math.max(minAttempts, servers.length)) throw toProblem(error);
      }
    }
  };

  return {
    database,
    table: (table) => `${sqlName(database)}.${sqlName(table)}`,
    select<Row extends readonly unknown[]>(
      sql: string,
      { timeoutMs = readTimeoutMs, settings = {} }: SelectOptions = {},
    ) {
      const query = `${sql} SETTINGS ${inlineSettings({ ...defaultSettings, ...settings, max_execution_time: Math.ceil(timeoutMs / 1000) })}`;
      return attempt(timeoutMs, ({ client, health }, { signal, end }) =>
        health.runWhileResponsive(async () => {
          const result = await client.query({
            query,
            format: 'JSONCompactEachRow',
            abort_signal: signal,
            clickhouse_settings: { ...parserLimits, ...cancelOnDisconnect },
          });
          signal.addEventListener('abort', () => result.close());
          return result.json<Row>();
        }, end),
      );
    },
    bytes: (sql, format, { timeoutMs = readTimeoutMs, settings = {} } = {}) =>
      attempt(timeoutMs, async ({ client }, { signal }) => {
        const query = `${sql} SETTINGS ${inlineSettings({ ...settings, max_execution_time: Math.ceil(timeoutMs / 1000) })} FORMAT ${format}`;
        const { stream } = await client.exec({
          query,
          abort_signal: signal,
          clickhouse_settings: { ...parserLimits, ...cancelOnDisconnect, ...waitForEndOfQuery },
        });
        signal.addEventListener('abort', () => stream.destroy());
        const pieces: Uint8Array[] = [];
        for await (const piece of stream) pieces.push(piece);
        return pieces;
      }),
    command: (sql, { timeoutMs = changeTimeoutMs } = {}) =>
      attempt(
        timeoutMs,
        async ({ client }, { signal }) =>
          void (await client.command({ query: sql, abort_signal: signal, clickhouse_settings: parserLimits })),
      ),
    insert: (sql, body, { timeoutMs = changeTimeoutMs, signal: stopping } = {}) =>
      attempt(timeoutMs, ({ client, health }, { signal, end }) => {
        const send = async () => {
          const { stream } = await client.exec({
            query: sql,
            values: Readable.from(body, { objectMode: false }),
            abort_signal: signal,
          });
          signal.addEventListener('abort', () => stream.destroy());
          for await (const _ of stream);
        };
        return abortableBy(stopping, end, () => health.runWhileResponsive(send, end));
      }),
    ping: () =>
      attempt(
        pingTimeoutMs,
        async ({ client }, { signal }) =>
          void (await client.query({ query: 'SELECT 1', abort_signal: signal }).then((result) => result.text())),
      ).then(
        () => true,
        () => false,
      ),
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  };
}

/**
 * A statement may name thousands of moments or columns; these bounds are asked before the statement's own settings are
 * read.
 */
const parserLimits = { max_query_size: '16777216', max_ast_elements: '1000000', max_expanded_ast_elements: '1000000' };
/** A server ends a read whose caller has hung up only when it is told that the statement reads and nothing else. */
const cancelOnDisconnect = { readonly: '2', cancel_http_readonly_queries_on_client_close: 1 } as const;
/** A query that fails half-way then has the status of a failure, instead of an end that must be looked at. */
const waitForEndOfQuery = { wait_end_of_query: 1 } as const;
/** Older servers quote 64-bit numbers. */
const defaultSettings = { output_format_json_quote_64bit_integers: 0 };

function inlineSettings(settings: Readonly<Record<string, number | string>>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key} = ${typeof value === 'string' ? sqlString(value) : value}`)
    .join(', ');
}

function databaseOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1)) || defaultDatabase;
}

type Server = ReturnType<typeof connectTo>;

function connectTo(url: string, log: Log, healthOptions: Partial<ServerHealthOptions>) {
  const address = new URL(url);
  address.pathname = '';
  const common = { url: address, application: 'survey-service', log: { level: ClickHouseLogLevel.OFF } };
  // Every call has a bound of its own; this one would also end long work that is silent until it is done.
  const client = createClient({
    ...common,
    max_open_connections: 32,
    request_timeout: maxCallMs,
    keep_alive: { enabled: true },
  });
  // A connection of its own each time: it must not wait for its turn behind queries.
  const pingClient = createClient({ ...common, keep_alive: { enabled: false } });
  const health = createServerHealth({
    ...healthOptions,
    ping: (signal) => pingClient.ping({ select: false, abort_signal: signal }),
    log,
  });
  const close = async (): Promise<void> => {
    health.stop();
    await Promise.all([client.close(), pingClient.close()]);
  };
  return { client, health: health, close };
}

function serverAt<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error('no ClickHouse server was named');
  return item;
}

/**
 * A call's own signal and how to end it early. It is one of a single controller: while anything listens to a signal
 * that was put together of several, Node keeps it for ever, and with it the whole call.
 */
interface CallControl {
  signal: AbortSignal;
  end(): void;
}

/** Does the work; should `stopping` come first, rejects at once and ends the call. */
async function abortableBy<T>(stopping: AbortSignal | undefined, end: () => void, work: () => Promise<T>): Promise<T> {
  if (!stopping) return work();
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => {
      reject(unavailable('The service is stopping'));
      end();
    };
  });
  if (stopping.aborted) stop();
  stopping.addEventListener('abort', stop, { once: true });
  return Promise.race([work(), stopped]).finally(() => stopping.removeEventListener('abort', stop));
}

/**
 * Bounds a call as a whole: the client's own time-out starts again with every byte, and its abort ends with the reply's
 * head.
 */
async function withTimeout<T>(ms: number, work: (call: CallControl) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new CallTimeout(ms));
      controller.abort();
    }, ms);
  });
  return Promise.race([work({ signal: controller.signal, end: () => controller.abort() }), tooLong]).finally(() =>
    clearTimeout(timer),
  );
}
