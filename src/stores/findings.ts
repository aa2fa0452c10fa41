import { findingKindOf, findingKinds, type Editions, type FindingKind, type KnownFindings } from '../domain/finding-variables.ts';
import type { FindingTable } from './clickhouse/findings.ts';
import type { AiFindingRows } from './postgres/ai-findings.ts';

export interface FindingsDeps {
  /** Where analyses keep what they found. */
  rows: AiFindingRows;
  /** Where it can be counted. */
  table: FindingTable;
  newId(): string;
}

/** An edition that nobody adds to for so long belongs to a finished analysis, or to one that never ends. */
const unfinishedForMs = 3_600_000;

/** What analyses found, as variables of analytics. */
export function createFindings({ rows, table, newId }: FindingsDeps) {
  const at = async (surveyId: string, kind: FindingKind, edition: string) => ({ edition, values: kind === 'sentiment' ? [] : await table.values({ surveyId, edition }) });
  return {
    /** The findings that these filters or variables name. */
    async named(surveyId: string, names: readonly string[]): Promise<KnownFindings> {
      const known: KnownFindings = {};
      for (const kind of findingKinds) {
        const edition = names.some((name) => findingKindOf(name) === kind) ? await rows.lastEdition(surveyId, kind) : undefined;
        if (edition !== undefined) known[kind] = await at(surveyId, kind, edition);
      }
      return known;
    },

    /** The findings of these editions, as they were named. */
    async ofEditions(surveyId: string, editions: Editions): Promise<KnownFindings> {
      const known: KnownFindings = {};
      for (const kind of findingKinds) {
        const edition = editions[kind];
        if (edition !== undefined) known[kind] = await at(surveyId, kind, edition);
      }
      return known;
    },

    /** Writes all findings of a topic into a new edition, and gives its name; it is read once its analysis is finished. */
    async publish(topic: { surveyId: string; topic: string }, signal: AbortSignal): Promise<string> {
      const edition = newId();
      await table.insert({ surveyId: topic.surveyId, edition }, untilAborted(rows.pages(topic), signal));
      return edition;
    },

    removeOfResponses: rows.removeOfResponses,

    async removeOfSurvey(surveyId: string): Promise<void> {
      await rows.removeOfSurvey(surveyId);
      await table.removeOfSurvey(surveyId);
    },

    /** Removes editions that nobody reads, and what is left of deleted responses: an analysis may have met one while it was deleted. */
    async sweep(nowMs: number): Promise<void> {
      const old = await table.editions(new Date(nowMs - unfinishedForMs));
      if (old.length > 0) {
        const kept = await rows.keptEditions();
        await table.removeEditions(old.filter((edition) => !kept.has(edition)));
      }
      const erased = await rows.erasedWithFindings();
      if (erased.length > 0) await rows.removeOfResponses(erased);
      let hasDeleted = false;
      for await (const responseIds of table.deleted()) {
        await rows.removeOfResponses(responseIds);
        hasDeleted = true;
      }
      if (hasDeleted) await table.removeDeleted();
      await rows.forgetThemes();
    },
  };
}

async function* untilAborted<T>(pages: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  for await (const page of pages) {
    signal.throwIfAborted();
    yield page;
  }
}

export type FindingStore = ReturnType<typeof createFindings>;
