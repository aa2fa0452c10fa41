import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newId } from '../src/ids.ts';
import { createLog } from '../src/log.ts';
import { createPostgres } from '../src/stores/postgres/client.ts';
import { createDeliveryStore } from '../src/stores/postgres/webhook-deliveries.ts';
import { machineLine, option } from './support/machine.ts';
import { startBenchService, type BenchService } from './support/service.ts';

/**
 * Deliveries a second, from rows in Postgres to the receiver and back into the log, beside a loop of bare `fetch` calls with as many at once
 * and bodies of the same size. The receiver, all stores and the loop share the machine. Rounds of both take turns, and the middle one counts.
 * `--deliveries N` a round (default 6000), `--endpoints N` (default 4).
 */
const deliveries = option('deliveries', 6000);
const endpoints = option('endpoints', 4);
const rounds = 3;
const socketsPerEndpoint = 5;
const roundAtMostMs = 15_000;

const dataDir = mkdtempSync(join(tmpdir(), 'survey-bench-'));
chmodSync(dataDir, 0o711);
console.log(machineLine());
const receiver = await startReceiver();
const service = await startBenchService(dataDir, { WEBHOOK_ALLOW_PRIVATE: 'true' });
try {
  const one = await compare(service, 1);
  const several = await compare(service, endpoints);
  console.log(JSON.stringify({ bench: 'webhooks', deliveries, oneEndpoint: one, [`${endpoints}Endpoints`]: several }));
} finally {
  await service.stop();
  receiver.child.disconnect();
  rmSync(dataDir, { recursive: true, force: true });
}

async function compare({ client }: BenchService, count: number) {
  const hooks = [];
  for (let n = 0; n < count; n += 1) hooks.push(await client.create('/webhooks', { url: `http://127.0.0.1:${receiver.port}/hook`, events: ['response.completed'] }));
  const [bare, ours, batched]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await fetchLoop(count * socketsPerEndpoint));
    ours.push(await deliver(hooks.map((hook) => hook.id)));
  }
  for (const hook of hooks) await client.put(`/webhooks/${hook.id}`, { batch: true });
  batched.push(await deliver(hooks.map((hook) => hook.id), 100));
  for (const hook of hooks) await client.remove(`/webhooks/${hook.id}`);
  const [bareRate, ourRate] = [middle(bare), middle(ours)];
  const result = { fetchPerSecond: bareRate, deliveriesPerSecond: ourRate, ratio: Number((ourRate / bareRate).toFixed(2)), batchedEventsPerSecond: middle(batched) };
  console.log(`${count} endpoint(s): bare fetch ${bareRate}/s, deliveries ${ourRate}/s (${result.ratio} of it), in batches ${result.batchedEventsPerSecond} events/s`);
  return result;
}

async function fetchLoop(atOnce: number): Promise<number> {
  const body = JSON.stringify({ event: 'response.completed', timestamp: new Date().toISOString(), data: { surveyId: newId(), responseId: newId() } });
  const headers = { 'content-type': 'application/json', 'webhook-id': newId(), 'webhook-timestamp': '1700000000', 'webhook-signature': `v1,${randomBytes(32).toString('base64')}` };
  let left = deliveries;
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while ((left -= 1) >= 0) await (await fetch(`http://127.0.0.1:${receiver.port}/bare`, { method: 'POST', headers, body })).arrayBuffer();
  }));
  return Math.round(deliveries / ((performance.now() - startedAt) / 1000));
}

/** Writes the rows first, due a little later, so that their writing is not part of the time. */
async function deliver(webhookIds: readonly string[], perRequest = 1): Promise<number> {
  const sql = createPostgres(service.peerDatabaseUrl, { log: createLog('warn') });
  const store = createDeliveryStore(sql);
  const total = deliveries * (perRequest > 1 ? 2 : 1);
  const [createdAt, dueAt] = [new Date(), new Date(Date.now() + 2000)];
  const rows = Array.from({ length: total }, (_, n) => {
    const id = newId();
    return { id, webhookId: webhookIds[n % webhookIds.length] ?? '', event: 'response.completed', eventKey: id, occurredAt: createdAt, data: { surveyId: newId(), responseId: newId() }, nextAttemptAt: dueAt, createdAt };
  });
  await store.add(rows);
  if (Date.now() > dueAt.getTime()) throw new Error('the rows were not written in time');
  const before = await receiver.received();
  await until(async () => (await receiver.received()) > before, 10);
  const startedAt = performance.now();
  const first = rows[0];
  if (!first) throw new Error('nothing to deliver');
  await until(async () => {
    const [row] = await sql<{ open: number }[]>`SELECT count(*) AS open FROM webhook_deliveries WHERE webhook_id = ANY(${[...webhookIds]}::uuid[]) AND status = 'PENDING'`;
    return row?.open === 0;
  }, 20);
  const seconds = (performance.now() - startedAt) / 1000;
  await sql.end();
  return Math.round(total / seconds);
}

async function until(isSo: () => Promise<boolean>, everyMs: number): Promise<void> {
  const giveUpAt = performance.now() + roundAtMostMs;
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error('a round took too long');
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

function middle(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

async function startReceiver() {
  const child: ChildProcess = fork(fileURLToPath(new URL('./support/webhook-receiver.js', import.meta.url)));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    child, port,
    async received(): Promise<number> {
      child.send('count');
      const [{ received }] = (await once(child, 'message')) as [{ received: number }];
      return received;
    },
  };
}
