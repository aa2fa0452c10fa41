import { choosesOneOption } from '../domain/path/answer-kinds.ts';
import type { Api } from './api.ts';
import { type Comparison, compareCells, mergeComparisons } from './compare.ts';
import type { DetectedQuestion } from './recognise.ts';
import { type CrosstabReply, crosstabSchema } from './replies.ts';
import type { ImportedSurvey } from './survey.ts';
import type { Row } from './table.ts';
import type { ImportedQuestion } from './types/adapter.ts';
import { typeAdapters } from './types/adapters.ts';

/** A variable of a crosstab: a question by its index in the survey, or one of its rows or items. */
export interface Variable {
  place: number;
  item: string | undefined;
  title: string;
}

/**
 * Finds a variable by name: the wording of a question or a unique part of it, or the text of a matrix row or ranked
 * item, preceded by the question's wording and “ › ” if several have the same text. Throws an Error if there is none or
 * several.
 */
export function findVariable(questions: readonly DetectedQuestion[], name: string): Variable {
  const wanted = name.trim().toLowerCase();
  const known = questions.flatMap((question, place) => variablesOf(question, place));
  const is = (test: (title: string) => boolean): Variable[] => known.filter(({ title }) => test(title.toLowerCase()));
  const steps = [
    is((title) => title === wanted),
    is((title) => title.endsWith(` › ${wanted}`)),
    is((title) => title.includes(wanted) && !title.includes(' › ')),
    is((title) => title.includes(wanted)),
  ];
  const found = steps.find((step) => step.length > 0) ?? [];
  const [variable] = found;
  if (!variable) throw new Error(`No question reads “${name}”`);
  if (found.length > 1)
    throw new Error(
      `“${name}” may be ${found
        .slice(0, 5)
        .map(({ title }) => `“${title}”`)
        .join(' or ')}`,
    );
  return checkCrossable(questions, variable, name);
}

/** The first and the last single-choice question; undefined if there are not two. */
export function defaultVariables(questions: readonly DetectedQuestion[]): [Variable, Variable] | undefined {
  const able = questions.flatMap((question, place) =>
    choosesOneOption(question.type) ? [{ place, item: undefined, title: question.text }] : [],
  );
  const [first, last] = [able[0], able.at(-1)];
  return first && last && first !== last ? [first, last] : undefined;
}

function variablesOf({ type, text, items }: DetectedQuestion, place: number): Variable[] {
  const parts = typeAdapters[type].crossedBy?.includes('item')
    ? items.map((item) => ({ place, item: item.text, title: `${text} › ${item.text}` }))
    : [];
  return [{ place, item: undefined, title: text }, ...parts];
}

function checkCrossable(questions: readonly DetectedQuestion[], variable: Variable, name: string): Variable {
  const question = pick(questions, variable.place);
  const { crossedBy } = typeAdapters[question.type];
  if (!crossedBy) throw new Error(`“${name}” is a question of type ${question.type}, which cannot be crossed`);
  if (variable.item === undefined && !crossedBy.includes('question'))
    throw new Error(
      `“${name}” is crossed row by row: name one of its rows, such as “${question.items[0]?.text ?? ''}”`,
    );
  return variable;
}

export function askCrosstab(
  api: Api,
  survey: ImportedSurvey,
  [rows, columns]: readonly [Variable, Variable],
): Promise<CrosstabReply> {
  const named = ({ place, item }: Variable) => {
    const question = pick(survey.questions, place);
    const row = item === undefined ? undefined : (question.rows.get(item) ?? question.options.get(item));
    return { id: question.id, row: row?.id };
  };
  const [first, second] = [named(rows), named(columns)];
  const body = {
    questionId1: first.id,
    questionId2: second.id,
    ...(first.row !== undefined && { rowId1: first.row }),
    ...(second.row !== undefined && { rowId2: second.row }),
  };
  return api
    .call(crosstabSchema, ['POST', `/analytics/surveys/${survey.id}/crosstab`], { body, changesNothing: true })
    .then(({ data }) => data);
}

export interface CrosstabPair {
  questions: readonly ImportedQuestion[];
  rows: readonly Row[];
  /** The types of the rows and of the columns. */
  variables: readonly [Variable, Variable];
  reply: CrosstabReply;
}

/**
 * Compares a crosstab with the file: its cells, the totals of its rows and columns, and how many answered both
 * questions.
 */
export function compareCrosstab({ questions, rows, variables: [first, second], reply }: CrosstabPair): Comparison {
  const own = crossFile(
    rows,
    (row) => categoriesOf(pick(questions, first.place), row, first.item),
    (row) => categoriesOf(pick(questions, second.place), row, second.item),
  );
  const shown = Object.fromEntries(
    reply.rows.map(({ value }, r) => [
      value,
      Object.fromEntries(reply.columns.map((column, c) => [column.value, reply.cells[r]?.[c]?.count ?? Number.NaN])),
    ]),
  );
  const totals = (heads: CrosstabReply['rows']) => Object.fromEntries(heads.map(({ value, total }) => [value, total]));
  const where = `${first.title} × ${second.title}`;
  return mergeComparisons([
    compareCells(where, { inFile: own.cells, inService: shown }),
    compareCells(`${where}, rows`, { inFile: own.rowTotals, inService: totals(reply.rows) }),
    compareCells(`${where}, columns`, { inFile: own.columnTotals, inService: totals(reply.columns) }),
    compareCells(where, { inFile: { 'answered both': own.total }, inService: { 'answered both': reply.total } }),
  ]);
}

function categoriesOf(question: ImportedQuestion, row: Row, item: string | undefined): string[] {
  const { isFilled, problem, categories } = typeAdapters[question.found.type];
  return isFilled(question.found, row) && problem(question.found, row) === undefined
    ? (categories?.(question, row, item) ?? [])
    : [];
}

/** Counts the rows of the file with a category in both variables; a row counts once in each of its categories. */
function crossFile(rows: readonly Row[], first: (row: Row) => string[], second: (row: Row) => string[]) {
  // Maps: an option may be called “constructor”, which every object has.
  const cells = new Map<string, Map<string, number>>();
  const rowTotals = new Map<string, number>();
  const columnTotals = new Map<string, number>();
  const addOne = (counts: Map<string, number>, value: string) => void counts.set(value, (counts.get(value) ?? 0) + 1);
  let total = 0;
  for (const row of rows) {
    const [down, across] = [first(row), second(row)];
    if (down.length === 0 || across.length === 0) continue;
    total += 1;
    for (const value of down) addOne(rowTotals, value);
    for (const value of across) addOne(columnTotals, value);
    for (const value of down) {
      const line = cells.get(value) ?? new Map<string, number>();
      for (const other of across) addOne(line, other);
      cells.set(value, line);
    }
  }
  return {
    cells: Object.fromEntries([...cells].map(([value, line]) => [value, Object.fromEntries(line)])),
    rowTotals: Object.fromEntries(rowTotals),
    columnTotals: Object.fromEntries(columnTotals),
    total,
  };
}

function pick<T>(questions: readonly T[], place: number): T {
  const question = questions[place];
  if (question === undefined) throw new Error(`there is no question ${place + 1}`);
  return question;
}
