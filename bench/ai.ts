import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { createLog } from '../src/log.ts';
import { createClickHouse } from '../src/stores/clickhouse/client.ts';
import { type SeenCall, startAiProvider } from '../test/support/ai-provider.ts';
import type { Client } from '../test/support/client.ts';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import { timeBareCalls } from './support/bare-calls.ts';
import { machineLine, option } from './support/machine.ts';
import { type BenchService, startBenchService } from './support/service.ts';

/**
 * Sentiment (or with `--themes 1` themes) of `--answers N` (default 100,000) open answers that lie in the response
 * store, through a provider on loopback that takes 50 ms a call, `--at-once N` (default 1) of them at a time. The
 * limits a minute are out of the way, so the provider's own limit is what so many calls can carry: `limit` as bare
 * calls of the same size find it in the same run, with nothing before, between and behind them, and `roundLimit` as if
 * a call took its 50 ms to the dot. `idleMs` is how long the provider has no call between two, one at a time: median
 * and 95th percentile. Memory is that of all processes of the service, in MB, at the start, when a third and two thirds
 * of the answers were sent, and at the end; `slopeMbPer100k` is that of a line through the second half. `duplicates`
 * are answers that were sent more than once.
 */
const answers = option('answers', 100_000);
const isThemes = option('themes', 0) === 1;
const analysis = isThemes ? 'themes' : 'sentiment';
const batchSize = 50;
const callMs = 50;
const concurrency = option('at-once', 1);
const bareCalls = 100;
const maxGrowthMb = 150;
const run = promisify(execFile);

