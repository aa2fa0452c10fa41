import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createClickHouse } from '../../../../src/stores/clickhouse/client.ts';

/** A server that answers queries with `answer`, and how each was to be sent. */
async function openServer(answer: (sending: string, reply: ServerResponse) => void) {
  const sent: string[] = [];
  const server = createServer((request, reply) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname === '/ping') return void reply.end('Ok.\n');
    const limit = searchParams.get('max_result_bytes');
    const sending =
      searchParams.get('wait_end_of_query') === '1' ? `whole${limit ? ` up to ${limit}` : ''}` : 'in pieces';
    sent.push(sending);
    answer(sending, reply);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const clickhouse = createClickHouse({ urls: [`http://127.0.0.1:${port}/d`], log: createLog('silent') });
  const close = async () => {
    await clickhouse.close();
    server.close();
  };
  return { clickhouse, sent, close };
}

test('a result that is small is wanted whole, and one of any size as it comes', async () => {
  const { clickhouse, sent, close } = await openServer((_, reply) => reply.end('[1]\n'));
  assert.deepEqual(await clickhouse.select('SELECT 1'), [[1]]);
  assert.deepEqual((await clickhouse.selectUpTo('SELECT 1', 100)).rows, [[1]]);
  const { pieces, isWhole } = await clickhouse.bytes('SELECT 1', 'CSV', 100);
  assert.deepEqual([Buffer.concat(pieces).toString(), isWhole], ['[1]\n', true]);
  const streamed: unknown[] = [];
  for await (const rows of clickhouse.stream('SELECT 1')) streamed.push(...rows);
  assert.deepEqual(streamed, [[1]]);
  assert.deepEqual(sent, ['whole', 'whole up to 200', 'whole up to 200', 'in pieces']);
  await close();
});

test('a result that is larger than wanted is read in pieces, up to where it is', async () => {
  const { clickhouse, sent, close } = await openServer((sending, reply) => {
    if (sending === 'in pieces') return void reply.end('[1]\n[2]\n[3]\n');
    reply.writeHead(500, { 'x-clickhouse-exception-code': '396' });
    reply.end('Code: 396. DB::Exception: Limit for result exceeded. (TOO_MANY_ROWS_OR_BYTES)');
  });
  const rows = await clickhouse.selectUpTo('SELECT 1', 5);
  assert.deepEqual([rows.rows, rows.isWhole], [[[1], [2]], false]);
  const cut = await clickhouse.bytes('SELECT 1', 'CSV', 5);
  assert.deepEqual([cut.pieces.length > 0, cut.isWhole], [true, false]);
  // An error at the end of pieces would be taken for lines.
  assert.equal((await clickhouse.bytes('SELECT 1', 'CSV', 100)).isWhole, false);
  assert.equal(sent.filter((sending) => sending === 'in pieces').length, 3);
  await close();
});
