import type { Provider } from '../../../ai/providers/provider.ts';
import { ask } from '../../../ai/tasks/ask.ts';
import { mergeThemesTask } from '../../../ai/tasks/merge-themes.ts';
import { themeKey } from '../../../domain/analytics/theme-key.ts';
import { Problem } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';

export interface MergeThemesDeps {
  store: Pick<AiStore, 'themeCounts' | 'mergeThemes' | 'settleThemes' | 'dropUnusedThemes'>;
  log: Pick<Log, 'warn'>;
}

/** Names of one call, those that stay and those that are looked at. */
const maxSettledNames = 200;
const maxFreshNames = 100;
/** Rarer names than these stay apart: the most frequent are what is read. */
const maxComparedNames = 2000;
/** What answers without content have is no theme like another. */
const noContent = themeKey('Other');

/**
 * Holds the names that an analysis has brought up against each other and against those of earlier ones, some at a time, the most frequent first.
 * Each decision is stored before the next call; a name that came through it is never moved. Without a usable reply names stay apart
 * until the next analysis: the counts are right all the same.
 */
export async function mergeThemes(
  { store, log }: MergeThemesDeps,
  { job, provider, signal }: { job: SurveyJob; provider: Provider; signal: AbortSignal },
): Promise<void> {
  await retryOnOutage(() => store.dropUnusedThemes(job));
  const frequent = async (isSettled: boolean, limit: number) =>
    (await retryOnOutage(() => store.themeCounts(job, { isSettled, limit })))
      .map(({ name }) => name)
      .filter((name) => themeKey(name) !== noContent);
  const fresh = await frequent(false, maxComparedNames);
  const settled = fresh.length === 0 ? [] : await frequent(true, maxSettledNames);
  for (let start = 0; start < fresh.length; start += maxFreshNames) {
    const names = fresh.slice(start, start + maxFreshNames);
    if (settled.length + names.length > 1) {
      const merges = await askForMerges({ settled, fresh: names }, { provider, signal, log });
      if (!merges) return;
      await retryOnOutage(() => store.mergeThemes(job, { merges, settled: names }));
      const moved = new Set(merges.map(({ name }) => name));
      settled.push(...names.filter((name) => !moved.has(name)).slice(0, maxSettledNames - settled.length));
    }
  }
  await retryOnOutage(() => store.settleThemes(job));
}

async function askForMerges(
  names: { settled: readonly string[]; fresh: readonly string[] },
  { provider, signal, log }: { provider: Provider; signal: AbortSignal; log: MergeThemesDeps['log'] },
) {
  try {
    return (await ask(provider, mergeThemesTask(names), signal)).value;
  } catch (error) {
    // Where AI is off, or the key does not work, the analysis fails as with any other call.
    if (
      signal.aborted ||
      !(error instanceof Problem) ||
      (error.code !== 'AI_PROVIDER_ERROR' && error.code !== 'AI_RATE_LIMITED')
    )
      throw error;
    log.warn({ code: error.code }, 'merging equivalent themes failed, duplicates may remain');
    return undefined;
  }
}
