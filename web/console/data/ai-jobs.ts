import { noteUser, otherUserProblem } from '../app/session.ts';
import { changeWork, dismissWork, followShownWork, type LongWork, showWork } from '../app/tray.tsx';
import { api, dataOf } from './api.ts';
import { problemText, sentence } from './problems.ts';

/** The providers that the service knows, in the order in which it picks one. */
export const aiProviderNames = {
  openai: 'OpenAI',
  anthropic: 'Anthropic',
  gemini: 'Gemini',
  azure: 'Azure OpenAI',
} as const;
export type AiProviderName = keyof typeof aiProviderNames;

interface AcceptedJob {
  jobId: string;
  progress: number;
}

const isAccepted = (reply: object): reply is AcceptedJob => 'jobId' in reply && 'progress' in reply;

/**
 * Work of an AI provider: `start` asks for it, and replies with its result, or with a job if it takes longer. The tray
 * shows it until it has ended, wherever the user goes. Resolves to the result, for the user who asked for it alone.
 * Throws what the call was refused with, or an AiJobError.
 */
export async function followAiJob<Result extends object>(
  work: Pick<LongWork, 'id' | 'title' | 'href'>,
  start: () => Promise<Result | AcceptedJob>,
): Promise<Result> {
  const isSameUser = noteUser();
  showWork({ ...work, state: 'running' });
  try {
    const reply = await start();
    if (!isSameUser()) throw new AiJobError(otherUserProblem);
    if (!isAccepted(reply)) {
      changeWork({ ...work, state: 'done' });
      return reply;
    }
    let result: unknown;
    const end = await followShownWork({ ...work, state: 'running', progress: reply.progress }, async () => {
      const job = await dataOf(api.GET('/ai/jobs/{jobId}', { params: { path: { jobId: reply.jobId } } }));
      result = job.result;
      if (job.status === 'COMPLETED') return { ...work, state: 'done' };
      if (job.status === 'CANCELLED') return { ...work, state: 'failed', problem: 'It was cancelled.' };
      if (job.status !== 'FAILED') return { ...work, state: 'running', progress: job.progress };
      return { ...work, state: 'failed', problem: sentence(job.error?.message ?? 'It failed') };
    });
    if (end.state === 'failed') throw new AiJobError(end.problem ?? 'It failed.');
    return result as Result;
  } catch (error) {
    // A refusal is shown where it was asked for.
    if (error instanceof AiJobError || !isSameUser()) throw error;
    if (problemText(error).isTemporary) changeWork({ ...work, state: 'failed', problem: problemText(error).text });
    else dismissWork(work.id);
    throw error;
  }
}

/** The work began, and failed later; the message says why. */
class AiJobError extends Error {}

/** What to show for a failure of `followAiJob`. */
export const aiProblemText = (error: unknown): string =>
  error instanceof AiJobError ? error.message : problemText(error).text;
