import type { Client } from '../../test/support/client.ts';
import { type LoadResult, postBytes, runLoad } from './load.ts';
import { waitForStored } from './service.ts';
import { inTurn, medianOf } from './timing.ts';

export interface Slowdown {
  /** Submissions a second without the other work, and beside it. */
  alone: number;
  beside: number;
  aloneP99Ms: number;
  besideP99Ms: number;
  /** 0.1: a tenth fewer. */
  slowedBy: number;
}

const rounds = 5;
const seconds = 5;
const connections = 32;

/** Work beside submissions. `begun` resolves when it is under way. */
export interface OtherWork {
  begun: Promise<void>;
  stop(): Promise<void>;
}

/**
 * How much other work slows submissions: as many as the service takes, in turn without it and beside it; medians.
 * `startWork` gets the survey that they go to.
 */
export async function measureSlowdown(
  client: Client,
  port: number,
  startWork: (surveyId: string) => OtherWork,
): Promise<Slowdown> {
  const { surveyId, load } = await submissions(client, port);
  const loadBeside = async (): Promise<LoadResult> => {
    const work = startWork(surveyId);
    await work.begun;
    const result = await load(seconds);
    await work.stop();
    return result;
  };
  await load(2);
  const pairs = await inTurn(rounds, { alone: () => load(seconds), beside: loadBeside });
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

async function submissions(client: Client, port: number) {
  const survey = await client.create('/surveys', { title: 'Beside', responseQuota: 100_000_000 });
  const question = await client.create(`/surveys/${survey.id}/questions`, { type: 'NPS', text: 'Recommend?' });
  await client.post(`/surveys/${survey.id}/publish`);
  const request = postBytes(
    `/api/v1/responses/surveys/${survey.id}/submit`,
    JSON.stringify({ answers: [{ questionId: question.id, numberValue: 9 }] }),
  );
  let accepted = 0;
  /** Begins when everything is stored, so that no run is slowed by what the one before it has left. */
  const load = async (duration: number): Promise<LoadResult> => {
    await waitForStored(client, survey.id, accepted);
    const result = await runLoad({ host: '127.0.0.1', port, connections, seconds: duration, request: () => request });
    if (result.replies !== (result.statuses[201] ?? 0))
      throw new Error(`not every submission was accepted: ${JSON.stringify(result.statuses)}`);
    accepted += result.replies;
    return result;
  };
  return { surveyId: survey.id, load };
}
