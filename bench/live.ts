import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/log.ts';
import { startEmbeddedStores } from '../src/stores/embedded/start-stores.ts';
import { adminClient, type Client } from '../test/support/client.ts';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../test/support/service.ts';
import { cpuSeconds, machineSeconds, residentBytes } from './support/cpu-time.ts';
import { openReceiver, type Receiver } from './support/live-receivers.ts';
import { postBytes } from './support/load.ts';
import { machineLine, option } from './support/machine.ts';
import { sendPaced, until } from './support/paced-load.ts';
import { portOf } from './support/peer-process.ts';

/**
 * Live streams from one HTTP process, while another one accepts and stores: the time from acceptance to arrival at
 * growing rates, deliveries a second of its processor time beside bare uWebSockets.js publishing and beside a plain
 * loop over `ws` clients, in bursts of the same size to as many, and the memory of idle connections. `--subscribers N`
 * (default 1000), `--idle N` (default 5000), `--rate N` for one rate only.
 */
const subscribers = option('subscribers', 1000);
const idle = option('idle', 5000);
const rates = option('rate', 0) > 0 ? [option('rate', 0)] : [50, 200, 500, 1000, 2000, 5000];
const secondsARate = 4;
const returning = 300;

interface Stage {
  listening: RunningService;
  accepting: RunningService;
  client: Client;
  token: string;
  survey: { id: string; request: Buffer };
}

console.log(machineLine());
const storesDir = temporaryDataDir();
const dataDir = temporaryDataDir();
const stores = await startEmbeddedStores({
  dataDir: storesDir,
  needed: { redis: true, redisJobs: true, postgres: true, clickhouse: true },
  log: createLog('warn'),
  env: process.env,
});
const env = {
  REDIS_URL: stores.redisUrl ?? '',
  REDIS_JOBS_URL: stores.redisJobsUrl ?? '',
  DATABASE_URL: stores.databaseUrl ?? '',
  CLICKHOUSE_URL: stores.clickhouseUrl ?? '',
  LOG_LEVEL: 'warn',
  ACCESS_TOKEN_TTL_SECONDS: '86400',
};
const accepting = await startService({ dataDir, env });
const listening = await startService({ dataDir, env: { ...env, ROLES: 'http' } });
try {
  await measure(await setUp());
} finally {
  await listening.stop();
  await accepting.stop();
  await stores.stop();
  for (const folder of [storesDir, dataDir]) rmSync(folder, { recursive: true, force: true });
}

async function setUp(): Promise<Stage> {
  const client = await adminClient(accepting);
  const login = await client.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } });
  const survey = await client.create('/surveys', { title: 'Bench', status: 'ACTIVE' });
  const question = await client.create(`/surveys/${survey.id}/questions`, {
    type: 'NPS',
    text: 'Would you recommend us?',
  });
  const request = postBytes(
    `/api/v1/responses/surveys/${survey.id}/submit`,
    JSON.stringify({ answers: [{ questionId: question.id, numberValue: 9 }] }),
  );
  return { listening, accepting, client, token: login.body.data.accessToken, survey: { id: survey.id, request } };
}

interface Step {
  /** Submissions a second that were really made. */
  rate: number;
  subscribers: number;
  delivered: number;
  p95Ms: number;
  /** Deliveries a second of the listening process's time. */
  aCpuSecond: number;
  /** Events that reached a client together, on average. */
  burst: number;
  /**
   * Processors busy: those of the listening, the accepting and the bench's own process, and of all that ran on the
   * machine.
   */
  busy: { listening: number; accepting: number; bench: number; machine: number };
}

