import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/log.ts';
import { newId } from '../src/platform/ids.ts';
import { createPostgres } from '../src/stores/postgres/client.ts';
import { createDeliveryStore } from '../src/stores/postgres/webhook-deliveries.ts';
import type { NewDelivery } from '../src/stores/postgres/webhook-new-deliveries.ts';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import {
  startReceiver as startTimedReceiver,
  type Receiver as TimedReceiver,
} from '../test/support/webhook-receiver.ts';
import { cpuSeconds } from './support/cpu-time.ts';
import { machineLine, option } from './support/machine.ts';
import { portOf } from './support/peer-process.ts';
import { type BenchService, startBenchService } from './support/service.ts';
import { measureSlowdown, type OtherWork } from './support/slowdown.ts';
import { medianOf } from './support/timing.ts';

/**
 * Deliveries a second and a second of processor time, from rows in Postgres to the receiver and back into the log,
 * beside a loop of bare `fetch` calls with as many at once and bodies of the same size. The receiver, all stores and
 * the loop share the machine. Rounds of both take turns, and the middle one counts. Then the time from an event to its
 * arrival at an endpoint, alone and beside one that hangs with 10,000 deliveries waiting. Then how much deliveries to 100
 * endpoints, and those of a survey under load to its one endpoint, slow submissions, as many as the service takes. `--deliveries N` a round (default 6000), `--endpoints N`
 * (default 4).
 */
const deliveries = option('deliveries', 6000);
const endpoints = option('endpoints', 4);
const rounds = 3;
const socketsPerEndpoint = 5;
/** More than the fifteen seconds after which a request that hangs is given up. */
const roundAtMostMs = 30_000;
const hangingWaiting = 10_000;
const isolationSamples = 300;
const isolationRounds = 5;
const amplifyingEndpoints = 100;
const amplifiedEveryMs = 50;

const dataDir = temporaryDataDir();
console.log(machineLine());
const receiver = await startReceiver();
const service = await startBenchService(dataDir, {
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_BUSY_REQUESTS_PER_SECOND: '20',
});
try {
  const one = await compare(service, 1);
  const several = await compare(service, endpoints);
  const isolation = await compareIsolation(service);
  const amplified = await compareAmplified(service);
  const campaign = await compareCampaign(service);
  console.log(
    JSON.stringify({
      bench: 'webhooks',
      deliveries,
      oneEndpoint: one,
      [`${endpoints}Endpoints`]: several,
      isolation,
      amplified,
      campaign,
    }),
  );
} finally {
  await service.stop();
  receiver.child.disconnect();
  rmSync(dataDir, { recursive: true, force: true });
}

interface Rate {
  perSecond: number;
  /** Deliveries for each processor second of the sending process. */
  perCpuSecond: number;
}

function perSecond(rate: Rate): number {
  return rate.perSecond;
}

function perCpuSecond(rate: Rate): number {
  return rate.perCpuSecond;
}

async function compare({ client }: BenchService, count: number) {
  const hooks = [];
  for (let n = 0; n < count; n += 1)
    hooks.push(
      await client.create('/webhooks', {
        url: `http://127.0.0.1:${receiver.port}/hook`,
        events: ['response.completed'],
      }),
    );
  const [bare, ours, batched]: [Rate[], Rate[], Rate[]] = [[], [], []];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await fetchLoop(count * socketsPerEndpoint));
    ours.push(await deliver(hooks.map((hook) => hook.id)));
  }
  for (const hook of hooks) await client.put(`/webhooks/${hook.id}`, { batch: true });
  batched.push(
    await deliver(
      hooks.map((hook) => hook.id),
      100,
    ),
  );
  for (const hook of hooks) await client.remove(`/webhooks/${hook.id}`);
  const [bareRate, ourRate] = [medianOf(bare.map(perSecond)), medianOf(ours.map(perSecond))];
  const [bareACore, oursACore] = [medianOf(bare.map(perCpuSecond)), medianOf(ours.map(perCpuSecond))];
  const result = {
    fetchPerSecond: bareRate,
    deliveriesPerSecond: ourRate,
    ratio: Number((ourRate / bareRate).toFixed(2)),
    fetchPerCpuSecond: bareACore,
    deliveriesPerCpuSecond: oursACore,
    batchedEventsPerSecond: medianOf(batched.map(perSecond)),
  };
  console.log(
    `${count} endpoint(s): bare fetch ${bareRate}/s (${bareACore} a second of its processor time), deliveries ${ourRate}/s (${oursACore}): ${result.ratio} of it, in batches ${result.batchedEventsPerSecond} events/s`,
  );
  return result;
}

