import type { GivenAnswer } from '../domain/questions/contract.ts';
import type { QuestionTypeName } from '../domain/questions/registry.ts';
import type { FoundQuestion } from './detect.ts';

/** A question of the file with what the service made of it: ids by the texts of the file. */
export interface MadeQuestion {
  found: FoundQuestion;
  id: string;
  optionIds: ReadonlyMap<string, string>;
  optionValues: ReadonlyMap<string, string>;
  rowIds: ReadonlyMap<string, string>;
  rowValues: ReadonlyMap<string, string>;
}

type Row = readonly string[];
type Reader = (question: MadeQuestion, row: Row) => Omit<GivenAnswer, 'questionId'>[];

const cell = (question: MadeQuestion, row: Row): string => row[question.found.columns[0]?.index ?? -1] ?? '';
const choice: Reader = (question, row) => [{ optionId: question.optionIds.get(cell(question, row)) ?? '' }];
const text: Reader = (question, row) => [{ textValue: cell(question, row) }];
const figure: Reader = (question, row) => [{ numberValue: Number(cell(question, row)) }];

/** How a row's cells become answers, by type; called only where a cell is filled. */
const readers: Partial<Record<QuestionTypeName, Reader>> = {
  YES_NO: (question, row) => [{ textValue: cell(question, row).toLowerCase() }],
  MULTIPLE_CHOICE: choice,
  DROPDOWN: choice,
  LIKERT_SCALE: choice,
  NUMBER: figure,
  RATING_SCALE: figure,
  NPS: figure,
  SLIDER: figure,
  CHECKBOXES: ({ found, optionIds }, row) => found.columns.filter(({ index }) => (row[index] ?? '') !== '').map(({ part }) => ({ optionId: optionIds.get(part) ?? '' })),
  RANKING: ({ found, optionIds }, row) =>
    found.columns.filter(({ index }) => (row[index] ?? '') !== '').map(({ part, index }) => ({ optionId: optionIds.get(part) ?? '', rank: Number(row[index]) })),
  MATRIX: ({ found, optionIds, rowIds }, row) =>
    found.columns.filter(({ index }) => (row[index] ?? '') !== '').map(({ part, index }) => ({ rowId: rowIds.get(part) ?? '', optionId: optionIds.get(row[index] ?? '') ?? '' })),
};

export const isAnswered = ({ columns }: FoundQuestion, row: Row): boolean => columns.some(({ index }) => (row[index] ?? '') !== '');

/** Ranks that repeat or leave a gap are no ranking: the service would refuse the whole response. */
export function isSubmittable({ type, columns }: FoundQuestion, row: Row): boolean {
  if (type !== 'RANKING') return true;
  const ranks = columns.map(({ index }) => row[index] ?? '').filter((rank) => rank !== '').map(Number).sort((a, b) => a - b);
  return ranks.every((rank, index) => rank === index + 1);
}

export function answersOf(questions: readonly MadeQuestion[], row: Row): GivenAnswer[] {
  return questions
    .filter(({ found }) => isAnswered(found, row) && isSubmittable(found, row))
    .flatMap((question) => (readers[question.found.type] ?? text)(question, row).map((answer) => ({ questionId: question.id, ...answer })));
}
