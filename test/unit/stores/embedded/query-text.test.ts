import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readInsertHead } from '../../../../src/stores/embedded/engine/insert.ts';
import { isShutdown, queueOf, readQuery, tokens } from '../../../../src/stores/embedded/engine/query-text.ts';

test('the verb, the format and the end of a query are found behind comments, strings and blanks', () => {
  const read = readQuery(
    `/* FORMAT CSV */ -- x\n ( select 'FORMAT TSV;' AS format FROM t )\nFORMAT\n JSONEachRow SETTINGS a = 1 ;\n -- end`,
  );
  assert.equal(read.verb, 'SELECT');
  assert.equal(read.format, 'JSONEachRow');
  assert.ok(read.sql.endsWith('SETTINGS a = 1'));
  assert.equal(read.hasSeveral, false);
});

test('a column called format is not taken for the output format', () => {
  for (const sql of [
    'SELECT format FROM t',
    'SELECT format AS x',
    'SELECT format, b FROM t',
    `SELECT 'x' AS format`,
    'SELECT "FORMAT" CSV FROM t WHERE a',
  ]) {
    assert.equal(readQuery(sql).format, undefined, sql);
  }
});

test('a second statement is recognised, unlike a semicolon at the end or in a string', () => {
  assert.equal(readQuery('SELECT 1; DROP TABLE t').hasSeveral, true);
  for (const sql of [
    'SELECT 1;',
    'SELECT 1 ;; \n',
    `SELECT ';x'`,
    'SELECT 1 -- ; x',
    'SELECT $a$ ; $a$',
    'SELECT `a;b`',
  ])
    assert.equal(readQuery(sql).hasSeveral, false, sql);
});

test('a statement that would end the server is known by its words, whatever stands between them', () => {
  for (const sql of ['SYSTEM SHUTDOWN', 'system /* x */ kill', '-- x\nSystem\tShutdown'])
    assert.equal(isShutdown(sql), true, sql);
  for (const sql of ['SYSTEM FLUSH LOGS', `SELECT 'SYSTEM SHUTDOWN'`, 'KILL QUERY WHERE 1', 'SYSTEM', ''])
    assert.equal(isShutdown(sql), false, sql);
});

test('statements that only change a schema have a queue of their own, those that rewrite rows have not', () => {
  const queueFor = (sql: string) => queueOf(readQuery(sql).verb, sql);
  for (const sql of [
    'ALTER TABLE t ADD COLUMN IF NOT EXISTS c1 UInt16 DEFAULT 0 CODEC(T64, LZ4), ADD COLUMN c2 UInt16',
    'alter table t modify setting a = 1',
    'CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a',
  ])
    assert.equal(queueFor(sql), 'schema', sql);
  for (const sql of [
    'ALTER TABLE t DELETE WHERE a = 1',
    'ALTER TABLE t ADD COLUMN c UInt8, DELETE WHERE 1',
    'ALTER TABLE t MATERIALIZE PROJECTION hours',
    'DELETE FROM t WHERE a = 1',
    'OPTIMIZE TABLE t FINAL',
    'CREATE TABLE t ENGINE = Memory AS SELECT 1',
  ])
    assert.equal(queueFor(sql), 'change', sql);
});

test('tokens are in order and do not overlap, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...`'"\`\\$;-/*# \n()a1=,é`), maxLength: 40 }), (text) => {
      let end = 0;
      for (const token of tokens(text)) {
        assert.ok(token.start >= end && token.end > token.start);
        assert.equal(text.slice(token.start, token.end), token.text);
        end = token.end;
      }
      assert.ok(end <= text.length);
    }),
  );
});

test('a quoted literal is one token', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const quoted = `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
      assert.deepEqual(
        [...tokens(quoted)].map((token) => token.text),
        [quoted],
      );
    }),
  );
});

test('the head of an INSERT is separated from its data wherever the data begins', () => {
  const read = (text: string) => {
    const body = Buffer.from(text);
    const head = readInsertHead(body);
    return head && { ...head, data: body.subarray(head.dataStart).toString(), dataStart: undefined };
  };
  assert.deepEqual(
    read(`insert into survey.\`t\` (a, \`b\`) SETTINGS x=1, y='FORMAT' FORMAT JSONCompactEachRow\n[1,"ü"]\n`),
    {
      target: 'insert into survey.`t` (a, `b`)',
      settings: `x=1, y='FORMAT'`,
      format: 'JSONCompactEachRow',
      data: '[1,"ü"]\n',
      dataStart: undefined,
    },
  );
  assert.equal(read('INSERT INTO t FORMAT CSV 1,2')?.data, '1,2');
  assert.equal(read('INSERT INTO t FORMAT TSV \r\n\tb')?.data, '\tb');
  assert.equal(read('INSERT INTO "größe" FORMAT CSV\n1')?.target, 'INSERT INTO "größe"');
});

test('only an INSERT with inline data has a head', () => {
  for (const text of [
    'SELECT 1 FORMAT CSV',
    `INSERT INTO t SELECT 1 FORMAT CSV`,
    'INSERT INTO t (a) VALUES (1)',
    `INSERT INTO t FROM INFILE 'x' FORMAT CSV`,
    'INSERT INTO t WITH 1 AS x SELECT x',
    'INSERT INTO t SETTINGS a=1; DROP TABLE t; SET b=1 FORMAT CSV',
    '',
  ]) {
    assert.equal(readInsertHead(Buffer.from(text)), undefined, text);
  }
});
