import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client';
import { eventually } from '../../../support/eventually.ts';
import { useScratchDatabase, whereEmbedded } from '../../../support/scratch-database.ts';
import { assertWithin } from '../../../support/time-bars.ts';

let client: ClickHouseClient;
let url: string;
const { value, table, insertRaw, sendRows } = useScratchDatabase((opened) => ({ client, url } = opened));

/** Counts the running queries with these words. */
const runningWith = (mark: string): string =>
  `SELECT count() FROM system.processes WHERE query LIKE '%${mark}%' AND query NOT LIKE '%system.processes%'`;

test('a heavy scalar subquery does not hold up the other requests', whereEmbedded, async () => {
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

test('a heavy scalar subquery of a large result does not hold up pings', whereEmbedded, async () => {
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
    const reply = await fetch(new URL('/ping', new URL(url).origin));
    await reply.text();
    slowestMs = Math.max(slowestMs, performance.now() - begunAt);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok((await lines) >= 1_999_999);
  assertWithin(500, slowestMs, 'a ping');
});

test('columns are added while two long changes are running', whereEmbedded, async () => {
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
