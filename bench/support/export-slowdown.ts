import type { Client } from '../../test/support/client.ts';
import { type LoadResult, postBytes, runLoad } from './load.ts';
import { medianOf } from './timing.ts';

export interface Slowdown {
  /** Submissions a second with no file being made, and while one is. */
  alone: number;
  beside: number;
  aloneP99Ms: number;
  besideP99Ms: number;
  /** 0.1: a tenth fewer. */
  slowedBy: number;
}

const rounds = 3;
const seconds = 5;
const connections = 32;

/**
 * How much exports slow submissions: as many submissions as the service takes, in turn with and without files of
 * `surveyId` being made continuously; medians.
 */
export async function measureExportSlowdown(
  client: Client,
  { port, surveyId, format }: { port: number; surveyId: string; format: string },
): Promise<Slowdown> {
  const load = await submissions(client, port);
  await load(2);
  const pairs: { alone: LoadResult; beside: LoadResult }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const alone = await load(seconds);
    const files = makeFilesContinuously(client, surveyId, format);
    await files.begun;
    const beside = await load(seconds);
    await files.stop();
    pairs.push({ alone, beside });
  }
  // Ratios of neighbouring runs, because a shared machine changes from minute to minute.
  const slowedBy =
    Math.round(medianOf(pairs.map((pair) => 1 - pair.beside.perSecond / pair.alone.perSecond)) * 1000) / 1000;
  const [alone, beside] = [
    medianOf(pairs.map((pair) => pair.alone.perSecond)),
    medianOf(pairs.map((pair) => pair.beside.perSecond)),
  ];
  return {
    alone,
    beside,
    aloneP99Ms: medianOf(pairs.map((pair) => pair.alone.p99Ms)),
    besideP99Ms: medianOf(pairs.map((pair) => pair.beside.p99Ms)),
    slowedBy,
  };
}

async function submissions(client: Client, port: number): Promise<(duration: number) => Promise<LoadResult>> {
  const survey = await client.create('/surveys', { title: 'Beside', responseQuota: 100_000_000 });
  const question = await client.create(`/surveys/${survey.id}/questions`, { type: 'NPS', text: 'Recommend?' });
  await client.post(`/surveys/${survey.id}/publish`);
  const request = postBytes(
    `/api/v1/responses/surveys/${survey.id}/submit`,
    JSON.stringify({ answers: [{ questionId: question.id, numberValue: 9 }] }),
  );
  return async (duration) => {
    const result = await runLoad({ host: '127.0.0.1', port, connections, seconds: duration, request: () => request });
    if (result.replies !== (result.statuses[201] ?? 0))
      throw new Error(`not every submission was accepted: ${JSON.stringify(result.statuses)}`);
    return result;
  };
}

/** One file after the other until it is stopped; the last one is cancelled. */
function makeFilesContinuously(client: Client, surveyId: string, format: string) {
  let isStopping = false;
  let current = '';
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const run = async () => {
    while (!isStopping) {
      current = (await client.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format })).exportId;
      for (;;) {
        const { status } = await client.get(`/exports/${current}`);
        if (status === 'FAILED') throw new Error('a file could not be made');
        if (status === 'PROCESSING') begin();
        if (status === 'COMPLETED' || isStopping) break;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
    await client.remove(`/exports/${current}`);
  };
  const done = run();
  done.catch(() => begin());
  return {
    begun,
    async stop(): Promise<void> {
      isStopping = true;
      await done;
    },
  };
}
