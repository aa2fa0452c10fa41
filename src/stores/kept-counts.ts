import { createHash } from 'node:crypto';
import type { CrosstabCounts } from '../domain/crosstab-counts.ts';
import type { CountResult, Dimension } from '../domain/questions/contract.ts';
import { createRecentMap } from '../recent-map.ts';
import type { CrosstabStore } from './clickhouse/crosstab.ts';
import type { SurveyCounts, TotalsStore } from './clickhouse/totals.ts';
import type { StoredMarks } from './redis/stored-marks.ts';

export interface KeptCountsDeps {
  totals: TotalsStore;
  crosstab: CrosstabStore;
  marks: Pick<StoredMarks, 'of'>;
  /** Whether a server may be asked that does not have yet what another has stored. */
  areServersApart: boolean;
  /** In milliseconds. */
  now?: () => number;
}

const resultsKept = 100;
/** Greater ones are rare, and would take much memory. */
const mostFigures = 3000;
/** A text of so many takes about as much memory again as a number: respondents can make words of thousands. */
const charactersAFigure = 30;
/** However long nothing is stored by us: somebody may put rows back by hand, and of several servers one may come later. */
const longestMs = { ofOneServer: 10_000, ofSeveral: 1000 };

interface Kept<Counts> {
  mark: string;
  countedAtMs: number;
  counts: Promise<Counts>;
}

/**
 * The same counts as those of the stores behind it. Who asks again what was counted since the survey's last batch gets what was counted
 * then, and who asks while it is counted waits for that: many who watch one survey cost one count a batch.
 */
export function createKeptCounts({ totals, crosstab, marks, areServersApart, now = () => performance.now() }: KeptCountsDeps) {
  const keptMs = areServersApart ? longestMs.ofSeveral : longestMs.ofOneServer;
  const keep = <Query extends { surveyId: string }, Counts>(count: (query: Query) => Promise<Counts>, { dimensionsOf, figuresOf }: Shape<Query, Counts>) => {
    const known = createRecentMap<Kept<Counts>>(resultsKept);
    return async (query: Query): Promise<Counts> => {
      // Findings change without a batch.
      if (dimensionsOf(query).some(({ source }) => source.kind === 'finding')) return count(query);
      // Asked before counting: what is stored meanwhile makes another mark.
      const mark = await marks.of(query.surveyId);
      if (mark === undefined) return count(query);
      // A query names all categories: of thousands of long ones its text would take more than the counts.
      const key = createHash('sha256').update(JSON.stringify(query)).digest('base64');
      const last = known.get(key);
      if (last?.mark === mark && now() - last.countedAtMs < keptMs) return last.counts;
      const entry: Kept<Counts> = { mark, countedAtMs: now(), counts: count(query) };
      known.set(key, entry);
      const forget = (): void => {
        if (known.get(key) === entry) known.delete(key);
      };
      entry.counts.then((counts) => {
        if (figuresOf(counts) > mostFigures) forget();
      }, forget);
      return entry.counts;
    };
  };

  return {
    totals: {
      countSurvey: keep(totals.countSurvey, { dimensionsOf: ({ filters = [] }) => filters.map(({ dimension }) => dimension), figuresOf: figuresOfSurvey }),
    } satisfies TotalsStore,
    crosstab: {
      ...crosstab,
      countBanner: keep(crosstab.countBanner, {
        dimensionsOf: ({ rows, columns, filters = [] }) => [rows, ...columns, ...filters.map(({ dimension }) => dimension)],
        figuresOf: (tables) => tables.reduce((sum, table) => sum + figuresOfTable(table), 0),
      }),
    } satisfies CrosstabStore,
  };
}

interface Shape<Query, Counts> {
  /** All that the query names. */
  dimensionsOf(query: Query): readonly Dimension[];
  /** About how many numbers and texts it holds. */
  figuresOf(counts: Counts): number;
}

const figuresOfSurvey = ({ byDay, perQuestion }: SurveyCounts): number =>
  [...perQuestion.values()].reduce((sum, { results }) => sum + results.reduce((figures, result) => figures + figuresOfResult(result), 1), byDay.length);

function figuresOfResult(result: CountResult): number {
  if (result.kind === 'text') return result.counts.reduce((sum, { key }) => sum + 1 + Math.floor(key.length / charactersAFigure), 0);
  return result.kind === 'codes' ? result.counts.size : result.kind === 'number' ? result.moments.bins.length : result.counts.length;
}

const figuresOfTable = ({ cells, rowTotals, columnTotals }: CrosstabCounts): number => cells.length + rowTotals.size + columnTotals.size;
