import type { Redis } from 'ioredis';
import type { ClickHouse } from './clickhouse/client.ts';
import type { Contact } from './contact.ts';
import type { Sql } from './postgres/client.ts';

/*
 * Stores that refuse every call with SERVICE_UNAVAILABLE until they are reached: before that their schema may be
 * missing, or their checks may fail.
 */

interface RunQuery {
  handler(query: RunQuery): unknown;
  reject(error: unknown): void;
}

/** Statements that never run, as parts of others, may be written at any time. */
export function sqlUntilReached(sql: Sql, contact: Contact): Sql {
  const heldBack = (query: unknown): unknown => {
    if (contact.isReached || !isQuery(query)) return query;
    // The client sends a statement when somebody waits for it.
    const { handler } = query;
    query.handler = (own) => {
      const refusal = refusalOf(contact);
      return refusal ? own.reject(refusal) : handler(own);
    };
    return query;
  };
  return new Proxy(sql, {
    apply: (target, self, args) => heldBack(Reflect.apply(target as (...args: unknown[]) => unknown, self, args)),
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (contact.isReached || typeof value !== 'function') return value;
      const call = value as (...args: unknown[]) => unknown;
      if (property === 'unsafe') return (...args: unknown[]) => heldBack(call(...args));
      const isConnecting = property === 'begin' || property === 'reserve';
      return isConnecting ? async (...args: unknown[]) => (contact.require(), call(...args)) : value;
    },
  });
}

const isQuery = (value: unknown): value is RunQuery =>
  value instanceof Promise && 'handler' in value && 'reject' in value;

function refusalOf(contact: Contact): unknown {
  try {
    contact.require();
    return undefined;
  } catch (refusal) {
    return refusal;
  }
}

export function clickhouseUntilReached(clickhouse: ClickHouse, contact: Contact): ClickHouse {
  const { database, table, close } = clickhouse;
  return {
    database, table, close,
    select: async (...args) => (contact.require(), clickhouse.select(...args)),
    bytes: async (...args) => (contact.require(), clickhouse.bytes(...args)),
    command: async (...args) => (contact.require(), clickhouse.command(...args)),
    insert: async (...args) => (contact.require(), clickhouse.insert(...args)),
    ping: async () => contact.isReached && clickhouse.ping(),
  };
}

/**
 * Holds a connection back that would otherwise open itself with the first command: until it is opened, commands fail as
 * without a server. The function opens it and resolves when it can be used.
 */
export function openedLater(redis: Redis): () => Promise<void> {
  const connect = redis.connect.bind(redis);
  let isOpen = false;
  redis.connect = async () => (isOpen ? connect() : Promise.reject(new Error('Connection is closed.')));
  return async () => {
    isOpen = true;
    if (redis.status === 'ready') return;
    // One that was opened before goes on trying by itself.
    if (redis.status === 'wait') await connect();
    else await new Promise<void>((resolve) => void redis.once('ready', () => resolve()));
  };
}