async function measure(stage: Stage): Promise<void> {
  const idleBytes = await measureIdle(stage);
  const many = await measureRates(stage, subscribers, rates);
  const few = await measureRates(stage, Math.max(10, subscribers / 10), [5000]);
  const back = await measureReturn(stage, few.firstCursor, few.events);
  const fastest = many.steps.at(-1);
  const carried = many.steps.filter(({ p95Ms }) => p95Ms <= 500).at(-1);
  const ours = fastest?.aCpuSecond ?? 0;
  const burst = Math.max(1, Math.round(fastest?.burst ?? 1));
  const limit = await measurePeer('peer-publish', many.eventBytes, burst);
  const peer = await measurePeer('peer-ws', many.eventBytes, burst);
  const [slowest] = many.steps;
  const fewest = Math.max(1, Math.round(slowest?.burst ?? 1));
  const limitOfFew = await measurePeer('peer-publish', many.eventBytes, fewest);
  console.log(
    `bursts of ${burst} × ${many.eventBytes} bytes, deliveries a second of processor time: bare uWebSockets.js publish (limit) ${limit}, a loop over ws clients (peer) ${peer}, ours ${ours}`,
  );
  console.log(
    `ours / limit ${(ours / limit).toFixed(2)} (wanted ≥ 0.50) · ours / peer ${(ours / peer).toFixed(2)} · in bursts of ${fewest}: ours ${slowest?.aCpuSecond ?? 0}, limit ${limitOfFew}`,
  );
  console.log(
    `idle: ${(idleBytes / 1024).toFixed(1)} KiB a connection at ${idle} (wanted ≤ 20) · p95 ≤ 500 ms up to ${carried?.rate ?? 0} submissions/s × ${subscribers} subscribers (wanted 5000)`,
  );
  console.log(
    JSON.stringify({
      bench: 'live',
      subscribers,
      eventBytes: many.eventBytes,
      burst,
      limit,
      peer,
      ours,
      limitOfFew,
      ratio: Number((ours / limit).toFixed(2)),
      idleBytesPerConnection: Math.round(idleBytes),
      carried: carried?.rate ?? 0,
      back,
      steps: [...many.steps, ...few.steps],
    }),
  );
}

interface RateResult {
  eventBytes: number;
  /** All that came behind the first cursor. */
  events: number;
  firstCursor: string;
  steps: Step[];
}

/** As after a restart: many clients come at once, and each wants all that happened since its last cursor. */
async function measureReturn(
  stage: Stage,
  after: string,
  events: number,
): Promise<{ clients: number; events: number; seconds: number; grownBytes: number }> {
  const before = residentBytes(listening.pid);
  const startedAt = performance.now();
  const receivers = await listen(stage, returning, { after });
  // Each also gets a confirmation of its subscription.
  await until(() => receivers.every((one) => one.received() > events), 60_000);
  const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(1));
  const grownBytes = residentBytes(listening.pid) - before;
  for (const one of receivers) one.close();
  console.log(
    `${returning} clients come back at once for ${events} responses each: ${seconds} s, ${Math.round((returning * events) / seconds)} deliveries/s, the process grew by ${Math.round(grownBytes / 1024 / 1024)} MiB`,
  );
  return { clients: returning, events, seconds, grownBytes };
}

/** Submits at growing rates until arrival takes seconds; the last of the listeners measures arrival. */
async function measureRates(stage: Stage, count: number, wanted: readonly number[]): Promise<RateResult> {
  const steps: Step[] = [];
  const heard = { bytes: 0, events: 0, firstCursor: '', bursts: 0, lastAt: 0, latencies: [] as number[] };
  const receivers = await listen(stage, count - 1);
  receivers.push(
    await receiver(stage, (payload) => {
      const event = JSON.parse(payload.toString()) as { type: string; submittedAt: string; cursor: string };
      if (event.type === 'subscribed') heard.firstCursor = event.cursor;
      if (event.type !== 'response') return;
      heard.events += 1;
      heard.bytes = payload.length;
      heard.latencies.push(Date.now() - Date.parse(event.submittedAt));
      if (performance.now() - heard.lastAt > 5) heard.bursts += 1;
      heard.lastAt = performance.now();
    }),
  );
  for (const rate of wanted) {
    Object.assign(heard, { bursts: 0, latencies: [] });
    const before = { delivered: sum(receivers), ...clock() };
    const startedAt = performance.now();
    const sent = await sendPaced({ port: accepting.port, request: stage.survey.request, rate, seconds: secondsARate });
    await until(() => heard.latencies.length >= sent, 10_000);
    const [delivered, after, seconds] = [
      sum(receivers) - before.delivered,
      clock(),
      (performance.now() - startedAt) / 1000,
    ];
    const p95Ms = heard.latencies.sort((a, b) => a - b)[Math.floor(heard.latencies.length * 0.95)] ?? Number.NaN;
    const busy = (part: keyof ReturnType<typeof clock>) => Number(((after[part] - before[part]) / seconds).toFixed(2));
    const step: Step = {
      rate: Math.round(sent / secondsARate),
      subscribers: count,
      delivered,
      p95Ms,
      aCpuSecond: Math.round(delivered / (after.listening - before.listening)),
      burst: Number((heard.latencies.length / Math.max(1, heard.bursts)).toFixed(1)),
      busy: {
        listening: busy('listening'),
        accepting: busy('accepting'),
        bench: busy('bench'),
        machine: busy('machine'),
      },
    };
    steps.push(step);
    console.log(
      `${String(step.rate).padStart(5)} submissions/s × ${count} subscribers: ${Math.round(delivered / seconds)} deliveries/s in bursts of ${step.burst}, accepted → received p95 ${p95Ms} ms, ` +
        `${step.aCpuSecond} deliveries a second of processor time; processors busy: listening ${step.busy.listening}, accepting ${step.busy.accepting}, bench ${step.busy.bench}, all ${step.busy.machine}`,
    );
    if (!(p95Ms < 2000)) break;
  }
  for (const one of receivers) one.close();
  return { eventBytes: heard.bytes, events: heard.events, firstCursor: heard.firstCursor, steps };
}

