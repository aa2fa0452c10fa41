import assert from 'node:assert/strict';
import { once } from 'node:events';
import { ClientRequest, createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { queryObjects } from 'node:v8';
import { Problem } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { type ClickHouse, createClickHouse } from '../../../../src/stores/clickhouse/client.ts';
import { createCrosstabStore } from '../../../../src/stores/clickhouse/counts/crosstab.ts';
import { createTotalsStore } from '../../../../src/stores/clickhouse/counts/totals.ts';
import { createResponseStore } from '../../../../src/stores/clickhouse/responses.ts';
import { eventually } from '../../../support/eventually.ts';
import { openResponseDatabase, type ResponseDatabase, responseLine } from '../../../support/response-database.ts';
import { sharedStores } from '../../../support/stores.ts';
import { assertWithin } from '../../../support/time-bars.ts';

let database: ResponseDatabase;
let target: URL;
const log = createLog('silent');
/** A silence is noticed soon, but a busy machine may stop ClickHouse for a second or two without being taken for it. */
const healthOptions = { pingAfterMs: 50, unresponsiveAfterMs: 3000 };
/** Lines are open until the end also where a test fails: each would keep the file from ending. */
const lines: { close(): Promise<void> }[] = [];

before(async () => {
  database = await openResponseDatabase();
  target = new URL((await sharedStores()).clickhouseUrl);
});

after(async () => {
  for (const line of lines) await line.close();
  await database.close();
});

type Fault = 'none' | 'refused' | 'silent' | 'cut';

/** Stands between a client and ClickHouse and can break the line in three ways. */
async function openLine() {
  const sockets = new Set<Socket>();
  const state = { fault: 'none' as Fault };
  const server: Server = createTcpServer((client) => {
    sockets.add(client.on('error', () => {}));
    if (state.fault === 'refused') return void client.destroy();
    if (state.fault === 'silent') return;
    const upstream = connect(Number(target.port), target.hostname).on('error', () => client.destroy());
    sockets.add(upstream);
    client.pipe(upstream);
    if (state.fault === 'cut') upstream.once('data', (chunk) => client.end(chunk.subarray(0, chunk.length - 2)));
    else upstream.pipe(client);
    client.on('close', () => upstream.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  url.pathname = `/${database.clickhouse.database}`;
  const line = {
    url: url.href,
    break(fault: Fault) {
      state.fault = fault;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  lines.push(line);
  return line;
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof Problem &&
  error.code === 'SERVICE_UNAVAILABLE' &&
  error.retryAfterSeconds !== undefined &&
  !/select|127\.0/i.test(error.message);

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work;
  assertWithin(ms, performance.now() - startedAt);
  return result;
}

function everyRead(clickhouse: ClickHouse): Record<string, () => Promise<unknown>> {
  const responses = createResponseStore({ clickhouse });
  const surveyId = newId();
  const dimension = { categories: [], source: { kind: 'code', slot: 0 } } as const;
  return {
    findAll: () => responses.findAll(newId()),
    list: () => responses.list({ surveyId, limit: 5 }),
    countOf: () => responses.countBySurvey([surveyId]),
    answeredSlots: () => responses.hasAnswersAt(surveyId, [1]),
    stream: () => responses.stream({ surveyId }).next(),
    countSurvey: () => createTotalsStore({ clickhouse }).countSurvey({ surveyId, plans: [] }),
    countCrosstab: () =>
      createCrosstabStore({ clickhouse }).countCrosstab({ surveyId, rows: dimension, columns: dimension }),
  };
}

test('while ClickHouse is down every read is refused at once, and reads work again when it is back', async () => {
  const line = await openLine();
  const clickhouse = createClickHouse({ urls: [line.url], log });
  const reads = everyRead(clickhouse);
  for (const read of Object.values(reads)) await read();
  await eventually(async () => assert.equal(await clickhouse.ping(), true));
  line.break('refused');
  for (const [name, read] of Object.entries(reads)) await within(10_000, assert.rejects(read, isUnavailable, name));
  assert.equal(await clickhouse.ping(), false);
  line.break('none');
  for (const read of Object.values(reads)) await read();
  await eventually(async () => assert.equal(await clickhouse.ping(), true));
  await clickhouse.close();
});

test('a read succeeds after a restart that has cut idle connections', async () => {
  const line = await openLine();
  const clickhouse = createClickHouse({ urls: [line.url], log });
  await clickhouse.select('SELECT 1');
  line.break('none');
  assert.deepEqual(await clickhouse.select('SELECT 1'), [[1]]);
  await clickhouse.close();
});

test('a call to a server that does not answer fails within its time limit', async () => {
  const line = await openLine();
  const clickhouse = createClickHouse({ urls: [line.url], log });
  line.break('silent');
  await within(5000, assert.rejects(clickhouse.select('SELECT 1', { timeoutMs: 500 }), isUnavailable));
  await within(
    8000,
    clickhouse.ping().then((isUp) => assert.equal(isUp, false)),
  );
  await clickhouse.close();
});

test('a silent server is recognised: reads are refused long before their time limit, later ones at once, and work again when it replies', async () => {
  const line = await openLine();
  const clickhouse = createClickHouse({ urls: [line.url], log, healthOptions });
  const reads = everyRead(clickhouse);
  for (const read of Object.values(reads)) await read();
  line.break('silent');
  await within(
    8000,
    Promise.all(Object.entries(reads).map(([name, read]) => assert.rejects(read, isUnavailable, name))),
  );
  for (const [name, read] of Object.entries(reads)) await within(1000, assert.rejects(read, isUnavailable, name));
  line.break('none');
  await eventually(() => clickhouse.select('SELECT 1'));
  for (const read of Object.values(reads)) await read();
  await clickhouse.close();
});

test('a server that is only busy may take its time', async () => {
  const clickhouse = createClickHouse({ urls: [target.href], log, healthOptions });
  const rows = await clickhouse.select('SELECT sleepEachRow(1) FROM numbers(4)', {
    settings: { function_sleep_max_microseconds_per_block: 5_000_000 },
  });
  assert.deepEqual(rows, [[0], [0], [0], [0]]);
  await clickhouse.close();
});

test('with several servers the next one is used while one is silent', async () => {
  const [one, two] = await Promise.all([openLine(), openLine()]);
  const clickhouse = createClickHouse({ urls: [one.url, two.url], log, healthOptions });
  one.break('silent');
  for (let call = 0; call < 3; call += 1) assert.deepEqual(await within(8000, clickhouse.select('SELECT 1')), [[1]]);
  await clickhouse.close();
});

test('a truncated reply is an error', async () => {
  const line = await openLine();
  const clickhouse = createClickHouse({ urls: [line.url], log });
  line.break('cut');
  await assert.rejects(clickhouse.select('SELECT number FROM numbers(3)'), isUnavailable);
  await clickhouse.close();
});

test('a query that takes too long is ended on the server and refused as unavailable', async () => {
  const query = 'SELECT sum(sipHash64(number)) FROM numbers(100000000000)';
  await within(10_000, assert.rejects(database.clickhouse.select(query, { timeoutMs: 1000 }), isUnavailable));
  const running = () =>
    database.clickhouse.select<[number]>(
      `SELECT count() FROM system.processes WHERE query LIKE '%sipHash64(number)%' AND query NOT LIKE '%system.processes%'`,
    );
  await eventually(async () => assert.deepEqual(await running(), [[0]]));
});

test('a batch interrupted by an outage is to be retried, and counts once however often it was stored', async () => {
  const line = await openLine();
  const clickhouse = createClickHouse({ urls: [line.url], log });
  const responses = createResponseStore({ clickhouse });
  const surveyId = newId();
  const lines = Buffer.from(Array.from({ length: 100 }, () => responseLine({ surveyId })).join('\n'));
  const insert = () => responses.insertBatch({ lines, rows: 100, codeColumns: 64 });
  const outcomes: string[] = [];
  for (const fault of ['refused', 'cut', 'none', 'none'] as const) {
    line.break(fault);
    outcomes.push((await insert()).kind);
  }
  assert.deepEqual(outcomes, ['retry', 'retry', 'stored', 'stored']);
  assert.deepEqual((await responses.countBySurvey([surveyId])).get(surveyId), { total: 100, complete: 100 });
  await clickhouse.close();
});

test('a statement under way is given up at once when the service stops, and none is begun after that', async () => {
  const line = await openLine();
  const clickhouse = createClickHouse({ urls: [line.url], log });
  line.break('silent');
  const stopping = new AbortController();
  const { signal } = stopping;
  const begin = [() => clickhouse.command('SELECT 1', { signal }), () => clickhouse.select('SELECT 1', { signal })];
  const isStopping = { code: 'SERVICE_UNAVAILABLE', message: 'The service is stopping' };
  const refused = begin.map((statement) => assert.rejects(statement(), isStopping));
  stopping.abort();
  await Promise.all(refused);
  line.break('none');
  for (const statement of begin) await assert.rejects(statement(), isStopping);
  const rows = clickhouse.stream('SELECT 1', { signal });
  await assert.rejects(rows.next(), { code: 'SERVICE_UNAVAILABLE', message: 'The query was given up' });
  await clickhouse.close();
});

test('with several servers the next one is used while one is down', async () => {
  const [one, two] = await Promise.all([openLine(), openLine()]);
  const clickhouse = createClickHouse({ urls: [one.url, two.url], log });
  assert.deepEqual(await clickhouse.select('SELECT 1'), [[1]]);
  one.break('refused');
  for (let call = 0; call < 3; call += 1) assert.deepEqual(await clickhouse.select('SELECT 1'), [[1]]);
  two.break('refused');
  await assert.rejects(clickhouse.select('SELECT 1'), isUnavailable);
  one.break('none');
  assert.deepEqual(await clickhouse.select('SELECT 1'), [[1]]);
  await clickhouse.close();
});

test('another program that answers in place of ClickHouse counts as unavailable', async () => {
  const server = createServer((_, res) => void res.writeHead(502).end('<html>Bad gateway</html>'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const clickhouse = createClickHouse({ urls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}/x`], log });
  await assert.rejects(clickhouse.select('SELECT 1'), isUnavailable);
  await clickhouse.close();
  server.close();
});

test('a wrong statement is not taken for an outage', async () => {
  await assert.rejects(
    database.clickhouse.select('SELECT no_such_column'),
    (error: unknown) => !(error instanceof Problem),
  );
});

test('calls do not leak memory', async () => {
  const client = createClickHouse({ urls: [target.href], log });
  const held = () => queryObjects(ClientRequest, { format: 'count' });
  const before = held();
  for (let n = 0; n < 60; n += 1) assert.deepEqual(await client.select('SELECT 1'), [[1]]);
  assert.ok(held() - before < 20, `${held() - before} of 60 requests are still held`);
  await client.close();
});
