import { themeKey } from '../../../domain/analytics/theme-key.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai/jobs.ts';

type ThemeStore = Pick<AiStore, 'themeCounts' | 'registerThemes'>;

/** What one answer is about, as a provider says it. */
export interface Themed {
  themes: string[];
}

const themesShown = 60;
/** Names that are remembered; of more the rarest are forgotten, and known again by the store. */
const maxNames = 2000;
const namesAfterEviction = 1000;

/**
 * The themes of an analysis and how often they were found, counted on from batch to batch: the store is asked for its counts once a job,
 * and of each name when it is met for the first time.
 */
export async function loadKnownThemes(store: ThemeStore, job: SurveyJob) {
  const counts = new Map<string, number>();
  /** Under which name a name is counted. */
  const shown = new Map<string, string>();
  const name = async (names: readonly string[]): Promise<void> => {
    for (const [said, as] of await store.registerThemes(
      job,
      names.map((fresh) => ({ name: fresh, form: themeKey(fresh) })),
    ))
      shown.set(said, as);
  };
  const count = (names: Iterable<string>, times: number): void => {
    for (const as of new Set([...names].map((said) => shown.get(said) ?? said)))
      counts.set(as, (counts.get(as) ?? 0) + times);
  };
  const before = await store.themeCounts(job, { limit: namesAfterEviction });
  // What has findings need not be known by its name: that may have been forgotten, or told apart in an older way.
  if (before.length > 0) await name(before.map((theme) => theme.name));
  for (const theme of before) count([theme.name], theme.count);
  return {
    /** The most frequent, as a batch is told of them. */
    names: (): string[] => frequent(counts, themesShown),

    /** Takes what was found in a batch, before it is stored. */
    async add(found: readonly Themed[]): Promise<void> {
      await name([...new Set(found.flatMap(({ themes }) => themes))].filter((said) => !shown.has(said)));
      for (const { themes } of found) count(themes, 1);
      if (counts.size > maxNames || shown.size > maxNames * 2) evictRare(counts, shown);
    },
  };
}

export type KnownThemes = Awaited<ReturnType<typeof loadKnownThemes>>;

function frequent(counts: ReadonlyMap<string, number>, atMost: number): string[] {
  return [...counts]
    .sort(([name, count], [other, otherCount]) => otherCount - count || (name < other ? -1 : 1))
    .slice(0, atMost)
    .map(([name]) => name);
}

function evictRare(counts: Map<string, number>, shown: Map<string, string>): void {
  const kept = new Set(frequent(counts, namesAfterEviction));
  for (const name of [...counts.keys()]) if (!kept.has(name)) counts.delete(name);
  shown.clear();
  for (const name of kept) shown.set(name, name);
}
