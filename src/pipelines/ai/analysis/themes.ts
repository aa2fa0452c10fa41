import type { Provider } from '../../../ai/providers/provider.ts';
import { ask } from '../../../ai/tasks/ask.ts';
import { mergeThemesTask } from '../../../ai/tasks/merge-themes.ts';
import { themeKey } from '../../../domain/analytics/theme-key.ts';
import { currentThemeName } from '../../../domain/analytics/theme-names.ts';
import { Problem } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';
import { retryOnOutage } from '../../../stores/postgres/errors.ts';
import type { JobEnd } from '../job-end.ts';

export interface ThemesDeps {
  store: Pick<
    AiStore,
    'themeCounts' | 'registerThemes' | 'themeNames' | 'mergeThemes' | 'settleThemes' | 'dropUnusedThemes'
  >;
  log: Pick<Log, 'warn'>;
}

/** Names that a batch is shown, so that it uses them again. */
const themesShown = 60;
/** Above this many names the rarest are evicted from memory; the store still knows them. */
const maxNames = 2000;
const namesAfterEviction = 1000;

/**
 * The themes of an analysis with the number of answers that have them, counted on from batch to batch. The store is
 * asked for its counts once a job, and for each name when it first occurs.
 */
export async function loadKnownThemes(
  store: Pick<AiStore, 'themeCounts' | 'registerThemes' | 'themeNames'>,
  job: SurveyJob,
) {
  const counts = new Map<string, number>();
  /** The name under which a name is counted. */
  const shownAs = new Map<string, string>();
  const register = async (names: readonly string[]): Promise<void> => {
    const forms = names.map((name) => ({ name, form: themeKey(name) }));
    for (const [name, shown] of await store.registerThemes(job, forms)) shownAs.set(name, shown);
  };
  const count = (names: Iterable<string>, times: number): void => {
    for (const shown of new Set([...names].map((name) => shownAs.get(name) ?? name)))
      counts.set(shown, (counts.get(shown) ?? 0) + times);
  };
  const given = await store.themeNames(job.surveyId);
  const stored = await store.themeCounts(job, { limit: namesAfterEviction });
  // A name with annotations may be unregistered: evicted since, or stored by an older version with another key.
  if (stored.length > 0) await register(stored.map(({ name }) => name));
  for (const theme of stored) count([theme.name], theme.count);
  return {
    /** The most frequent names, as people gave them, for the prompt of a batch. */
    names: (): string[] => [...new Set(mostFrequent(counts, themesShown).map((name) => currentThemeName(given, name)))],

    /** Counts the themes of a batch before they are stored. */
    async add(annotations: readonly { themes: string[] }[]): Promise<void> {
      const names = new Set(annotations.flatMap(({ themes }) => themes));
      await register([...names].filter((name) => !shownAs.has(name)));
      for (const { themes } of annotations) count(themes, 1);
      if (counts.size > maxNames || shownAs.size > maxNames * 2) evictRare(counts, shownAs);
    },
  };
}

export type KnownThemes = Awaited<ReturnType<typeof loadKnownThemes>>;

function mostFrequent(counts: ReadonlyMap<string, number>, limit: number): string[] {
  return [...counts]
    .sort(([name, count], [other, otherCount]) => otherCount - count || (name < other ? -1 : 1))
    .slice(0, limit)
    .map(([name]) => name);
}

function evictRare(counts: Map<string, number>, shownAs: Map<string, string>): void {
  const kept = new Set(mostFrequent(counts, namesAfterEviction));
  for (const name of [...counts.keys()]) if (!kept.has(name)) counts.delete(name);
  shownAs.clear();
  for (const name of kept) shownAs.set(name, name);
}

/** Names in one call that asks which themes are the same: settled ones, which keep their name, and new ones. */
const maxSettledNames = 200;
const maxFreshNames = 100;
/** Rarer names are not compared: the most frequent ones are read. */
const maxComparedNames = 2000;
/** The theme of answers without content, which is like no other. */
const noContent = themeKey('Other');

/**
 * Asks which new names mean the same theme as another, the most frequent first. Each decision is stored before the next
 * call, and a name is compared once only. Without a valid reply the names stay apart until the next analysis; the
 * counts are right all the same.
 */
export async function mergeThemes(
  { store, log }: ThemesDeps,
  { job, provider, signal, confirmClaim }: { job: SurveyJob; provider: Provider } & JobEnd,
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
      const merged = new Set(merges.map(({ name }) => name));
      settled.push(...names.filter((name) => !merged.has(name)).slice(0, maxSettledNames - settled.length));
    }
  }
  await confirmClaim();
  await retryOnOutage(() => store.settleThemes(job));
}

/** Returns undefined where the provider has no valid reply or is at its limit; other failures end the analysis. */
async function askForMerges(
  names: { settled: readonly string[]; fresh: readonly string[] },
  { provider, signal, log }: { provider: Provider; signal: AbortSignal; log: ThemesDeps['log'] },
) {
  try {
    return (await ask(provider, mergeThemesTask(names), signal)).value;
  } catch (error) {
    const isProviderFailure =
      error instanceof Problem && (error.code === 'AI_PROVIDER_ERROR' || error.code === 'AI_RATE_LIMITED');
    if (signal.aborted || !isProviderFailure) throw error;
    log.warn({ code: error.code }, 'merging equivalent themes failed, duplicates may remain');
    return undefined;
  }
}