/**
 * The slowest but one per cent of the times from announcement to arrival; rounds with and without the hanging endpoint
 * take turns.
 */
async function compareIsolation({ client, peerDatabaseUrl }: BenchService) {
  const [quick, hanging] = [await startTimedReceiver(), await startTimedReceiver(() => undefined)];
  const [quickHook, hangingHook] = await Promise.all(
    [quick, hanging].map(({ url }) => client.create('/webhooks', { url, events: ['response.completed'] })),
  );
  const sql = createPostgres(peerDatabaseUrl, { log: createLog('warn') });
  await createDeliveryStore(sql).add(rowsFor([hangingHook.id], hangingWaiting, new Date()));
  await sql.end();
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < isolationRounds; round += 1) {
    for (const isBeside of [false, true]) {
      await client.put(`/webhooks/${hangingHook.id}`, { isActive: isBeside });
      await until(async () => hanging.sockets.now === (isBeside ? socketsPerEndpoint : 0), 20);
      (isBeside ? beside : alone).push(await p99(client, quickHook.id, quick));
    }
  }
  for (const hook of [quickHook, hangingHook]) await client.remove(`/webhooks/${hook.id}`);
  await Promise.all([quick.close(), hanging.close()]);
  const result = {
    aloneP99Ms: medianOf(alone),
    besideP99Ms: medianOf(beside),
    ratio: Number((medianOf(beside) / medianOf(alone)).toFixed(2)),
  };
  console.log(
    `event to arrival, p99: ${result.aloneP99Ms} ms alone, ${result.besideP99Ms} ms beside an endpoint that hangs with ${hangingWaiting} waiting (${result.ratio} times)`,
  );
  return result;
}

/** Twenty responses a second come in to another survey all the time; beside means that a hundred endpoints listen to it. */
async function compareAmplified({ client, port }: BenchService) {
  const { id: surveyId } = await client.create('/surveys', { title: 'Amplified', status: 'ACTIVE' });
  const submitting = setInterval(() => void client.submit(surveyId, { answers: [] }), amplifiedEveryMs);
  const slowdown = await compareSlowdown(`deliveries to ${amplifyingEndpoints} endpoints`, {
    client,
    port,
    listen: () => listen(client, { surveyId, count: amplifyingEndpoints }),
  });
  clearInterval(submitting);
  return slowdown;
}

/** The survey under load has an endpoint itself. */
function compareCampaign({ client, port }: BenchService) {
  return compareSlowdown('deliveries of the same survey to one endpoint', {
    client,
    port,
    listen: (surveyId) => listen(client, { surveyId, count: 1 }),
  });
}

async function compareSlowdown(
  what: string,
  { client, port, listen }: Pick<BenchService, 'client' | 'port'> & { listen(surveyId: string): OtherWork },
) {
  const before = await receiver.received();
  const measured = await measureSlowdown(client, port, listen);
  const requests = (await receiver.received()) - before;
  console.log(
    `submissions beside ${what}: ${measured.beside}/s (p99 ${measured.besideP99Ms} ms), else ${measured.alone}/s (p99 ${measured.aloneP99Ms} ms): slowed by ${(measured.slowedBy * 100).toFixed(1)} % (wanted ≤ 10), ${requests} requests in all`,
  );
  return { ...measured, requests };
}

/** Endpoints that listen until they are removed; more is delivered to them than is sent. */
function listen(client: BenchService['client'], { surveyId, count }: { surveyId: string; count: number }): OtherWork {
  const url = `http://127.0.0.1:${receiver.port}/hook`;
  const made = Promise.all(
    Array.from({ length: count }, () => client.create('/webhooks', { url, events: ['response.completed'], surveyId })),
  );
  return {
    begun: made.then(() => new Promise((resolve) => setTimeout(resolve, 1000))),
    stop: async () => {
      for (const { id } of await made) await client.remove(`/webhooks/${id}`);
    },
  };
}

