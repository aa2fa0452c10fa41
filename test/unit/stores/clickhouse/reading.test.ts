import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createClickHouse } from '../../../../src/stores/clickhouse/client.ts';

test('a result of select is wanted whole, and one that may be large as it comes', async () => {
  const waits: (string | null)[] = [];
  const server = createServer((request, reply) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname !== '/ping') waits.push(searchParams.get('wait_end_of_query'));
    reply.end('[1]\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const clickhouse = createClickHouse({ urls: [`http://127.0.0.1:${port}/d`], log: createLog('silent') });
  assert.deepEqual(await clickhouse.select('SELECT 1'), [[1]]);
  assert.deepEqual((await clickhouse.selectUpTo('SELECT 1', 100)).rows, [[1]]);
  const streamed: unknown[] = [];
  for await (const rows of clickhouse.stream('SELECT 1')) streamed.push(...rows);
  assert.deepEqual(streamed, [[1]]);
  assert.deepEqual(waits, ['1', null, null]);
  await clickhouse.close();
  server.close();
});
