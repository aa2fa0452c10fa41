import { createHash } from 'node:crypto';
import { concludeTask, type Conclusion, type Summary } from '../../../ai/analyses.ts';
import type { Provider } from '../../../ai/provider.ts';
import { ask } from '../../../ai/structured.ts';
import type { SurveyWithQuestions } from '../../../domain/survey.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';
import { pastOutages } from '../../../stores/postgres/client.ts';

export interface ConcludeDeps {
  store: Pick<AiStore, 'notes' | 'dropUnusedNotes' | 'summaryOf' | 'saveSummary' | 'dropUnseenSummaries' | 'lastResult'>;
}

/** So many notes, or summaries of them, are summed up at once. */
const textsAtOnce = 40;
const nothingSaid: Summary = { summary: '', insights: [], recommendations: [] };

/**
 * Sums the notes up as a tree: forty notes to a summary, forty summaries to one of the next level, until one call holds what is left. Every level holds
 * at most forty texts at a time, and every summary is kept: notes are only added at the end, so the next analysis asks for the last branches alone.
 * While the notes are the same the last conclusion stands.
 */
export async function conclude({ store }: ConcludeDeps, { job, survey: { title }, provider, signal }: { job: SurveyJob; survey: SurveyWithQuestions; provider: Provider; signal: AbortSignal }): Promise<Conclusion> {
  const sumUp = async (texts: readonly string[]): Promise<string> => {
    const basis = digestOf(title, texts);
    const known = await pastOutages(() => store.summaryOf(job, basis, job.id));
    if (known !== undefined) return known;
    const { summary } = (await ask(provider, concludeTask(title, texts), signal)).value;
    await pastOutages(() => store.saveSummary(job, job.id, { basis, summary }));
    return summary;
  };
  await pastOutages(() => store.dropUnusedNotes(job));
  const texts = await lastTexts(store.notes(job), sumUp);
  const basis = digestOf(title, texts);
  const last = (await pastOutages(() => store.lastResult(job))) as Conclusion | null;
  const conclusion = last?.basis === basis ? last.conclusion : texts.length === 0 ? nothingSaid : (await ask(provider, concludeTask(title, texts), signal)).value;
  await pastOutages(() => store.dropUnseenSummaries(job, job.id));
  return { basis, conclusion };
}

/** At most forty texts that stand for all. */
async function lastTexts(notes: AsyncIterable<string>, sumUp: (texts: readonly string[]) => Promise<string>): Promise<string[]> {
  const levels: string[][] = [[]];
  // A full level is summed up when there is more: what fits into one call stays as it is.
  const add = async (text: string, at = 0): Promise<void> => {
    const level = (levels[at] ??= []);
    if (level.length === textsAtOnce) await add(await sumUp(level.splice(0)), at + 1);
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

const digestOf = (title: string, texts: readonly string[]): string => createHash('sha256').update(JSON.stringify([title, texts])).digest('base64url');
