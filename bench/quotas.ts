import { rmSync } from 'node:fs';
import { temporaryDataDir } from '../test/support/data-dir.ts';
import { cpuSeconds } from './support/cpu-time.ts';
import { postBytes, runLoad } from './support/load.ts';
import { machineLine, option } from './support/machine.ts';
import { type BenchService, startBenchService } from './support/service.ts';
import { medianOf } from './support/timing.ts';

/**
 * Processor time (user and system) of a submission in the service's main process and in Redis, for surveys of the same
 * questions with 0, 200 and 1,000 interlocked quotas by cell. The surveys take their turns in one run, there and back,
 * and respondents are spread over all cells. The main process stores the responses too; that part is the same for all.
 * `--rounds N` (default 5), `--seconds N` of each survey a round (default 5), `--connections N` (default 64).
 */
const rounds = option('rounds', 5);
const seconds = option('seconds', 5);
const connections = option('connections', 64);
/** Number of quotas, and the greatest ratio of its cost to that of a survey without quotas. */
const sizes = [
  { quotas: 0, wanted: 1 },
  { quotas: 200, wanted: 1.5 },
  { quotas: 1000, wanted: 3 },
] as const;
/** Options of the questions that the cells are made of. */
const optionCounts = [10, 10, 10, 2];
const respondents = 1000;

interface Cost {
  serviceUs: number;
  redisUs: number;
  replies: number;
}

interface Contender {
  quotas: number;
  surveyId: string;
  requests: Buffer[];
  accepted: number;
  costs: Cost[];
}

const dataDir = temporaryDataDir();
console.log(machineLine());
const service = await startBenchService(dataDir);
try {
  await compare(service);
} finally {
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function compare(ours: BenchService): Promise<void> {
  const contenders: Contender[] = [];
  for (const { quotas } of sizes) contenders.push(await makeContender(ours, quotas));
  for (const contender of contenders) await measure(ours, contender, 2);
  for (const contender of contenders) contender.costs = [];
  for (let round = 0; round < rounds; round += 1)
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed())
      await measure(ours, contender, seconds);
  await report(ours, contenders);
}

/** Four questions of the cells and four others, published, with the answers of respondents who are spread over all cells. */
async function makeContender({ client }: BenchService, quotas: number): Promise<Contender> {
  const { id } = await client.create('/surveys', { title: `${quotas} quotas` });
  const add = (body: object) => client.create(`/surveys/${id}/questions`, { isRequired: true, ...body });
  const choices: { id: string; options: { id: string }[] }[] = [];
  for (const [index, count] of optionCounts.entries()) {
    const options = Array.from({ length: count }, (_, n) => ({ text: `Option ${n + 1}` }));
    choices.push(await add({ type: 'MULTIPLE_CHOICE', text: `Cell ${index + 1}`, options }));
  }
  const others: { questionId: string; numberValue: number }[] = [];
  for (const type of ['RATING_SCALE', 'NPS', 'RATING_SCALE', 'NPS'])
    others.push({ questionId: (await add({ type, text: type })).id, numberValue: 4 });
  const [first, second, third, half] = choices.map((question) => question.id);
  const questionIds = quotas === 1000 ? [first, second, third] : [first, second, half];
  if (quotas > 0) await client.create(`/surveys/${id}/quotas/grid`, { questionIds, limit: 1_000_000_000 });
  await client.post(`/surveys/${id}/publish`);
  while ((await quotasOf(client, id)).some(({ isCounting }) => isCounting))
    await new Promise((resolve) => setTimeout(resolve, 100));
  const requests = Array.from({ length: respondents }, (_, n) => {
    const digits = [n % 10, Math.floor(n / 10) % 10, Math.floor(n / 100) % 10, Math.floor(n / 100) % 2];
    const answers = choices.map(({ id: questionId, options }, index) => ({
      questionId,
      optionId: options[digits[index] ?? 0]?.id,
    }));
    return postBytes(`/api/v1/responses/surveys/${id}/submit`, JSON.stringify({ answers: [...answers, ...others] }));
  });
  return { quotas, surveyId: id, requests, accepted: 0, costs: [] };
}

async function quotasOf(client: BenchService['client'], surveyId: string) {
  const found: { count: number; isCounting: boolean }[] = [];
  for (let page = 1; ; page += 1) {
    const shown = await client.get(`/surveys/${surveyId}/quotas?limit=100&page=${page}`);
    found.push(...shown);
    if (shown.length < 100) return found;
  }
}

/** Measured until all of it is stored, so that no survey pays for the one before it. */
async function measure(ours: BenchService, contender: Contender, duration: number): Promise<void> {
  const before = [cpuSeconds(ours.pid), cpuSeconds(ours.redisPid)] as const;
  const { statuses } = await runLoad({
    host: '127.0.0.1',
    port: ours.port,
    connections,
    seconds: duration,
    request: (n) => contender.requests[(n * 7919) % respondents] as Buffer,
  });
  const replies = statuses[201] ?? 0;
  if (Object.keys(statuses).length !== 1) throw new Error(`submissions were refused: ${JSON.stringify(statuses)}`);
  contender.accepted += replies;
  await ours.waitForStored(contender.surveyId, contender.accepted);
  contender.costs.push({
    replies,
    serviceUs: ((cpuSeconds(ours.pid) - before[0]) * 1e6) / replies,
    redisUs: ((cpuSeconds(ours.redisPid) - before[1]) * 1e6) / replies,
  });
}

async function report(ours: BenchService, contenders: readonly Contender[]): Promise<void> {
  const plain = contenders[0]?.costs ?? [];
  const total = ({ serviceUs, redisUs }: Cost) => serviceUs + redisUs;
  for (const [index, { quotas, surveyId, accepted, costs }] of contenders.entries()) {
    const counted = (await quotasOf(ours.client, surveyId)).reduce((sum, { count }) => sum + count, 0);
    if (quotas > 0 && counted !== accepted) throw new Error(`${counted} of ${accepted} responses are counted`);
    const [serviceUs, redisUs] = [
      medianOf(costs.map((cost) => cost.serviceUs)),
      medianOf(costs.map((cost) => cost.redisUs)),
    ];
    const ratio = medianOf(costs.map((cost, round) => total(cost) / total(plain[round] as Cost)));
    const wanted = sizes[index]?.wanted;
    console.log(
      `${String(quotas).padStart(5)} quotas: service ${serviceUs.toFixed(1)} µs + Redis ${redisUs.toFixed(1)} µs a submission, ${ratio.toFixed(2)} of a survey without (wanted ≤ ${wanted}); ${accepted} accepted`,
    );
    console.log(
      JSON.stringify({
        bench: 'quotas',
        quotas,
        serviceUs: Number(serviceUs.toFixed(1)),
        redisUs: Number(redisUs.toFixed(1)),
        ratio: Number(ratio.toFixed(2)),
        wanted,
        accepted,
      }),
    );
  }
}
