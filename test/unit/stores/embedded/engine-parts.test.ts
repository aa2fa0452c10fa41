import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Session } from 'chdb';
import type { Engine, QueryScope } from '../../../../src/stores/embedded/engine/engine.ts';
import { toEngineError } from '../../../../src/stores/embedded/engine/exception.ts';
import { formatKind, headerLength } from '../../../../src/stores/embedded/engine/formats.ts';
import { readMultipart } from '../../../../src/stores/embedded/engine/http/request.ts';
import { createEngineServer } from '../../../../src/stores/embedded/engine/http/server.ts';
import { insertData } from '../../../../src/stores/embedded/engine/insert.ts';
import { runIfSmall } from '../../../../src/stores/embedded/engine/output.ts';
import { queueOf } from '../../../../src/stores/embedded/engine/query-text.ts';

test('reading and changing statements have different queues', () => {
  const queue = (sql: string) => queueOf(sql.split(' ')[0] ?? '', sql);
  for (const sql of ['SELECT 1', 'SHOW TABLES', 'WITH 1 AS insert_count SELECT 1'])
    assert.equal(queue(sql), 'read', sql);
  for (const sql of [
    'ALTER TABLE t DELETE WHERE 1',
    'DELETE FROM t',
    'OPTIMIZE TABLE t',
    'INSERT INTO t SELECT 1',
    'WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x',
  ]) {
    assert.equal(queue(sql), 'change', sql);
  }
  assert.equal(queue('CREATE TABLE t'), 'schema');
});

test('the header of a piece may contain quoted line ends and a second line of types', () => {
  const length = (text: string, rows: number, syntax: 'csv' | 'lines') => headerLength(Buffer.from(text), rows, syntax);
  assert.equal(length('"a\nb","c ""d"""\n1,2\n', 1, 'csv'), 16);
  assert.equal(length('a\tb\nUInt8\tString\n1\tx\n', 2, 'lines'), 17);
  assert.equal(length('"only"\n', 1, 'csv'), 7);
});

test('formats with a footer are never sent in pieces', () => {
  assert.deepEqual(formatKind('parquet'), { kind: 'file' });
  assert.deepEqual(formatKind('JSON'), { kind: 'whole' });
  assert.deepEqual(formatKind('SomethingNew'), { kind: 'whole' });
  assert.deepEqual(formatKind('JSONEachRow'), { kind: 'rows' });
  assert.deepEqual(formatKind('CSVWithNames'), { kind: 'header', rows: 1, syntax: 'csv' });
});

test('a small result that is wanted whole is read on a thread of its own, whatever the query is', async () => {
  const reads: string[] = [];
  const engine = {
    use: async (_queue, { settings }, work) =>
      work({
        session: {
          queryAsync: async (sql: string) => {
            reads.push(sql);
            if (sql.includes('large')) throw new Error(`Code: 396. ${settings.get('max_result_bytes')} bytes at most`);
            return { bytes: () => Buffer.from('[1]\n') };
          },
        } as unknown as Session,
        runInQueue: (call) => call(),
      }),
  } satisfies Pick<Engine, 'use'>;
  const scope = { database: 'd', settings: new Map(), parameters: new Map(), signal: new AbortController().signal };
  const read = (
    sql: string,
    {
      format = 'JSONCompactEachRow',
      isTriedWhole = true,
      settings = scope.settings as ReadonlyMap<string, string>,
    } = {},
  ) =>
    runIfSmall(
      engine,
      { ...scope, settings },
      { sql, format, hasFormat: false, isStreamable: true, isTriedWhole, spool: 'unused' },
    );
  assert.equal(String(await read('SELECT a FROM t')), '[1]\n');
  assert.equal(await read('SELECT large FROM t'), undefined);
  assert.equal(await read('SELECT a FROM t', { format: 'Parquet' }), undefined);
  assert.equal(await read('SELECT a FROM t', { isTriedWhole: false }), undefined);
  await assert.rejects(read('SELECT large FROM t', { settings: new Map([['max_result_bytes', '7']]) }), / 7 bytes /);
  assert.deepEqual(reads, ['SELECT a FROM t', 'SELECT large FROM t', 'SELECT large FROM t']);
});

test('a SELECT is tried whole where its reply is wanted at its end or it has subqueries, and streamed otherwise', async () => {
  const tries: boolean[] = [];
  const engine = {
    use: async (_queue: string, { settings }: QueryScope) => {
      tries.push(settings.has('max_result_bytes'));
      throw new Error('Code: 1. For this test');
    },
    selectValue: async () => 'FOR_THIS_TEST',
  } as unknown as Engine;
  const server = createEngineServer({ engine, password: 'p', displayName: 'd', spoolDir: tmpdir() });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  for (const [query, more] of [
    ['SELECT 1', '&wait_end_of_query=1'],
    ['SELECT (SELECT 1)', ''],
    ['SELECT 1', ''],
  ])
    await (
      await fetch(
        `http://127.0.0.1:${port}/?password=p&query=${encodeURIComponent(`${query} FORMAT JSONEachRow`)}${more}`,
      )
    ).text();
  server.close();
  assert.deepEqual(tries, [true, true, false]);
});

test('an error message begins with one code and ends with its name', async () => {
  const engine = { selectValue: async () => 'CANNOT_PARSE_INPUT_ASSERTION_FAILED' };
  const doubled = await toEngineError(
    new Error('Code: 27. DB::Exception: Code: 27. DB::Exception: Cannot parse input'),
    engine,
  );
  assert.equal(doubled.message, 'Code: 27. DB::Exception: Cannot parse input (CANNOT_PARSE_INPUT_ASSERTION_FAILED)');
  assert.equal(doubled.code, 27);
  const named = await toEngineError(new Error('Code: 60. DB::Exception: No table. (UNKNOWN_TABLE)'), engine);
  assert.equal(named.message, 'Code: 60. DB::Exception: No table. (UNKNOWN_TABLE)');
  assert.equal(
    (await toEngineError(new Error('odd'), { selectValue: async () => Promise.reject(new Error()) })).message,
    'Code: 1002. DB::Exception: odd (UNKNOWN_EXCEPTION)',
  );
});

test('fields of a form keep line ends and umlauts', () => {
  const body =
    '--b\r\nContent-Disposition: form-data; name="query"\r\n\r\nSELECT {x:String}\r\n--b\r\nContent-Disposition: form-data; name="param_x"\r\n\r\nä\r\nb\r\n--b--\r\n';
  assert.deepEqual(
    [...(readMultipart('multipart/form-data; boundary=b', Buffer.from(body)) ?? [])],
    [
      ['query', 'SELECT {x:String}'],
      ['param_x', 'ä\r\nb'],
    ],
  );
  assert.equal(readMultipart('text/plain', Buffer.from(body)), undefined);
});

test('what a full disk does not take of an insert is not left there', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'spool-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const spool = join(dir, 'spool');
  // A device on which every write fails as on a full disk. Whatever is there under the name of the file is to go.
  symlinkSync('/dev/full', spool);
  const never = () => assert.fail('nothing is inserted');
  const query = { session: { queryAsync: never }, runInQueue: never };
  const head = { target: 'INSERT INTO t', settings: undefined, format: 'JSONCompactEachRow', dataStart: 0 };
  await assert.rejects(insertData(query, head, Buffer.from('["a"]'), spool), { code: 'ENOSPC' });
  assert.deepEqual(readdirSync(dir), []);
});