console.log(machineLine());
const dataDir = temporaryDataDir();
const provider = await startAiProvider();
const sent = new Map<string, number>();
provider.delayMs = callMs;
provider.answer = judge;
const limits = {
  OPENAI_RPM: '1000000',
  OPENAI_TPM: '1000000000',
  AI_BATCH_SIZE: String(batchSize),
  AI_BATCH_DELAY_MS: '0',
  AI_BATCHES_AT_ONCE: String(concurrency),
  AI_CACHE_ENABLED: 'false',
};
const service = await startBenchService(dataDir, { ...provider.env, ...limits });
try {
  await measure(service);
} finally {
  await service.stop();
  await provider.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function measure({ client, pid, clickhouseUrl }: BenchService): Promise<void> {
  const survey = await client.create('/surveys', { title: 'Bench' });
  await client.create(`/surveys/${survey.id}/questions`, { type: 'LONG_TEXT', text: 'What should we change?' });
  await client.post(`/surveys/${survey.id}/publish`);
  await fill(clickhouseUrl, survey.id);
  const bareMs = await timeBareCalls({ url: provider.url, calls: bareCalls, atOnce: concurrency, batchSize });
  provider.calls.length = 0;
  sent.clear();
  const idle = watchIdle();
  const startMb = await residentMb(pid);
  const { seconds, memory } = await analyse(client, survey.id, pid);
  const roundLimit = Math.round((concurrency * batchSize * 1000) / callMs);
  const limit = Math.round((concurrency * batchSize * 1000) / bareMs);
  const ours = Math.round(answers / seconds);
  const calls = provider.calls.length;
  const wantedCalls = Math.ceil(answers / batchSize);
  const duplicates = [...sent.values()].filter((times) => times > 1).length;
  const ratio = Number((ours / limit).toFixed(2));
  const rssMb = {
    start: startMb,
    third: reached(memory, 1 / 3),
    twoThirds: reached(memory, 2 / 3),
    end: memory.at(-1)?.mb ?? 0,
  };
  // A JavaScript heap takes its young generation in the first seconds, whatever there is to do.
  const warmMb = reached(memory, 1 / 10);
  const peakMb = Math.max(...memory.map(({ mb }) => mb));
  const slopeMbPer100k = slope(memory.filter(({ answered }) => answered > answers / 2));
  const idleMs = idle();
  console.log(
    `provider's limit ${limit} answers/s (${batchSize} a call, ${concurrency} at once: bare calls take ${bareMs} ms; ${roundLimit} if they took ${callMs}); analysed ${ours} answers/s: ${ratio} of it (${(ours / roundLimit).toFixed(2)})`,
  );
  console.log(`between two calls the provider has none for ${idleMs.median} ms, p95 ${idleMs.p95} ms`);
  console.log(
    `memory ${rssMb.start} MB at the start, ${rssMb.third} after a third, ${rssMb.twoThirds} after two thirds, ${rssMb.end} at the end; ${slopeMbPer100k} MB for every 100,000 answers of the second half`,
  );
  console.log(
    `once warm (after a tenth) ${warmMb} MB, ${peakMb} MB at most: +${peakMb - warmMb} MB while it went on (wanted ≤ ${maxGrowthMb})`,
  );
  console.log(
    `${calls} calls (wanted ${wantedCalls}${isThemes ? ' and what merges themes' : ''}), ${sent.size} different answers sent, ${duplicates} of them more than once`,
  );
  console.log(
    JSON.stringify({
      bench: 'ai',
      answers,
      analysis,
      limit,
      roundLimit,
      bareMs,
      idleMs,
      ours,
      ratio,
      seconds: Number(seconds.toFixed(1)),
      rssMb,
      slopeMbPer100k,
      warmMb,
      peakMb,
      growthMb: peakMb - warmMb,
      calls,
      wantedCalls,
      sent: sent.size,
      duplicates,
    }),
  );
}

interface Reading {
  mb: number;
  /** Answers that were sent by then. */
  answered: number;
}

/** Memory when so much of the answers was sent. */
function reached(memory: readonly Reading[], share: number): number {
  return (memory.find(({ answered }) => answered >= answers * share) ?? memory.at(-1))?.mb ?? 0;
}

/** Slope of the least-squares line. */
function slope(memory: readonly Reading[]): number {
  const mean = (of: (reading: Reading) => number) =>
    memory.reduce((sum, reading) => sum + of(reading), 0) / memory.length;
  const [x, y] = [mean(({ answered }) => answered), mean(({ mb }) => mb)];
  const rise = mean(({ answered, mb }) => (answered - x) * (mb - y)) / mean(({ answered }) => (answered - x) ** 2);
  return Number((rise * 100_000).toFixed(1));
}

/** Asks as any client would and waits for the end of the job. */
async function analyse(client: Client, surveyId: string, pid: number): Promise<{ seconds: number; memory: Reading[] }> {
  const startedAt = performance.now();
  const memory: Reading[] = [];
  // The provider lives in this process: whatever stops this one stops it too.
  const look = async () => void memory.push({ answered: sent.size, mb: await residentMb(pid) });
  const watch = setInterval(() => void look(), 1000);
  try {
    const reply = await client.call('POST', `/ai/surveys/${surveyId}/analyze`, {
      body: { analysisType: analysis, provider: 'openai' },
    });
    if (reply.status !== 200 && reply.status !== 202)
      throw new Error(`the analysis was refused: ${JSON.stringify(reply.body).slice(0, 300)}`);
    for (let isOver = reply.status === 200; !isOver; ) {
      const job = await client.get(`/ai/jobs/${reply.body.data.jobId}`);
      if (job.status === 'FAILED' || job.status === 'CANCELLED')
        throw new Error(`the analysis ended as ${job.status}: ${JSON.stringify(job.error)}`);
      isOver = job.status === 'COMPLETED';
      if (!isOver) await new Promise((resolve) => setTimeout(resolve, 250));
    }
    const seconds = (performance.now() - startedAt) / 1000;
    await look();
    return { seconds, memory };
  } finally {
    clearInterval(watch);
  }
}

/** Notes how long the provider has nothing to do between two calls; asked at the end. */
function watchIdle(): () => { median: number; p95: number } {
  const gaps: number[] = [];
  let [underWay, endedAt] = [0, NaN];
  provider.faultOf = () => {
    if (underWay === 0 && !Number.isNaN(endedAt)) gaps.push(performance.now() - endedAt);
    underWay += 1;
    return undefined;
  };
  provider.answer = (call) => {
    const reply = judge(call);
    [underWay, endedAt] = [underWay - 1, performance.now()];
    return reply;
  };
  return () => {
    gaps.sort((one, other) => one - other);
    const at = (share: number) => Number((gaps[Math.floor(gaps.length * share)] ?? NaN).toFixed(1));
    return { median: at(0.5), p95: at(0.95) };
  };
}

function judge({ user, schema }: SeenCall): unknown {
  if ('same' in schema.properties) return { same: [] };
  const { answers: asked }: { answers: { n: number; text: string }[] } = JSON.parse(user[0] ?? '{}');
  for (const { text } of asked) sent.set(text, (sent.get(text) ?? 0) + 1);
  // Some four hundred themes, a few of them frequent.
  const themes = (text: string) => [
    `Theme ${text.slice(-2)}`,
    text.slice(-1) < 'g' ? 'Soup' : `Table ${text.slice(-3, -1)}`,
  ];
  return {
    answers: asked.map(({ n, text }) => ({
      n,
      sentiment: n % 2 === 0 ? 'positive' : 'negative',
      ...(isThemes && { themes: themes(text) }),
    })),
  };
}

/** Every answer differs from all others, in letters: digits could be taken for numbers that must not be sent. */
async function fill(clickhouseUrl: string, surveyId: string): Promise<void> {
  const clickhouse = createClickHouse({ urls: [clickhouseUrl], log: createLog('error') });
  const text = `concat('the queue at the counter is far too long and the soup is cold, table ', translate(toString(number), '0123456789', 'bcdfghklmp'))`;
  await clickhouse.command(
    `INSERT INTO ${clickhouse.table('responses')} (survey_id, response_id, submitted_at, version, is_deleted, survey_version, is_complete, completed_at, duration_ms, language, texts, c0)
     SELECT '${surveyId}', generateUUIDv4(), fromUnixTimestamp64Milli(toInt64(1767225600000 + number * 25), 'UTC') AS at, 1, 0, 1, 1, at, 30000, 'en', [${text}], 1 FROM numbers(${answers})`,
    { timeoutMs: 600_000 },
  );
  await clickhouse.close();
}

/** Resident memory in MB of the service and the processes that it started. */
async function residentMb(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '--pid', String(pid), '--ppid', String(pid)]);
  return Math.round(stdout.split('\n').reduce((sum, line) => sum + (Number(line) || 0), 0) / 1024);
}
