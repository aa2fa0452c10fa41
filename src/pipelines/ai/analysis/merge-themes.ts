import { mergeThemesTask } from '../../../ai/merge-themes.ts';
import type { Provider } from '../../../ai/provider.ts';
import { ask } from '../../../ai/structured.ts';
import { themeForm } from '../../../domain/theme-form.ts';
import { Problem } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';
import { pastOutages } from '../../../stores/postgres/client.ts';

export interface MergeDeps {
  store: Pick<AiStore, 'themeCounts' | 'mergeThemes' | 'settleThemes' | 'dropUnusedThemes'>;
  log: Pick<Log, 'warn'>;
}

/** Names of one call, those that stay and those that are looked at. */
const settledSent = 200;
const freshSent = 100;
/** Rarer names than these stay apart: the most frequent are what is read. */
const mostLookedAt = 2000;
/** What answers without content have is no theme like another. */
const noContent = themeForm('Other');

/**
 * Holds the names that an analysis has brought up against each other and against those of earlier ones, some at a time, the most frequent first.
 * Each decision is stored before the next call; a name that came through it is never moved. Without a usable reply names stay apart
 * until the next analysis: the counts are right all the same.
 */
export async function mergeThemes({ store, log }: MergeDeps, { job, provider, signal }: { job: SurveyJob; provider: Provider; signal: AbortSignal }): Promise<void> {
  await pastOutages(() => store.dropUnusedThemes(job));
  const frequent = async (isSettled: boolean, limit: number) => (await pastOutages(() => store.themeCounts(job, { isSettled, limit }))).map(({ name }) => name).filter((name) => themeForm(name) !== noContent);
  const fresh = await frequent(false, mostLookedAt);
  const settled = fresh.length === 0 ? [] : await frequent(true, settledSent);
  for (let start = 0; start < fresh.length; start += freshSent) {
    const names = fresh.slice(start, start + freshSent);
    if (settled.length + names.length > 1) {
      const merges = await decide({ settled, fresh: names }, { provider, signal, log });
      if (!merges) return;
      await pastOutages(() => store.mergeThemes(job, { merges, settled: names }));
      const moved = new Set(merges.map(({ name }) => name));
      settled.push(...names.filter((name) => !moved.has(name)).slice(0, settledSent - settled.length));
    }
  }
  await pastOutages(() => store.settleThemes(job));
}

async function decide(names: { settled: readonly string[]; fresh: readonly string[] }, { provider, signal, log }: { provider: Provider; signal: AbortSignal; log: MergeDeps['log'] }) {
  try {
    return (await ask(provider, mergeThemesTask(names), signal)).value;
  } catch (error) {
    // Where AI is off, or the key does not work, the analysis fails as with any other call.
    if (signal.aborted || !(error instanceof Problem) || (error.code !== 'AI_PROVIDER_ERROR' && error.code !== 'AI_RATE_LIMITED')) throw error;
    log.warn({ code: error.code }, 'themes that mean the same may have stayed apart');
    return undefined;
  }
}
