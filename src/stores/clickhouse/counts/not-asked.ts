import type { AskedPart, AskedSurvey } from '../../../domain/analytics/asked.ts';
import type { VersionSpan } from '../../../domain/survey.ts';
import { allOf, type ColumnOf } from '../read/selection.ts';
import { sqlInteger } from '../sql-literals.ts';
import type { Step } from './plan-context.ts';
import type { Scan } from './scans.ts';

/** In how many responses a question was not asked, and each row of a MATRIX, by value. */
export interface NotAskedCounts {
  question: number;
  byRow: Record<string, number>;
}

/**
 * Counts where the `counted` questions were not asked (see `domain/analytics/asked.ts`). Rows of the scan: (0, place of
 * the last answered question, '', [responses, then responses that say so by part]); places begin with 1, 0 stands for
 * none, and complete responses have the last place. What was not asked of partial responses follows from their last
 * answered question without a figure of its own for each question.
 */
export function notAskedStep(
  asked: AskedSurvey,
  { counted, columnOf, hasPartials }: { counted: ReadonlySet<string>; columnOf: ColumnOf; hasPartials: boolean },
): Step<Map<string, NotAskedCounts>> {
  const questions = asked.questions
    .map((question, index) => ({ question, place: index + 1 }))
    .filter(({ question }) => counted.has(question.questionId));
  const parts = questions.flatMap(({ question, place }) =>
    [question, ...question.rows].filter(hasMarks).map((part): { part: AskedPart; place: number } => ({ part, place })),
  );
  const scans = parts.length === 0 && !hasPartials ? [] : [notAskedScan(asked, { parts, columnOf, hasPartials })];
  return {
    scans,
    collect([rows = []]) {
      const byLast = new Map<number, number[]>();
      for (const [, last, , figures] of rows) {
        const sums = byLast.get(last) ?? [];
        byLast.set(
          last,
          figures.map((figure, index) => (figure ?? 0) + (sums[index] ?? 0)),
        );
      }
      const countOf = (part: AskedPart, place: number): number => {
        const figure = parts.findIndex((item) => item.part === part) + 1;
        let count = 0;
        for (const [last, sums] of byLast)
          count += last < place ? (sums[0] ?? 0) : figure === 0 ? 0 : (sums[figure] ?? 0);
        return count;
      };
      return new Map(
        questions.map(({ question, place }) => [
          question.questionId,
          {
            question: countOf(question, place),
            byRow: Object.fromEntries(question.rows.map((row) => [row.value, countOf(row, place)])),
          },
        ]),
      );
    },
  };
}

interface ScanOptions {
  parts: readonly { part: AskedPart }[];
  columnOf: ColumnOf;
  hasPartials: boolean;
}

function notAskedScan(asked: AskedSurvey, { parts, columnOf, hasPartials }: ScanOptions): Scan {
  const marked = parts.map(({ part }) => `toFloat64(countIf(${isMarkedNotAsked(part, columnOf)}))`);
  const last = hasPartials ? lastAnswered(asked, columnOf) : sqlInteger(asked.questions.length);
  // Without marks, complete responses have nothing to count.
  const only = parts.length === 0 ? ' AND is_complete = 0' : '';
  return {
    isAdditive: true,
    statement: (source) =>
      `SELECT 0 AS place, ${last} AS code, '' AS label, [${['toFloat64(count())', ...marked].join(', ')}] AS figures FROM ${source}${only} GROUP BY code`,
  };
}

const isAnswered = ({ slots }: AskedPart, columnOf: ColumnOf): string =>
  slots.length === 0 ? '0' : slots.map((slot) => `${columnOf(slot)} != 0`).join(' OR ');

/** Whether responses say of it that it was not asked, by a bit or by the version of the survey. */
const hasMarks = ({ notAsked, absentIn }: AskedPart): boolean => notAsked.length > 0 || absentIn !== undefined;

function isMarkedNotAsked(part: AskedPart, columnOf: ColumnOf): string {
  const marks = [
    ...part.notAsked.map(({ slot, mask }) => `bitAnd(${columnOf(slot)}, ${sqlInteger(mask)}) != 0`),
    ...(part.absentIn === undefined ? [] : [isOfVersions(part.absentIn)]),
  ];
  return `(${marks.join(' OR ')}) AND NOT (${isAnswered(part, columnOf)})`;
}

/** SQL condition: a response is one to any of these versions of its survey. */
export const isOfVersions = (spans: readonly VersionSpan[]): string =>
  spans
    .map(({ from, to }) =>
      allOf([
        from === 0 ? '' : `survey_version >= ${sqlInteger(from)}`,
        to === undefined ? '' : `survey_version < ${sqlInteger(to)}`,
      ]),
    )
    .join(' OR ');

/** SQL condition: a response was asked everything that its bits do not name: complete ones, and those that mark it. */
export const isMarked = (markedFrom: number | undefined): string =>
  markedFrom === undefined ? 'is_complete != 0' : `is_complete != 0 OR survey_version >= ${sqlInteger(markedFrom)}`;

/** SQL for the place (from 1) of a response's last answered question; 0 without any, the last place if it is marked. */
export function lastAnswered({ questions, markedFrom }: AskedSurvey, columnOf: ColumnOf): string {
  const places = questions.map((question, index) => `${isAnswered(question, columnOf)}, ${index + 1}`).reverse();
  return `toUInt16(multiIf(${[`${isMarked(markedFrom)}, ${questions.length}`, ...places].join(', ')}, 0))`;
}

/** SQL condition: this part was not asked. `place`: of its question, from 1; `last`: as `lastAnswered`. */
export const isNotAsked = (
  part: AskedPart,
  { place, last, columnOf }: { place: number; last: string; columnOf: ColumnOf },
): string =>
  `(${hasMarks(part) ? `${isMarkedNotAsked(part, columnOf)} OR ` : ''}NOT (${isAnswered(part, columnOf)}) AND ${last} < ${sqlInteger(place)})`;
