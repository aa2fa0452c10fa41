import type { Redis } from 'ioredis';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { Sql } from '../postgres/client.ts';
import type { StoreConnection } from './store-connection.ts';

/*
 * Stores that refuse every call with SERVICE_UNAVAILABLE until they are reached: before that their schema may be
 * missing, or their checks may fail.
 */

interface RunQuery {
  handler(query: RunQuery): unknown;
  reject(error: unknown): void;
}

/** Fragments of statements may be created at any time, since they are never sent by themselves. */
export function requireReadySql(sql: Sql, contact: StoreConnection): Sql {
  const rejectUntilReady = (query: unknown): unknown => {
    if (contact.isReady || !isQuery(query)) return query;
    // The client sends a statement only when it is awaited.
    const { handler } = query;
    query.handler = (own) => {
      const refusal = refusalOf(contact);
      return refusal ? own.reject(refusal) : handler(own);
    };
    return query;
  };
  return new Proxy(sql, {
    apply: (target, self, args) =>
      rejectUntilReady(Reflect.apply(target as (...args: unknown[]) => unknown, self, args)),
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (contact.isReady || typeof value !== 'function') return value;
      const call = value as (...args: unknown[]) => unknown;
      if (property === 'unsafe') return (...args: unknown[]) => rejectUntilReady(call(...args));
      const isConnecting = property === 'begin' || property === 'reserve';
      return isConnecting ? whenReady(contact, async (...args: unknown[]) => call(...args)) : value;
    },
  });
}

const isQuery = (value: unknown): value is RunQuery =>
  value instanceof Promise && 'handler' in value && 'reject' in value;

function refusalOf(contact: StoreConnection): unknown {
  try {
    contact.assertReady();
    return undefined;
  } catch (refusal) {
    return refusal;
  }
}

/** The call, rejected at once while the store is away. */
function whenReady<Args extends unknown[], Result>(
  contact: StoreConnection,
  call: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    contact.assertReady();
    return call(...args);
  };
}

export function requireReadyClickHouse(clickhouse: ClickHouse, contact: StoreConnection): ClickHouse {
  const { database, table, close } = clickhouse;
  return {
    database,
    table,
    close,
    async select<Row extends readonly unknown[]>(...args: Parameters<ClickHouse['select']>) {
      contact.assertReady();
      return clickhouse.select<Row>(...args);
    },
    async selectUpTo<Row extends readonly unknown[]>(...args: Parameters<ClickHouse['selectUpTo']>) {
      contact.assertReady();
      return clickhouse.selectUpTo<Row>(...args);
    },
    async *stream<Row extends readonly unknown[]>(...args: Parameters<ClickHouse['stream']>) {
      contact.assertReady();
      yield* clickhouse.stream<Row>(...args);
    },
    bytes: whenReady(contact, clickhouse.bytes),
    command: whenReady(contact, clickhouse.command),
    insert: whenReady(contact, clickhouse.insert),
    ping: async () => contact.isReady && clickhouse.ping(),
  };
}

/**
 * Holds a connection back that would otherwise open itself with the first command: until it is opened, commands fail as
 * without a server. The function opens it and resolves when it can be used.
 */
export function deferConnect(redis: Redis): () => Promise<void> {
  const connect = redis.connect.bind(redis);
  let isOpen = false;
  redis.connect = async () => (isOpen ? connect() : Promise.reject(new Error('Connection is closed.')));
  return async () => {
    isOpen = true;
    if (redis.status === 'ready') return;
    // A connection that was open before reconnects by itself.
    if (redis.status === 'wait') await connect();
    else await new Promise<void>((resolve) => void redis.once('ready', () => resolve()));
  };
}
