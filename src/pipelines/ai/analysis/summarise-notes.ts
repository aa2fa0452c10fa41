import type { Provider } from '../../../ai/providers/provider.ts';
import { emptySummary, type StoredSummary, summaryTask } from '../../../ai/tasks/analyse-answers.ts';
import { ask } from '../../../ai/tasks/ask.ts';
import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import { jsonDigest } from '../../../platform/json-digest.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';
import type { JobEnd } from '../job-end.ts';

export interface SummariseNotesDeps {
  store: Pick<
    AiStore,
    'listNotes' | 'dropUnusedNotes' | 'findSummary' | 'saveSummary' | 'dropUnseenSummaries' | 'lastResult'
  >;
  newId(): string;
}

/** Notes, or summaries of them, in one call. */
const maxTextsPerCall = 40;

/**
 * Summarises the notes as a tree: forty notes make a summary, forty summaries one of the next level, until one call can
 * hold what is left. Every summary is stored. Notes are only added at the end, so the next analysis asks for the last
 * branches alone; with the same notes it keeps the last conclusion. It concludes again where notes were erased while the
 * provider was asked.
 */
export async function summariseNotes(
  { store, newId }: SummariseNotesDeps,
  {
    job,
    survey: { title },
    provider,
    signal,
    confirmClaim,
  }: { job: SurveyJob; survey: SurveyWithQuestions; provider: Provider } & JobEnd,
): Promise<StoredSummary> {
  const sumUp = async (texts: readonly string[], pass: string): Promise<string> => {
    const basis = digestOf(title, texts);
    const known = await retryOnOutage(() => store.findSummary(job, basis, pass));
    if (known !== undefined) return known;
    const { summary } = (await ask(provider, summaryTask(title, texts), signal)).value;
    await retryOnOutage(() => store.saveSummary(job, pass, { basis, summary }));
    return summary;
  };
  await retryOnOutage(() => store.dropUnusedNotes(job));
  let last = (await retryOnOutage(() => store.lastResult(job))) as StoredSummary | null;
  for (;;) {
    const pass = newId();
    const texts = await lastTexts(store.listNotes(job), (branch) => sumUp(branch, pass));
    const basis = digestOf(title, texts);
    if (last?.basis === basis) {
      await confirmClaim();
      await retryOnOutage(() => store.dropUnseenSummaries(job, pass));
      return last;
    }
    const conclusion =
      texts.length === 0 ? emptySummary : (await ask(provider, summaryTask(title, texts), signal)).value;
    last = { basis, conclusion };
  }
}

/** Returns at most forty texts that cover all notes. */
async function lastTexts(
  notes: AsyncIterable<string>,
  sumUp: (texts: readonly string[]) => Promise<string>,
): Promise<string[]> {
  const levels: string[][] = [[]];
  // A full level is summarised only when a further text comes: what fits into one call stays as it is.
  const add = async (text: string, at = 0): Promise<void> => {
    levels[at] ??= [];
    const level = levels[at];
    if (level.length === maxTextsPerCall) await add(await sumUp(level.splice(0)), at + 1);
    level.push(text);
  };
  for await (const note of notes) await add(note);
  for (let at = 0; at < levels.length - 1; at += 1) {
    const rest = levels[at] ?? [];
    const [only] = rest;
    if (only !== undefined) await add(rest.length === 1 ? only : await sumUp(rest), at + 1);
  }
  return levels.at(-1) ?? [];
}

const digestOf = (title: string, texts: readonly string[]): string => jsonDigest([title, texts]);
