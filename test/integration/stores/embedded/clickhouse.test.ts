import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { type ClickHouseClient, ClickHouseError, createClient } from '@clickhouse/client';
import { quiet, useScratchDatabase, whereEmbedded } from '../../../support/scratch-database.ts';

let client: ClickHouseClient;
let url: string;
let database: string;
const { value, table, insertRaw, sendRows } = useScratchDatabase((opened) => ({ client, url, database } = opened));

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
  const wrong = new URL(url);
  wrong.password = 'wrong';
  const stranger = createClient({ ...quiet, url: wrong });
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
    url,
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

test('a table is backed up to a file, and restored from it under its own and another name', whereEmbedded, async () => {
  const name = await table('a UInt64');
  await sendRows(name, Buffer.from('[1]\n[2]\n'));
  const file = `${name}.tar`;
  await client.command({ query: `BACKUP TABLE ${name} TO File('${file}')` });
  await client.command({ query: `DROP TABLE ${name} SYNC` });
  await client.command({ query: `RESTORE TABLE ${name} FROM File('${file}')` });
  await client.command({ query: `RESTORE TABLE ${name} AS ${name}_again FROM File('${file}')` });
  assert.equal(await value(`SELECT sum(a) FROM ${name}`), '3');
  assert.equal(await value(`SELECT sum(a) FROM ${name}_again`), '3');
  const backups = join(String(await value(`SELECT path FROM system.disks WHERE name = 'default'`)), '..', 'backups');
  assert.equal(statSync(backups).mode & 0o777, 0o700);
  rmSync(join(backups, file));
});

test('unqualified names mean the database survey if a request names none', whereEmbedded, async () => {
  const plain = createClient({ ...quiet, url });
  const rows = await (await plain.query({ query: 'SELECT currentDatabase() AS name', format: 'JSONEachRow' })).json();
  await plain.close();
  assert.deepEqual(rows, [{ name: 'survey' }]);
});
