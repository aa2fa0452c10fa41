import { Readable } from 'node:stream';
import { ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client';
import { unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { createPauses } from '../../platform/slices.ts';
import { CallTimeout, isResultTooLarge, isUnreachable, toProblem } from './errors.ts';
import { createServerHealth, type ServerHealthOptions } from './server-health.ts';
import { sqlName, sqlString } from './sql-literals.ts';

export interface SelectOptions {
  /** Time limit of the whole query, on client and server; default 15 s. A silent server is given up much sooner. */
  timeoutMs?: number;
  /** Settings of this query. */
  settings?: Readonly<Record<string, number | string>>;
}

export interface Abortable {
  /** Gives the statement up at once; the server may still carry out one that writes. */
  signal?: AbortSignal | undefined;
}

/** The ClickHouse database. Failures other than programming errors are SERVICE_UNAVAILABLE. */
export interface ClickHouse {
  /** Named in every statement, so that connections need no default database. */
  readonly database: string;
  /** The qualified name of a table for a statement. */
  table(table: string): string;
  /** Rows as tuples in the order of the selected columns; 64-bit integers as numbers. */
  select<Row extends readonly unknown[]>(sql: string, options?: SelectOptions & Abortable): Promise<Row[]>;
  /**
   * The first rows of a result that may not fit into memory: up to the one with which they are more than `maxBytes` of
   * JSON. `isWhole`: these are all; `bytes`: their JSON.
   */
  selectUpTo<Row extends readonly unknown[]>(
    sql: string,
    maxBytes: number,
    options?: SelectOptions,
  ): Promise<{ rows: Row[]; isWhole: boolean; bytes: number }>;
  /**
   * The same rows as they come, for results that need not fit into memory. All are of one moment: when the first of them
   * arrives, or the end, nothing that is written later can be among them.
   */
  stream<Row extends readonly unknown[]>(sql: string, options?: SelectOptions & Abortable): AsyncGenerator<Row[]>;
  /**
   * The bytes of a result in a ClickHouse format, or its beginning where it has more than `maxBytes`. `isWhole`: these
   * are surely all.
   */
  bytes(
    sql: string,
    format: string,
    maxBytes: number,
    options?: SelectOptions,
  ): Promise<{ pieces: Uint8Array[]; isWhole: boolean }>;
  command(sql: string, options?: { timeoutMs?: number } & Abortable): Promise<void>;
  /** Sends bytes in the format that the statement names; resolves when the server confirms the insert. */
  insert(sql: string, body: readonly Uint8Array[], options?: { timeoutMs?: number } & Abortable): Promise<void>;
  /** Whether the server answers and can read a stored response, if there is any. */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

export interface ClickHouseOptions {
  /** Replicas: the next is used if one cannot be reached. The path of the first URL names the database. */
  urls: readonly string[];
  log: Log;
  /** Time limits for a silent server; short in tests. */
  healthOptions?: Pick<ServerHealthOptions, 'pingAfterMs' | 'unresponsiveAfterMs'>;
}

const defaultDatabase = 'survey';
const readTimeoutMs = 15_000;
const changeTimeoutMs = 60_000;
const pingTimeoutMs = 2000;
const maxCallMs = 60 * 60_000;
/** Retries once, as a restarted server drops idle connections. */
const minAttempts = 2;

export function createClickHouse({ urls, log, healthOptions = {} }: ClickHouseOptions): ClickHouse {
  const database = databaseOf(urls[0] ?? '');
  const readOneResponse = `SELECT is_deleted FROM ${sqlName(database)}.responses LIMIT 1 SETTINGS max_threads = 1`;
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

  const selectUpTo = <Row extends readonly unknown[]>(
    sql: string,
    maxBytes: number,
    { timeoutMs = readTimeoutMs, settings = {}, signal: stopping }: SelectOptions & Abortable = {},
  ) => {
    const query = withSettings(sql, { ...defaultSettings, ...settings }, timeoutMs);
    return attempt(timeoutMs, ({ client, health }, { signal, end }) => {
      const read = async (sending: Sending) => {
        const rows: Row[] = [];
        let bytes = 0;
        const pauseIfDue = createPauses();
        for await (const block of await openRows<Row>(client, query, { sending, signal })) {
          for (const row of block) {
            rows.push(row.json<Row>());
            bytes += row.text.length;
            if (bytes > maxBytes) return { rows, isWhole: false, bytes };
          }
          await pauseIfDue();
        }
        return { rows, isWhole: true, bytes };
      };
      return abortableBy(stopping, end, () => health.runWhileResponsive(() => wholeOrInPieces(maxBytes, read), end));
    });
  };

  return {
    database,
    table: (table) => `${sqlName(database)}.${sqlName(table)}`,
    select: async <Row extends readonly unknown[]>(sql: string, options?: SelectOptions & Abortable) =>
      (await selectUpTo<Row>(sql, Number.POSITIVE_INFINITY, options)).rows,
    selectUpTo,
    async *stream<Row extends readonly unknown[]>(
      sql: string,
      { timeoutMs = readTimeoutMs, settings = {}, signal }: SelectOptions & Abortable = {},
    ) {
      const query = withSettings(sql, { ...defaultSettings, ...settings }, timeoutMs);
      if (signal?.aborted) throw unavailable('The query was given up');
      const { client } = serverAt(servers, current % servers.length);
      const stopping = new AbortController();
      const stop = () => stopping.abort();
      const timer = setTimeout(stop, timeoutMs);
      signal?.addEventListener('abort', stop);
      try {
        for await (const rows of await openRows<Row>(client, query, { sending: inPieces, signal: stopping.signal }))
          yield rows.map((row) => row.json<Row>());
        if (stopping.signal.aborted) throw new CallTimeout(timeoutMs);
      } catch (error) {
        throw toProblem(error);
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
        stopping.abort();
      }
    },
    bytes: (sql, format, maxBytes, { timeoutMs = readTimeoutMs, settings = {} } = {}) =>
      attempt(timeoutMs, ({ client }, { signal }) =>
        wholeOrInPieces(maxBytes, async (sending) => {
          const { stream } = await client.exec({
            query: `${withSettings(sql, settings, timeoutMs)} FORMAT ${format}`,
            abort_signal: signal,
            clickhouse_settings: { ...parserLimits, ...cancelOnDisconnect, ...sending },
          });
          signal.addEventListener('abort', () => stream.destroy());
          const pieces: Uint8Array[] = [];
          let bytes = 0;
          for await (const piece of stream) {
            pieces.push(piece);
            bytes += piece.length;
            if (bytes > maxBytes) return { pieces, isWhole: false };
          }
          // Bytes that came in pieces may end with an error that is not told from them.
          return { pieces, isWhole: sending !== inPieces };
        }),
      ),
    command: (sql, { timeoutMs = changeTimeoutMs, signal: stopping } = {}) =>
      attempt(timeoutMs, ({ client }, { signal, end }) => {
        const send = async () =>
          void (await client.command({ query: sql, abort_signal: signal, clickhouse_settings: parserLimits }));
        return abortableBy(stopping, end, send);
      }),
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
          void (await client.query({ query: readOneResponse, abort_signal: signal }).then((result) => result.text())),
      ).then(
        () => true,
        () => false,
      ),
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  };
}

/**
 * A statement may name thousands of values or columns; ClickHouse checks these limits before it reads the statement's
 * own settings.
 */
const parserLimits = { max_query_size: '16777216', max_ast_elements: '1000000', max_expanded_ast_elements: '1000000' };
/** ClickHouse cancels a query on disconnect only if it is read-only. */
const cancelOnDisconnect = { readonly: '2', cancel_http_readonly_queries_on_client_close: 1 } as const;
/** How the server sends a result. */
type Sending = ClickHouseSettings;
/** As it comes. A query that fails half-way has status 200 and an error at the end of its body. */
const inPieces: Sending = {};
/** When it is whole, or an error where it is larger. Twice as much, as numbers may take more memory than as JSON. */
const wholeUpTo = (maxBytes: number): Sending => ({
  wait_end_of_query: 1,
  ...(Number.isFinite(maxBytes) && { max_result_bytes: String(2 * maxBytes), result_overflow_mode: 'throw' }),
});

/**
 * Reads a result of which no more than so many bytes are wanted: whole if it is small, as the embedded server plans only
 * such a query on a thread of its own, and otherwise in pieces, so that no server holds all of it.
 */
async function wholeOrInPieces<T>(maxBytes: number, read: (sending: Sending) => Promise<T>): Promise<T> {
  try {
    return await read(wholeUpTo(maxBytes));
  } catch (error) {
    if (!isResultTooLarge(error)) throw error;
  }
  return read(inPieces);
}

/** Older servers quote 64-bit numbers, and servers before 26.7 read decimals with another last digit. */
const defaultSettings = { output_format_json_quote_64bit_integers: 0, precise_float_parsing: 1 };

/** Rows in blocks, until the signal is aborted. */
async function openRows<Row>(
  client: Server['client'],
  query: string,
  { sending, signal }: { sending: Sending; signal: AbortSignal },
) {
  const result = await client.query({
    query,
    format: 'JSONCompactEachRow',
    abort_signal: signal,
    clickhouse_settings: { ...parserLimits, ...cancelOnDisconnect, ...sending },
  });
  signal.addEventListener('abort', () => result.close());
  return result.stream<Row>();
}

/** The statement with its settings and time limit. */
const withSettings = (sql: string, settings: Readonly<Record<string, number | string>>, timeoutMs: number): string =>
  `${sql} SETTINGS ${inlineSettings({ ...settings, max_execution_time: Math.ceil(timeoutMs / 1000) })}`;

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
  // Each call has its own time limit; this one would also end long commands that send nothing until they are done.
  const client = createClient({
    ...common,
    max_open_connections: 32,
    request_timeout: maxCallMs,
    keep_alive: { enabled: true },
  });
  // A connection of its own, so that it does not wait behind queries.
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
 * The signal of a call and a function to abort it. Not built with AbortSignal.any: Node keeps a combined signal with
 * listeners for ever, and with it the whole call.
 */
interface CallControl {
  signal: AbortSignal;
  end(): void;
}

/** Runs the work; if `stopping` is aborted first, rejects at once and aborts the call. */
async function abortableBy<T>(stopping: AbortSignal | undefined, end: () => void, work: () => Promise<T>): Promise<T> {
  if (!stopping) return work();
  if (stopping.aborted) throw unavailable('The service is stopping');
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => {
      reject(unavailable('The service is stopping'));
      end();
    };
  });
  stopping.addEventListener('abort', stop, { once: true });
  return Promise.race([work(), stopped]).finally(() => stopping.removeEventListener('abort', stop));
}

/**
 * Limits the time of a whole call: the client's own timeout restarts with every byte, and its abort works only until
 * the reply's head.
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