async function p99(client: BenchService['client'], webhookId: string, receiver: TimedReceiver): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < isolationSamples; n += 1) {
    const before = receiver.received.length;
    const startedAt = Date.now();
    await client.expect(202, 'POST', `/webhooks/${webhookId}/test`);
    await until(async () => receiver.received.length > before, 1);
    times.push((receiver.received.at(-1)?.atMs ?? 0) - startedAt);
  }
  return times.sort((one, other) => one - other)[Math.floor(isolationSamples * 0.99) - 1] ?? 0;
}

async function fetchLoop(atOnce: number): Promise<Rate> {
  const body = JSON.stringify({
    event: 'response.completed',
    timestamp: new Date().toISOString(),
    data: { surveyId: newId(), responseId: newId() },
  });
  const headers = {
    'content-type': 'application/json',
    'webhook-id': newId(),
    'webhook-timestamp': '1700000000',
    'webhook-signature': `v1,${randomBytes(32).toString('base64')}`,
  };
  let left = deliveries;
  const [startedAt, spent] = [performance.now(), cpuSeconds(process.pid)];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (--left >= 0)
        await (await fetch(`http://127.0.0.1:${receiver.port}/bare`, { method: 'POST', headers, body })).arrayBuffer();
    }),
  );
  return {
    perSecond: Math.round(deliveries / ((performance.now() - startedAt) / 1000)),
    perCpuSecond: Math.round(deliveries / (cpuSeconds(process.pid) - spent)),
  };
}

/** Writes the rows first, due a little later, so that their writing is not part of the time. */
async function deliver(webhookIds: readonly string[], perRequest = 1): Promise<Rate> {
  const sql = createPostgres(service.peerDatabaseUrl, { log: createLog('warn') });
  const store = createDeliveryStore(sql);
  const total = deliveries * (perRequest > 1 ? 2 : 1);
  const dueAt = new Date(Date.now() + 2000);
  const rows = rowsFor(webhookIds, total, dueAt);
  await store.add(rows);
  if (Date.now() > dueAt.getTime()) throw new Error('the rows were not written in time');
  const before = await receiver.received();
  await until(async () => (await receiver.received()) > before, 10);
  const [startedAt, spent] = [performance.now(), cpuSeconds(service.pid)];
  const first = rows[0];
  if (!first) throw new Error('nothing to deliver');
  await until(async () => {
    const [row] = await sql<
      { open: number }[]
    >`SELECT count(*) AS open FROM webhook_deliveries WHERE webhook_id = ANY(${[...webhookIds]}::uuid[]) AND status = 'PENDING'`;
    return row?.open === 0;
  }, 20);
  const seconds = (performance.now() - startedAt) / 1000;
  await sql.end();
  return {
    perSecond: Math.round(total / seconds),
    perCpuSecond: Math.round(total / (cpuSeconds(service.pid) - spent)),
  };
}

function rowsFor(webhookIds: readonly string[], count: number, dueAt: Date): NewDelivery[] {
  const createdAt = new Date();
  return Array.from({ length: count }, (_, n) => {
    const id = newId();
    const data = { surveyId: newId(), responseId: newId() };
    return {
      id,
      webhookId: webhookIds[n % webhookIds.length] ?? '',
      event: 'response.completed',
      eventKey: id,
      occurredAt: createdAt,
      data,
      nextAttemptAt: dueAt,
      createdAt,
    };
  });
}

async function until(isSo: () => Promise<boolean>, everyMs: number): Promise<void> {
  const giveUpAt = performance.now() + roundAtMostMs;
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error('a round took too long');
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

async function startReceiver() {
  const child: ChildProcess = fork(fileURLToPath(new URL('./support/webhook-receiver.js', import.meta.url)));
  const port = await portOf(child);
  return {
    child,
    port,
    async received(): Promise<number> {
      child.send('count');
      const [{ received }] = (await once(child, 'message')) as [{ received: number }];
      return received;
    },
  };
}
