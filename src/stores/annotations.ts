import {
  type AnnotationEdition,
  type AnnotationKind,
  type AnnotationsFound,
  annotationKindOf,
  annotationKinds,
  type Editions,
  type KnownAnnotations,
  questionOfThemes,
} from '../domain/analytics/annotation-variables.ts';
import { currentThemeName, type ThemeNames } from '../domain/analytics/theme-names.ts';
import { createPauses } from '../platform/slices.ts';
import type { AnnotationTable } from './clickhouse/annotation-table.ts';
import type { AiAnnotationRows } from './postgres/ai/annotations.ts';
import type { AnalysisTopic } from './postgres/ai/topics.ts';

export interface AnnotationsDeps {
  /** Annotations in PostgreSQL, where analyses save them. */
  rows: AiAnnotationRows;
  /** Copies in ClickHouse, where they are counted. */
  table: AnnotationTable;
  newId(): string;
}

/** What analyses found in one answer. */
export interface AnswerAnnotations {
  sentiment?: string;
  themes: string[];
}

/** An edition without additions for this long belongs to an analysis that has finished or died. */
const unfinishedEditionTtlMs = 3_600_000;

/** Annotations as variables of analytics. */
export function createAnnotations({ rows, table, newId }: AnnotationsDeps) {
  const readEdition = async (
    surveyId: string,
    kind: AnnotationKind,
    { edition, questionIds = [] }: { edition: string; questionIds?: readonly string[] },
  ): Promise<AnnotationEdition> => {
    if (kind === 'sentiment') return { edition, values: [] };
    const [names, found, byQuestion] = await Promise.all([
      rows.themeNames(surveyId),
      table.values({ surveyId, edition }),
      table.valuesByQuestion({ surveyId, edition }, questionIds),
    ]);
    const named = await underGivenNames(found, names);
    const namedByQuestion = new Map<string, AnnotationsFound>();
    for (const [id, values] of byQuestion) namedByQuestion.set(id, await underGivenNames(values, names));
    return { edition, names, ...named, byQuestion: namedByQuestion };
  };
  /** Writes all annotations of a topic into a new edition and returns its name, by which readers find it. */
  const publish = async (topic: AnalysisTopic, signal?: AbortSignal): Promise<string> => {
    const edition = newId();
    await table.insert({ surveyId: topic.surveyId, edition }, untilAborted(rows.pages(topic), signal));
    return edition;
  };
  /** The stored values of an edition that people named otherwise, with their names. */
  const replacedIn = async (surveyId: string, edition: string): Promise<Map<string, string>> => {
    const names = await rows.themeNames(surveyId);
    if (names.size === 0) return new Map();
    const replaced = new Map<string, string>();
    const pauseIfDue = createPauses();
    for (const { value } of await table.values({ surveyId, edition })) {
      const name = currentThemeName(names, value);
      if (value !== name) replaced.set(value, name);
      await pauseIfDue();
    }
    return replaced;
  };
  return {
    /** The annotations that these variables or filters name. A filter needs no values of its question. */
    async findByNames(
      surveyId: string,
      { variables = [], filters = [] }: { variables?: readonly string[]; filters?: readonly string[] },
    ): Promise<KnownAnnotations> {
      const known: KnownAnnotations = {};
      const names = [...variables, ...filters];
      const questionIds = [...new Set(variables.flatMap((name) => questionOfThemes(name) ?? []))];
      for (const kind of annotationKinds) {
        const edition = names.some((name) => annotationKindOf(name) === kind)
          ? await rows.lastEdition(surveyId, kind)
          : undefined;
        if (edition !== undefined) known[kind] = await readEdition(surveyId, kind, { edition, questionIds });
      }
      return known;
    },

    /** What the last finished analysis of each kind found in the answers of these responses to a question. */
    async ofAnswers(
      surveyId: string,
      questionId: string,
      responseIds: readonly string[],
    ): Promise<Map<string, AnswerAnnotations>> {
      const found = new Map<string, AnswerAnnotations>();
      for (const kind of annotationKinds) {
        const edition = await rows.lastEdition(surveyId, kind);
        if (edition === undefined) continue;
        const names: ThemeNames = kind === 'theme' ? await rows.themeNames(surveyId) : new Map();
        for (const [responseId, value] of await table.ofAnswers({ surveyId, edition }, questionId, responseIds)) {
          const known = found.get(responseId) ?? { themes: [] };
          const themes = new Set(known.themes).add(currentThemeName(names, value));
          found.set(
            responseId,
            kind === 'sentiment' ? { ...known, sentiment: value } : { ...known, themes: [...themes] },
          );
        }
      }
      return found;
    },

    /**
     * What the last finished analysis of a kind found in the answers to a question, most frequent first, with the
     * number of responses; undefined without one.
     */
    async countsOf(
      surveyId: string,
      questionId: string,
      { kind, limit }: { kind: AnnotationKind; limit: number },
    ): Promise<{ value: string; count: number }[] | undefined> {
      const edition = await rows.lastEdition(surveyId, kind);
      if (edition === undefined) return undefined;
      const replaced = kind === 'theme' ? await replacedIn(surveyId, edition) : new Map();
      return table.countsOf({ surveyId, edition }, { questionId, replaced, limit });
    },

    /** The annotations of these editions. */
    async findByEditions(surveyId: string, editions: Editions): Promise<KnownAnnotations> {
      const known: KnownAnnotations = {};
      for (const kind of annotationKinds) {
        const edition = editions[kind];
        if (edition !== undefined) known[kind] = await readEdition(surveyId, kind, { edition });
      }
      return known;
    },

    publish,

    removeOfResponses: rows.removeOfResponses,

    async removeOfSurvey(surveyId: string): Promise<void> {
      await rows.removeOfSurvey(surveyId);
      await table.removeOfSurvey(surveyId);
    },

    /**
     * Removes unused editions, and annotations of deleted responses that an analysis saved while they were deleted.
     * Publishes the newest analyses again whose edition ClickHouse does not have, as after a restore. `signal` ends the
     * call soon.
     */
    async sweep(nowMs: number, signal?: AbortSignal): Promise<void> {
      const stored = await table.editions(signal);
      const inUse = await rows.editionsInUse();
      const used = new Set(inUse.map(({ edition }) => edition));
      const unused = [...stored].filter(
        ([edition, writtenAtMs]) => writtenAtMs < nowMs - unfinishedEditionTtlMs && !used.has(edition),
      );
      await table.removeEditions(
        unused.map(([edition]) => edition),
        signal,
      );
      const erased = await rows.findErasedWithAnnotations();
      for await (const { surveyId, responseIds } of untilAborted(erased, signal))
        await rows.removeOfResponses(surveyId, responseIds);
      let hasDeleted = false;
      for await (const { surveyId, responseIds } of untilAborted(table.findDeleted(signal), signal)) {
        await rows.removeOfResponses(surveyId, responseIds);
        hasDeleted = true;
      }
      if (hasDeleted) await table.removeDeleted(signal);
      await rows.removeLeftoverThemes();
      for (const { edition, newestOf } of inUse)
        if (newestOf && !stored.has(edition))
          await rows.replaceEdition(newestOf.surveyId, edition, await publish(newestOf, signal));
    },
  };
}

/**
 * Values by the names that people gave them, most frequent first. Several may have one name. Finding the names of ten
 * thousands takes a tenth of a second, in which others are answered.
 */
async function underGivenNames(found: readonly { value: string; count: number }[], names: ThemeNames) {
  const pauseIfDue = createPauses();
  const amounts = new Map<string, number>();
  const storedAs = new Map<string, string[]>();
  for (const { value, count } of found) {
    const name = currentThemeName(names, value);
    amounts.set(name, (amounts.get(name) ?? 0) + count);
    const stored = storedAs.get(name);
    if (stored) stored.push(value);
    else storedAs.set(name, [value]);
    await pauseIfDue();
  }
  const values = [...amounts].sort(([, one], [, other]) => other - one).map(([name]) => name);
  return { values, storedAs };
}

async function* untilAborted<T>(pages: AsyncIterable<T> | Iterable<T>, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const page of pages) {
    signal?.throwIfAborted();
    yield page;
  }
}

export type AnnotationStore = ReturnType<typeof createAnnotations>;
