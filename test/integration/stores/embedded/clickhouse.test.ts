import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { eventually } from '../../../support/eventually.ts';
import { type SharedStores, sharedStores } from '../../../support/stores.ts';
import { assertWithin } from '../../../support/time-bars.ts';

let stores: SharedStores;
let client: ClickHouseClient;
const database = `embedded_${randomUUID().replaceAll('-', '')}`;
const isEmbedded = process.env['TEST_CLICKHOUSE_URL']?.includes('127.0.0.1') ?? true;

const quiet = { log: { level: ClickHouseLogLevel.OFF } };

before(async () => {
  stores = await sharedStores();
  const admin = createClient({ ...quiet, url: stores.clickhouseUrl });
  await admin.command({ query: `CREATE DATABASE ${database} ENGINE = Atomic` });
  await admin.close();
  client = createClient({
    ...quiet,
    url: stores.clickhouseUrl,
    database,
    request_timeout: 60_000,
    clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
  });
});

after(async () => {
  await client.command({ query: `DROP DATABASE ${database} SYNC` });
  await client.close();
  await stores.stop();
});

async function value(query: string, params: Record<string, unknown> = {}): Promise<unknown> {
  const result = await client.query({ query, query_params: params, format: 'JSONCompactEachRow' });
  const rows = await result.json<unknown[]>();
  return rows[0]?.[0];
}

async function table(columns: string, settings = ''): Promise<string> {
  const name = `t_${randomUUID().slice(0, 8)}`;
  await client.command({ query: `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY tuple() ${settings}` });
  return name;
}

async function insertRaw(name: string, lines: string, settings: Record<string, string | number> = {}): Promise<void> {
  await client.command({
    query: `INSERT INTO ${name} FORMAT JSONCompactEachRow\n${lines}`,
    clickhouse_settings: settings,
  });
}

async function sendRows(name: string, data: Buffer, settings: Record<string, string | number> = {}): Promise<void> {
  const query = `INSERT INTO ${name} FORMAT JSONCompactEachRow`;
  const { stream } = await client.exec({
    query,
    values: Readable.from([data], { objectMode: false }),
    clickhouse_settings: settings,
  });
  for await (const _ of stream);
}

/** Counts the running queries with these words. */
const runningWith = (mark: string): string =>
  `SELECT count() FROM system.processes WHERE query LIKE '%${mark}%' AND query NOT LIKE '%system.processes%'`;

test('the client pings the server', async () => {
  assert.deepEqual(await client.ping(), { success: true });
});

test('rows that were inserted as objects, as raw bytes and inside the query text are all read back', async () => {
  const name = await table('a UInt64, b String');
  await client.insert({ table: name, values: [{ a: '1', b: 'Zoë "q" \\ \n\t' }], format: 'JSONEachRow' });
  await sendRows(name, Buffer.from('[2, "zwei"]\n[3, "три"]\n'));
  await insertRaw(name, '[4, "四"]');
  await client.command({ query: `INSERT INTO ${name} VALUES (5, 'fünf')` });
  const rows = await (
    await client.query({ query: `SELECT a, b FROM ${name} ORDER BY a`, format: 'JSONEachRow' })
  ).json();
  assert.deepEqual(rows, [
    { a: '1', b: 'Zoë "q" \\ \n\t' },
    { a: '2', b: 'zwei' },
    { a: '3', b: 'три' },
    { a: '4', b: '四' },
    { a: '5', b: 'fünf' },
  ]);
});

test('parameters of every type arrive unchanged', async () => {
  assert.equal(
    await value('SELECT {x:String}', { x: `it's "q" \\ \n \t {y:String} ; --` }),
    `it's "q" \\ \n \t {y:String} ; --`,
  );
  assert.equal(await value('SELECT {x:UInt64}', { x: '18446744073709551615' }), '18446744073709551615');
  assert.deepEqual(await value('SELECT {x:Array(String)}', { x: [`a'b`, 'c\\d', ''] }), [`a'b`, 'c\\d', '']);
  assert.equal(await value('SELECT {x:Nullable(String)} IS NULL', { x: null }), 1);
  assert.deepEqual(await value('SELECT {x:Map(String, UInt8)}', { x: { k: 1 } }), { k: 1 });
  assert.equal(
    await value('SELECT toString({x:DateTime64(3)})', { x: new Date('2026-01-02T03:04:05.678Z') }),
    '2026-01-02 03:04:05.678',
  );
  assert.equal(await value('SELECT count() FROM {x:Identifier}', { x: await table('a UInt8') }), '0');
});

