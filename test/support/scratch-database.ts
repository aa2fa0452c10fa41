import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before } from 'node:test';
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { type SharedStores, sharedStores } from './stores.ts';

export const quiet = { log: { level: ClickHouseLogLevel.OFF } };

/** Options of a test that only the embedded ClickHouse passes. */
export const whereEmbedded = {
  skip:
    (process.env['TEST_CLICKHOUSE_URL']?.includes('127.0.0.1') ?? true)
      ? false
      : 'the ClickHouse that was given is not the embedded one',
};

export interface ScratchDatabase {
  client: ClickHouseClient;
  /** Of the server, with the password. */
  url: string;
  database: string;
}

/** A database of its own for the tests of a file: given to `take` before the first of them, dropped after the last. */
export function useScratchDatabase(take: (opened: ScratchDatabase) => void) {
  const database = `embedded_${randomUUID().replaceAll('-', '')}`;
  let stores: SharedStores;
  let client: ClickHouseClient;
  before(async () => {
    stores = await sharedStores();
    const url = stores.clickhouseUrl;
    const admin = createClient({ ...quiet, url });
    await admin.command({ query: `CREATE DATABASE ${database} ENGINE = Atomic` });
    await admin.close();
    client = createClient({
      ...quiet,
      url,
      database,
      request_timeout: 60_000,
      clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
    });
    take({ client, url, database });
  });
  after(async () => {
    await client.command({ query: `DROP DATABASE ${database} SYNC` });
    await client.close();
    await stores.stop();
  });

  /** The first value of the first row. */
  async function value(query: string, params: Record<string, unknown> = {}): Promise<unknown> {
    const result = await client.query({ query, query_params: params, format: 'JSONCompactEachRow' });
    const rows = await result.json<unknown[]>();
    return rows[0]?.[0];
  }

  /** Creates a table of these columns; gives its name. */
  async function table(columns: string, settings = ''): Promise<string> {
    const name = `t_${randomUUID().slice(0, 8)}`;
    await client.command({
      query: `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY tuple() ${settings}`,
    });
    return name;
  }

  /** Inserts rows inside the text of the query. */
  async function insertRaw(name: string, lines: string): Promise<void> {
    await client.command({ query: `INSERT INTO ${name} FORMAT JSONCompactEachRow\n${lines}` });
  }

  /** Inserts rows as a stream of bytes beside the query. */
  async function sendRows(name: string, data: Buffer, settings: Record<string, string | number> = {}): Promise<void> {
    const query = `INSERT INTO ${name} FORMAT JSONCompactEachRow`;
    const { stream } = await client.exec({
      query,
      values: Readable.from([data], { objectMode: false }),
      clickhouse_settings: settings,
    });
    for await (const _ of stream);
  }

  return { value, table, insertRaw, sendRows };
}
