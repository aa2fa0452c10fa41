import { fork } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '../src/log.ts';
import { startEmbeddedStores } from '../src/stores/embedded/stores.ts';
import { adminClient, type Client } from '../test/support/client.ts';
import { adminEmail, adminPassword, startService, type RunningService } from '../test/support/service.ts';
import { openReceiver, type Receiver } from './support/live-receivers.ts';
import { postBytes } from './support/load.ts';
import { portOf } from './support/peer.ts';
import { machineLine, option } from './support/machine.ts';

/**
 * Live streams from one HTTP process, while another one accepts and stores: deliveries a second of its processor time beside bare
 * uWebSockets.js publishing messages and bursts of the same size to as many (at the highest rate); memory of idle connections; and the time from acceptance to arrival
 * at growing rates. `--subscribers N` (default 1000), `--idle N` (default 5000).
 */
const subscribers = option('subscribers', 1000);
const idle = option('idle', 5000);
const rates = option('rate', 0) > 0 ? [option('rate', 0)] : [50, 200, 500, 1000, 2000, 5000];
const secondsARate = 4;

interface Stage {
  listening: RunningService;
  accepting: RunningService;
  client: Client;
  token: string;
  survey: { id: string; request: Buffer };
}

console.log(machineLine());
const storesDir = temporary();
const dataDir = temporary();
const stores = await startEmbeddedStores({ dataDir: storesDir, need: { redis: true, redisJobs: true, postgres: true, clickhouse: true }, log: createLog('warn'), env: process.env });
const env = {
  REDIS_URL: stores.redisUrl ?? '', REDIS_JOBS_URL: stores.redisJobsUrl ?? '', DATABASE_URL: stores.databaseUrl ?? '', CLICKHOUSE_URL: stores.clickhouseUrl ?? '',
  LOG_LEVEL: 'warn', ACCESS_TOKEN_TTL_SECONDS: '86400',
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

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'survey-bench-'));
  chmodSync(folder, 0o711);
  return folder;
}

async function setUp(): Promise<Stage> {
  const client = await adminClient(accepting);
  const login = await client.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } });
  const survey = await client.create('/surveys', { title: 'Bench', status: 'ACTIVE' });
  const question = await client.create(`/surveys/${survey.id}/questions`, { type: 'NPS', text: 'Would you recommend us?' });
  const request = postBytes(`/api/v1/responses/surveys/${survey.id}/submit`, JSON.stringify({ answers: [{ questionId: question.id, numberValue: 9 }] }));
  return { listening, accepting, client, token: login.body.data.accessToken, survey: { id: survey.id, request } };
}

async function measure(stage: Stage): Promise<void> {
  const idleBytes = await measureIdle(stage);
  let eventBytes = 0;
  const latencies: number[] = [];
  const receivers = await listen(stage, subscribers - 1);
  receivers.push(await receiver(stage, (payload) => {
    const event = JSON.parse(payload.toString()) as { type: string; submittedAt: string };
    if (event.type !== 'response') return;
    eventBytes = payload.length;
    latencies.push(Date.now() - Date.parse(event.submittedAt));
  }));
  const steps = [];
  for (const rate of rates) {
    latencies.length = 0;
    const before = { delivered: sum(receivers), cpu: cpuSeconds(listening.pid) };
    const sent = await submitPaced(stage, rate);
    await until(() => latencies.length >= sent, 5000);
    const delivered = sum(receivers) - before.delivered;
    const cpu = cpuSeconds(listening.pid) - before.cpu;
    latencies.sort((a, b) => a - b);
    const p95Ms = latencies[Math.floor(latencies.length * 0.95)] ?? Number.NaN;
    steps.push({ rate: Math.round(sent / secondsARate), p95Ms, delivered, aCpuSecond: Math.round(delivered / cpu) });
    console.log(`${String(Math.round(sent / secondsARate)).padStart(5)} submissions/s × ${subscribers} subscribers: ${Math.round(delivered / secondsARate)} deliveries/s, accepted → received p95 ${p95Ms} ms, ${Math.round(delivered / cpu)} deliveries a second of processor time`);
    if (!(p95Ms < 2000)) break;
  }
  for (const one of receivers) one.close();
  const last = steps.at(-1);
  const ours = last?.aCpuSecond ?? 0;
  const limit = await measurePublish(eventBytes, Math.round((last?.rate ?? 1) * 0.1));
  const carried = steps.filter(({ p95Ms }) => p95Ms <= 500).at(-1)?.rate ?? 0;
  console.log(`bare uWebSockets.js publish (limit): ${limit} deliveries a second of processor time; ours / limit ${(ours / limit).toFixed(2)} (wanted ≥ 0.50)`);
  console.log(`idle: ${(idleBytes / 1024).toFixed(1)} KiB a connection at ${idle} (wanted ≤ 20) · p95 ≤ 500 ms up to ${carried} submissions/s × ${subscribers} subscribers`);
  console.log(JSON.stringify({ bench: 'live', subscribers, eventBytes, limit, ours, ratio: Number((ours / limit).toFixed(2)), idleBytesPerConnection: Math.round(idleBytes), steps }));
}