test('parameters too long for a URL are sent as a form', async () => {
  const x = Array.from({ length: 2_000 }, (_, n) => `value ${n}`);
  const result = await client.query({
    query: 'SELECT length({x:Array(String)}) AS n',
    query_params: { x },
    format: 'JSONEachRow',
    use_multipart_params: true,
  });
  assert.deepEqual(await result.json(), [{ n: '2000' }]);
});

test('a refused query is an error with the number and the name that ClickHouse gives it', async () => {
  const expected: [string, string, string][] = [
    ['SELEC 1', '62', 'SYNTAX_ERROR'],
    ['SELECT * FROM no_such_table', '60', 'UNKNOWN_TABLE'],
    ['SELECT throwIf(1)', '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
    ['SELECT {x:UInt8}', '456', 'UNKNOWN_QUERY_PARAMETER'],
    ['SELECT 1; SELECT 2', '62', 'SYNTAX_ERROR'],
  ];
  for (const [query, code, type] of expected) {
    await assert.rejects(
      value(query),
      (error) => error instanceof ClickHouseError && error.code === code && error.type === type,
      query,
    );
  }
});

test('a wrong password is refused, and a wrong setting too', async () => {
  const url = new URL(stores.clickhouseUrl);
  url.password = 'wrong';
  const stranger = createClient({ ...quiet, url });
  await assert.rejects(
    stranger.query({ query: 'SELECT 1' }),
    (error) => error instanceof ClickHouseError && error.code === '516',
  );
  await stranger.close();
  await assert.rejects(
    client.query({ query: 'SELECT 1', clickhouse_settings: { no_such_setting: 1 } as never }),
    (error) => error instanceof ClickHouseError && error.code === '115',
  );
});

test('a setting applies to its own query only', async () => {
  const threads = await client.query({
    query: `SELECT getSetting('max_threads') AS n`,
    format: 'JSONEachRow',
    clickhouse_settings: { max_threads: 1, readonly: '1' },
  });
  assert.deepEqual(await threads.json(), [{ n: 1 }]);
  const later = await Promise.all(
    Array.from({ length: 20 }, () =>
      value(`SELECT toString(getSetting('max_threads')) || toString(getSetting('readonly'))`),
    ),
  );
  assert.deepEqual(
    later.filter((seen) => seen === '11'),
    [],
  );
});

test('an insert with a repeated token is stored once, with another token again', async () => {
  const name = await table('a UInt64', 'SETTINGS non_replicated_deduplication_window = 100');
  for (const token of ['one', 'one', 'two'])
    await sendRows(name, Buffer.from('[1]\n[2]\n'), { insert_deduplication_token: token, async_insert: 0 });
  assert.equal(await value(`SELECT count() FROM ${name}`), '4');
  await client.command({
    query: `INSERT INTO ${name} SETTINGS insert_deduplication_token='two' FORMAT JSONCompactEachRow\n[1]\n[2]`,
  });
  assert.equal(await value(`SELECT count() FROM ${name}`), '4');
});

test('an insert of 60 MB with a bad last row leaves nothing; without it, all rows in one part', async () => {
  const name = await table('a UInt64, b String');
  const rows = Array.from({ length: 600_000 }, (_, n) => `[${n}, "${'x'.repeat(90)}"]`);
  await assert.rejects(
    sendRows(name, Buffer.from([...rows, '[oops'].join('\n'))),
    (error) => error instanceof ClickHouseError,
  );
  assert.equal(await value(`SELECT count() FROM ${name}`), '0');
  await sendRows(name, Buffer.from(rows.join('\n')));
  assert.equal(await value(`SELECT count() FROM ${name}`), '600000');
  assert.equal(
    await value(
      `SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = {name:String} AND level = 0`,
      { name },
    ),
    '1',
  );
});

test('three million rows are streamed, each once, in any row format', async () => {
  for (const format of ['CSVWithNames', 'JSONCompactEachRow', 'TabSeparated'] as const) {
    const { stream } = await client.exec({
      query: `SELECT number, number * 2 AS twice FROM numbers(3000000) FORMAT ${format}`,
    });
    let lines = 0;
    let headers = 0;
    for await (const piece of stream) {
      const bytes: Buffer = piece;
      for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++;
      if (bytes.includes('"twice"')) headers++;
    }
    assert.equal(lines, format === 'CSVWithNames' ? 3_000_001 : 3_000_000);
    assert.equal(headers, format === 'CSVWithNames' ? 1 : 0);
  }
});

test('a Parquet result is one valid file that can be inserted again', async () => {
  const name = await table('a UInt64, b String');
  const { stream } = await client.exec({
    query: `SELECT number AS a, toString(number) AS b FROM numbers(200000) FORMAT Parquet SETTINGS max_threads = 2`,
  });
  const file = Buffer.concat(await stream.toArray());
  assert.equal(file.subarray(0, 4).toString(), 'PAR1');
  assert.equal(file.subarray(-4).toString(), 'PAR1');
  const { stream: reply } = await client.exec({
    query: `INSERT INTO ${name} FORMAT Parquet`,
    values: Readable.from([file], { objectMode: false }),
  });
  for await (const _ of reply);
  assert.equal(
    await value(`SELECT concat(toString(count()), '/', toString(sum(a))) FROM ${name}`),
    '200000/19999900000',
  );
});

test('compressed requests and replies are understood', async () => {
  const gzip = createClient({
    ...quiet,
    url: stores.clickhouseUrl,
    database,
    compression: { request: true, response: true },
    clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
  });
  const name = await table('a UInt64');
  await gzip.insert({ table: name, values: Array.from({ length: 1_000 }, (_, a) => ({ a })), format: 'JSONEachRow' });
  const rows = await (await gzip.query({ query: `SELECT sum(a) AS s FROM ${name}`, format: 'JSONEachRow' })).json();
  assert.deepEqual(rows, [{ s: '499500' }]);
  await gzip.close();
});

test('an error in the middle of a stream is an error for the reader, never a short result', async () => {
  const query =
    'SELECT number, throwIf(number = 2900000) FROM numbers(3000000) SETTINGS max_threads = 1, max_block_size = 65536';
  const result = await client.query({ query, format: 'JSONEachRow' });
  await assert.rejects(async () => {
    for await (const _ of result.stream());
  });
  await assert.rejects(async () => {
    const { stream } = await client.exec({
      query: `${query} FORMAT TabSeparated`.replace(/(SETTINGS.*) (FORMAT.*)$/, '$2 $1'),
    });
    for await (const _ of stream);
  });
});

test('a query with subqueries returns its whole result, small or large', async () => {
  assert.equal(
    await value('SELECT sum(n) FROM (SELECT number AS n FROM numbers(1000)) WHERE n > (SELECT 500)'),
    '374250',
  );
  const { stream } = await client.exec({
    query: `SELECT n, 'some text to make it large' FROM (SELECT number AS n FROM numbers(2000000)) FORMAT TabSeparated`,
  });
  let lines = 0;
  for await (const piece of stream) for (const byte of piece as Buffer) if (byte === 10) lines++;
  assert.equal(lines, 2_000_000);
});

test('a heavy scalar subquery does not hold up the other requests', {
  skip: isEmbedded ? false : 'the ClickHouse that was given is not the embedded one',
}, async () => {
  const leaving = new AbortController();
  const mark = randomUUID();
  let isDone = false;
  // Half a minute of it, or until it is left, however slow the machine.
  const ended = client
    .query({
      query: `SELECT 1, '${mark}' WHERE 1 != (SELECT count() FROM numbers(30) WHERE sleepEachRow(1) = 1)
        SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 60000000`,
      format: 'JSONCompactEachRow',
      abort_signal: leaving.signal,
    })
    .then(
      () => (isDone = true),
      () => (isDone = true),
    );
  await eventually(async () => assert.equal(await value(runningWith(mark)), '1'));
  for (let answered = 0; answered < 20; answered++) await value('SELECT 1');
  assert.equal(isDone, false, 'the small queries waited for the heavy one');
  leaving.abort();
  await ended;
});

test('a heavy scalar subquery of a large result does not hold up pings', {
  skip: isEmbedded ? false : 'the ClickHouse that was given is not the embedded one',
}, async () => {
  const large = client.exec({
    query: `SELECT number, 'some text to make it large' FROM numbers(2000000)
      WHERE number != (SELECT count() FROM numbers(100000000) WHERE sipHash64(number) = 1) FORMAT TabSeparated`,
  });
  let isDone = false;
  const lines = (async () => {
    let count = 0;
    for await (const piece of (await large).stream) for (const byte of piece as Buffer) if (byte === 10) count++;
    return count;
  })().finally(() => {
    isDone = true;
  });
  let slowestMs = 0;
  while (!isDone) {
    const begunAt = performance.now();
    const reply = await fetch(new URL('/ping', new URL(stores.clickhouseUrl).origin));
    await reply.text();
    slowestMs = Math.max(slowestMs, performance.now() - begunAt);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok((await lines) >= 1_999_999);
  assertWithin(500, slowestMs, 'a ping');
});

test('columns are added while two long changes are running', {
  skip: isEmbedded ? false : 'the ClickHouse that was given is not the embedded one',
}, async () => {
  const busy = await Promise.all(
    ['a UInt64', 'b UInt64'].map(async (columns) => {
      // Twenty parts of two seconds each: the changes go on until they are ended, however slow the machine.
      const name = await table(columns, `PARTITION BY ${columns[0]} % 20`);
      await insertRaw(name, Array.from({ length: 800 }, (_, n) => `[${n}]`).join('\n'));
      return name;
    }),
  );
  const wide = await table('a UInt64');
  let isDone = false;
  const changes = busy.map((name) =>
    client
      .command({
        query: `ALTER TABLE ${name} DELETE WHERE sleepEachRow(0.05) = 1 SETTINGS mutations_sync = 2`,
        clickhouse_settings: {
          mutations_execute_nondeterministic_on_initiator: 0,
          allow_nondeterministic_mutations: 1,
        },
      })
      .finally(() => {
        isDone = true;
      }),
  );
  const ends = Promise.allSettled(changes);
  const running = 'SELECT count() FROM system.mutations WHERE database = currentDatabase() AND NOT is_done';
  await eventually(async () => assert.equal(await value(running), '2'));
  await client.command({ query: `ALTER TABLE ${wide} ADD COLUMN IF NOT EXISTS c UInt8` });
  await client.command({ query: `ALTER TABLE ${wide} MODIFY SETTING min_bytes_for_wide_part = 1000` });
  assert.equal(isDone, false, 'the columns waited for the changes');
  await client.command({ query: 'KILL MUTATION WHERE database = currentDatabase()' });
  assert.deepEqual(
    (await ends).map((end) => end.status === 'rejected' && end.reason.type),
    ['UNFINISHED', 'UNFINISHED'],
  );
});

test('inserts run while eight queries are running', async () => {
  const name = await table('a UInt64');
  let inserted = 0;
  const heavy = Array.from({ length: 8 }, (_, n) =>
    value(`SELECT count() FROM numbers(5000000) WHERE sipHash64(number, {n:UInt8}) % 7 = 0`, { n }),
  );
  const inserts = (async () => {
    for (let n = 0; n < 10; n++) await sendRows(name, Buffer.from(`[${n}]\n`)).then(() => inserted++);
  })();
  const counts = await Promise.all(heavy);
  await inserts;
  assert.equal(new Set(counts).size, 8);
  assert.equal(inserted, 10);
});

test('a query is cancelled when its client disconnects or max_execution_time passes', async () => {
  const controller = new AbortController();
  const mark = randomUUID();
  const slow = client.query({
    query: `SELECT count(), '${mark}' FROM numbers(1000000000000) WHERE sipHash64(number) = 1`,
    abort_signal: controller.signal,
  });
  await eventually(async () => assert.equal(await value(runningWith(mark)), '1'));
  controller.abort();
  await assert.rejects(slow);
  await eventually(async () => assert.equal(await value(runningWith(mark)), '0'));
  const endless = client.query({
    query: 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1',
    clickhouse_settings: { max_execution_time: 1 },
  });
  await assert.rejects(endless, (error) => error instanceof ClickHouseError && error.type === 'TIMEOUT_EXCEEDED');
});

test('rows are deleted and changed by mutations', async () => {
  const name = await table('a UInt64');
  await sendRows(name, Buffer.from('[1]\n[2]\n[3]\n'));
  await client.command({ query: `DELETE FROM ${name} WHERE a = {a:UInt64}`, query_params: { a: 2 } });
  await client.command({ query: `OPTIMIZE TABLE ${name} FINAL` });
  await client.command({
    query: `ALTER TABLE ${name} UPDATE a = 9 WHERE a = 3`,
    clickhouse_settings: { mutations_sync: '1' },
  });
  const rows = await (
    await client.query({ query: `SELECT a FROM ${name} ORDER BY a`, format: 'JSONCompactEachRow' })
  ).json<unknown[]>();
  assert.deepEqual(rows.flat(), ['1', '9']);
});

test('unqualified names mean the database survey if a request names none', {
  skip: isEmbedded ? false : 'the ClickHouse that was given is not the embedded one',
}, async () => {
  const plain = createClient({ ...quiet, url: stores.clickhouseUrl });
  const rows = await (await plain.query({ query: 'SELECT currentDatabase() AS name', format: 'JSONEachRow' })).json();
  await plain.close();
  assert.deepEqual(rows, [{ name: 'survey' }]);
});
