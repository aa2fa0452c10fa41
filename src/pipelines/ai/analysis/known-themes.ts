import { themeForm } from '../../../domain/theme-form.ts';
import type { AiStore, SurveyJob } from '../../../stores/postgres/ai.ts';

type ThemeStore = Pick<AiStore, 'themeCounts' | 'nameThemes'>;

/** What one answer is about, as a provider says it. */
export interface Themed {
  themes: string[];
}

const themesShown = 60;
/** Names that are remembered; of more the rarest are forgotten, and known again by the store. */
const mostKept = 2000;
const keptThen = 1000;

/**
 * The themes of an analysis and how often they were found, counted on from batch to batch: the store is asked for its counts once a job,
 * and of each name when it is met for the first time.
 */
export async function openKnownThemes(store: ThemeStore, job: SurveyJob) {
  const counts = new Map((await store.themeCounts(job, { limit: keptThen })).map(({ name, count }) => [name, count]));
  /** Under which name a name is counted. */
  const shown = new Map([...counts.keys()].map((name) => [name, name]));
  return {
    /** The most frequent, as a batch is told of them. */
    names: (): string[] => frequent(counts, themesShown),

    /** Takes what was found in a batch, before it is stored. */
    async add(found: readonly Themed[]): Promise<void> {
      const fresh = [...new Set(found.flatMap(({ themes }) => themes))].filter((name) => !shown.has(name));
      for (const [name, as] of await store.nameThemes(job, fresh.map((name) => ({ name, form: themeForm(name) })))) shown.set(name, as);
      for (const { themes } of found) for (const name of new Set(themes.map((said) => shown.get(said) ?? said))) counts.set(name, (counts.get(name) ?? 0) + 1);
      if (counts.size > mostKept || shown.size > mostKept * 2) forget(counts, shown);
    },
  };
}

export type KnownThemes = Awaited<ReturnType<typeof openKnownThemes>>;

function frequent(counts: ReadonlyMap<string, number>, atMost: number): string[] {
  return [...counts].sort(([name, count], [other, otherCount]) => otherCount - count || (name < other ? -1 : 1)).slice(0, atMost).map(([name]) => name);
}

function forget(counts: Map<string, number>, shown: Map<string, string>): void {
  const kept = new Set(frequent(counts, keptThen));
  for (const name of [...counts.keys()]) if (!kept.has(name)) counts.delete(name);
  shown.clear();
  for (const name of kept) shown.set(name, name);
}
