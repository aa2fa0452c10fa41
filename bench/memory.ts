import { rmSync } from 'node:fs';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import { measureActorSize } from './support/actor-size.ts';
import { postBytes, runLoad } from './support/load.ts';
import { machineLine, option } from './support/machine.ts';
import { type BenchService, startBenchService } from './support/service.ts';
import { medianOf } from './support/timing.ts';

/**
 * What the service holds: the memory of its main process, minute by minute at full load with 64 connections while an
 * analyst reads statistics and crosstabs of another survey some times a second, and the memory of an unused survey.
 * `--minutes N` (default 10; the first is for warming up and is not judged), `--connections N`, `--actors N` (10,000).
 */
const minutes = option('minutes', 10);
const connections = option('connections', 64);
const slices = 12;
const readEveryMs = 200;
const dataDir = temporaryDataDir();

interface Minute {
  rssMiB: number;
  heapMiB: number;
  perSecond: number;
  errors: number;
}

console.log(machineLine());
const sizes = [
  await measureActorSize(option('actors', 10_000), 0),
  await measureActorSize(option('actors', 10_000), 10),
];
for (const { questions, busyBytes, idleBytes } of sizes)
  console.log(
    `a survey with ${questions} questions: ${(idleBytes / 1024).toFixed(1)} KiB idle (wanted ≤ 10), ${(busyBytes / 1024).toFixed(1)} KiB while it takes submissions`,
  );
const service = await startBenchService(dataDir, { RATE_LIMIT_API: '1000000' });
try {
  await watch(service);
} finally {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function watch(ours: BenchService): Promise<void> {
  const survey = await ours.makeSurvey({ quota: 2_000_000_000 });
  const request = postBytes(
    `/api/v1/responses/surveys/${survey.id}/submit`,
    JSON.stringify({ answers: survey.answers }),
  );
  const analyst = await startAnalyst(ours);
  const seen: Minute[] = [];
  let accepted = 0;
  for (let minute = 1; minute <= minutes; minute += 1) {
    const found: Minute = { rssMiB: 0, heapMiB: 0, perSecond: 0, errors: 0 };
    for (let slice = 0; slice < slices; slice += 1) {
      const { replies, statuses, perSecond } = await runLoad({
        host: '127.0.0.1',
        port: ours.port,
        connections,
        seconds: 60 / slices,
        request: () => request,
      });
      const { rssBytes, heapBytes } = await memoryOf(ours);
      accepted += statuses[201] ?? 0;
      found.errors += replies - (statuses[201] ?? 0) + (statuses[0] ?? 0);
      found.rssMiB += rssBytes / 2 ** 20 / slices;
      found.heapMiB += heapBytes / 2 ** 20 / slices;
      found.perSecond += perSecond / slices;
    }
    seen.push(found);
    console.log(
      `minute ${String(minute).padStart(2)}  RSS ${found.rssMiB.toFixed(0).padStart(5)} MiB  heap ${found.heapMiB.toFixed(0).padStart(4)} MiB  ${found.perSecond.toFixed(0).padStart(6)}/s  ${found.errors} errors`,
    );
  }
  const reads = await analyst.stop();
  const stored = await ours.waitForStored(survey.id, accepted);
  const judged = seen.slice(1).map(({ rssMiB }) => rssMiB);
  const middle = medianOf(judged);
  const spread = Math.max(...judged.map((rss) => Math.abs(rss / middle - 1)));
  console.log(
    `RSS from the second minute on stays within ±${(spread * 100).toFixed(1)} % of ${middle.toFixed(0)} MiB (wanted ±10 %): ${spread <= 0.1 ? 'flat' : 'NOT flat'} · accepted ${accepted} · stored ${stored} · ${reads} reads`,
  );
  console.log(
    JSON.stringify({
      bench: 'memory',
      minutes,
      rssMiB: seen.map(({ rssMiB }) => Math.round(rssMiB)),
      heapMiB: seen.map(({ heapMiB }) => Math.round(heapMiB)),
      spread: Math.round(spread * 1000) / 1000,
      ours: Math.round(seen.reduce((sum, { perSecond }) => sum + perSecond, 0) / seen.length),
      errors: seen.reduce((sum, { errors }) => sum + errors, 0),
      accepted,
      stored,
      reads,
      actors: sizes,
    }),
  );
}

/** Reads the statistics and a crosstab of a small survey again and again. */
async function startAnalyst({ client, makeSurvey }: BenchService): Promise<{ stop(): Promise<number> }> {
  const {
    id,
    answers,
    questions: [first, second],
  } = await makeSurvey({ quota: 1000 });
  for (let n = 0; n < 20; n += 1) await client.submit(id, { answers });
  let [reads, isOver] = [0, false];
  const work = (async () => {
    while (!isOver) {
      await client.get(`/analytics/surveys/${id}`);
      await client.post(`/analytics/surveys/${id}/crosstab`, { questionId1: first?.id, questionId2: second?.id });
      reads += 2;
      await new Promise((resolve) => setTimeout(resolve, readEveryMs));
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await work;
      return reads;
    },
  };
}

async function memoryOf({ port }: BenchService): Promise<{ rssBytes: number; heapBytes: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const figure = (name: string) => Number(new RegExp(`^${name}\\{process="main"\\} (\\S+)$`, 'm').exec(text)?.[1]);
  return { rssBytes: figure('process_resident_memory_bytes'), heapBytes: figure('nodejs_heap_size_used_bytes') };
}