/** Growth of the process per open and subscribed connection. */
async function measureIdle(stage: Stage): Promise<number> {
  const quiet = await stage.client.create('/surveys', { title: 'Quiet' });
  // The first connections also pay for what all share.
  const warm = await listen(stage, 1000, quiet.id);
  const before = residentBytes(listening.pid);
  const receivers = await listen(stage, idle, quiet.id);
  await until(() => receivers.every((one) => one.received() >= 1), 10_000);
  const grown = residentBytes(listening.pid) - before;
  for (const one of [...warm, ...receivers]) one.close();
  return grown / idle;
}

async function listen(stage: Stage, count: number, surveyId = stage.survey.id): Promise<Receiver[]> {
  const found: Receiver[] = [];
  await Promise.all(Array.from({ length: 16 }, async (_, lane) => {
    for (let n = lane; n < count; n += 16) found.push(await receiver(stage, undefined, surveyId));
  }));
  return found;
}

async function receiver({ token, survey }: Stage, hear?: (payload: Buffer) => void, surveyId = survey.id): Promise<Receiver> {
  const reply = await fetch(`${listening.base}/live/tickets`, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  const { data } = (await reply.json()) as { data: { ticket: string } };
  const hello = JSON.stringify({ type: 'subscribe', surveyId, channels: ['responses'] });
  return openReceiver({ port: listening.port, path: `/api/v1/live?ticket=${data.ticket}`, hello, ...(hear && { hear }) });
}

function sum(receivers: readonly Receiver[]): number {
  return receivers.reduce((all, one) => all + one.received(), 0);
}

/** Submits at a steady rate over keep-alive connections; gives how many were sent. */
async function submitPaced({ survey }: Stage, rate: number): Promise<number> {
  const free: Socket[] = await Promise.all(Array.from({ length: 64 }, () => openSender(accepting.port)));
  for (const socket of free) socket.on('data', () => free.push(socket));
  const all = [...free];
  const startedAt = performance.now();
  let sent = 0;
  while (performance.now() - startedAt < secondsARate * 1000) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * rate);
    while (sent < due) {
      const socket = free.pop();
      if (!socket) break;
      socket.write(survey.request);
      sent += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await until(() => free.length >= all.length, 3000);
  for (const socket of all) socket.destroy();
  return sent;
}

function openSender(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Deliveries of messages of the same size to as many subscribers, a second of the publishing process's time. */
async function measurePublish(bytes: number, burst: number): Promise<number> {
  const child = fork(fileURLToPath(new URL('./support/peer-publish.js', import.meta.url)));
  try {
    const port = await portOf(child);
    const receivers = await Promise.all(Array.from({ length: subscribers }, () => openReceiver({ port, path: '/' })));
    const before = cpuSeconds(child.pid ?? 0);
    const until3s = performance.now() + 3000;
    while (performance.now() < until3s) {
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

async function until(isTrue: () => boolean, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  while (!isTrue() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** User and system time of a process, in ticks of 1/100 s as the kernel counts them. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
