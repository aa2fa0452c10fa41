import { rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import { cpuSeconds, residentBytes } from './support/cpu-time.ts';
import { machineLine, option } from './support/machine.ts';
import { type BenchService, startBenchService } from './support/service.ts';

/**
 * Submissions beside a flood of logins that no limit by address holds back: the time of a submission at a steady rate
 * before, during and after the flood, and the memory that the flood takes. `--seconds N` for each of the three (default
 * 20), `--submissions N` (default 300) and `--logins N` (default 200) a second.
 */
const seconds = option('seconds', 20);
const submissionsASecond = option('submissions', 300);
const loginsASecond = option('logins', 200);
const dataDir = temporaryDataDir();

console.log(machineLine());
const service = await startBenchService(dataDir);
try {
  await measure(service);
} finally {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

interface Stream {
  path: string;
  perSecond: number;
  body(n: number): string;
}

interface Times {
  /** Milliseconds of all replies, ascending. */
  ms: number[];
  statuses: Record<string, number>;
}

async function measure(ours: BenchService): Promise<void> {
  const survey = await ours.makeSurvey({ quota: 100_000_000 });
  const body = JSON.stringify({ answers: survey.answers });
  const submissions: Stream = {
    path: `/api/v1/responses/surveys/${survey.id}/submit`,
    perSecond: submissionsASecond,
    body: () => body,
  };
  const logins: Stream = {
    path: '/api/v1/auth/login',
    perSecond: loginsASecond,
    body: (n) => JSON.stringify({ email: `nobody${n}@example.org`, password: 'a guess' }),
  };
  await send(ours.port, submissions, 5);
  const before = await send(ours.port, submissions, seconds);
  const [memory, spent] = [residentBytes(ours.pid), cpuSeconds(ours.pid)];
  const [during, flood] = await Promise.all([send(ours.port, submissions, seconds), send(ours.port, logins, seconds)]);
  const [grownMib, floodCpu] = [(residentBytes(ours.pid) - memory) / 2 ** 20, (cpuSeconds(ours.pid) - spent) / seconds];
  const after = await send(ours.port, submissions, seconds);
  for (const [name, times] of Object.entries({
    'submissions alone': before,
    'submissions beside the flood': during,
    'submissions after it': after,
    'logins of the flood': flood,
  }))
    console.log(
      `${name.padEnd(30)} p50 ${quantile(times, 0.5)} ms  p99 ${quantile(times, 0.99)} ms  ${JSON.stringify(times.statuses)}`,
    );
  const calmP99 = Math.max(quantile(before, 0.99), quantile(after, 0.99));
  const ratio = Math.round((quantile(during, 0.99) / calmP99) * 100) / 100;
  console.log(
    `p99 beside the flood / without ${ratio} (wanted ≤ 1.5) · memory ${grownMib.toFixed(0)} MiB more (wanted < 150) · ${floodCpu.toFixed(2)} processors busy in the service`,
  );
  console.log(
    JSON.stringify({
      bench: 'login',
      calmP50Ms: quantile(before, 0.5),
      calmP99Ms: calmP99,
      floodP50Ms: quantile(during, 0.5),
      floodP99Ms: quantile(during, 0.99),
      ratio,
      grownMib: Math.round(grownMib),
      statuses: flood.statuses,
    }),
  );
}

/** Sends at a steady pace, whether replies come or not; each reply's time counts from when its request was due. */
async function send(port: number, { path, perSecond, body }: Stream, forSeconds: number): Promise<Times> {
  const agent = new Agent({ keepAlive: true });
  const times: Times = { ms: [], statuses: {} };
  const startedAt = performance.now();
  const all: Promise<void>[] = [];
  const total = perSecond * forSeconds;
  while (all.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1000) * perSecond));
    while (all.length < due)
      all.push(
        post({ agent, port, path, text: body(all.length), dueAt: startedAt + (all.length * 1000) / perSecond, times }),
      );
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(all);
  agent.destroy();
  times.ms.sort((a, b) => a - b);
  return times;
}

interface Post {
  agent: Agent;
  port: number;
  path: string;
  text: string;
  dueAt: number;
  times: Times;
}

function post({ agent, port, path, text, dueAt, times }: Post): Promise<void> {
  return new Promise((resolve) => {
    const note = (status: number) => {
      times.statuses[status] = (times.statuses[status] ?? 0) + 1;
      times.ms.push(performance.now() - dueAt);
      resolve();
    };
    const call = request(
      {
        agent,
        port,
        host: '127.0.0.1',
        path,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
      },
      (reply) => {
        reply.resume();
        reply.once('end', () => note(reply.statusCode ?? 0));
      },
    );
    call.once('error', () => note(0));
    call.end(text);
  });
}

function quantile({ ms }: Times, share: number): number {
  return Math.round((ms[Math.min(ms.length - 1, Math.floor(ms.length * share))] ?? 0) * 10) / 10;
}