function clock() {
  return {
    listening: cpuSeconds(listening.pid),
    accepting: cpuSeconds(accepting.pid),
    bench: cpuSeconds(process.pid),
    machine: machineSeconds(),
  };
}

/** Growth of the process per open and subscribed connection. */
async function measureIdle(stage: Stage): Promise<number> {
  const quiet = await stage.client.create('/surveys', { title: 'Quiet' });
  // The first connections also pay for what all share.
  const warm = await listen(stage, 1000, { surveyId: quiet.id });
  const before = residentBytes(listening.pid);
  const receivers = await listen(stage, idle, { surveyId: quiet.id });
  await until(() => receivers.every((one) => one.received() >= 1), 10_000);
  const grown = residentBytes(listening.pid) - before;
  for (const one of [...warm, ...receivers]) one.close();
  return grown / idle;
}

interface SubscribeOptions {
  surveyId?: string;
  after?: string;
}

async function listen(stage: Stage, count: number, wish: SubscribeOptions = {}): Promise<Receiver[]> {
  const found: Receiver[] = [];
  await Promise.all(
    Array.from({ length: 16 }, async (_, lane) => {
      for (let n = lane; n < count; n += 16) found.push(await receiver(stage, undefined, wish));
    }),
  );
  return found;
}

async function receiver(
  { token, survey }: Stage,
  onMessage?: (payload: Buffer) => void,
  wish: SubscribeOptions = {},
): Promise<Receiver> {
  const reply = await fetch(`${listening.base}/live/tickets`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = (await reply.json()) as { data: { ticket: string } };
  const hello = JSON.stringify({ type: 'subscribe', surveyId: survey.id, channels: ['responses'], ...wish });
  return openReceiver({
    port: listening.port,
    path: `/api/v1/live?ticket=${data.ticket}`,
    hello,
    ...(onMessage && { onMessage }),
  });
}

function sum(receivers: readonly Receiver[]): number {
  return receivers.reduce((all, one) => all + one.received(), 0);
}

/**
 * Deliveries of messages of the same size to as many subscribers in bursts like ours, a second of the sending process's
 * time.
 */
async function measurePeer(name: 'peer-publish' | 'peer-ws', bytes: number, burst: number): Promise<number> {
  const child = fork(fileURLToPath(new URL(`./support/${name}.js`, import.meta.url)));
  try {
    const port = await portOf(child);
    const receivers = await Promise.all(Array.from({ length: subscribers }, () => openReceiver({ port, path: '/' })));
    const before = cpuSeconds(child.pid ?? 0);
    const end = performance.now() + 3000;
    while (performance.now() < end) {
      const goal = sum(receivers) + burst * subscribers;
      child.send({ bytes, burst });
      await until(() => sum(receivers) >= goal, 10_000);
    }
    const rate = Math.round(sum(receivers) / (cpuSeconds(child.pid ?? 0) - before));
    for (const one of receivers) one.close();
    return rate;
  } finally {
    child.disconnect();
  }
}
