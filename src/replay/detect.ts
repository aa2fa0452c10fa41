import { cutText } from '../platform/cut-text.ts';
import { isAnswerTime } from './answer-time.ts';
import {
  type ColumnOverride,
  checkNames,
  emptyMapping,
  type Mapping,
  overrideForColumn,
  overrideForQuestion,
} from './mapping.ts';
import {
  type DetectedQuestion,
  type GroupShape,
  hasOptions,
  type Item,
  matrixOptions,
  orderOfOpenDays,
  recogniseColumn,
  recogniseGroup,
  shapeAs,
  textTypeOf,
} from './recognise.ts';
import { choiceSeparatorOf, choicesIn } from './split.ts';
import { type Column, type Row, type Table, valuesOf } from './table.ts';

export interface Detection {
  questions: readonly DetectedQuestion[];
  /** The column that identifies respondents. */
  idColumn: Column | undefined;
  /** The column with the time of the answer, which is sent as metadata. */
  timeColumn: Column | undefined;
}

/**
 * Recognises the questions of a file, with the overrides of the mapping. Throws an Error if the mapping does not fit
 * the file.
 */
export function detect({ columns, emptyColumns = [], rows }: Table, mapping: Mapping = emptyMapping): Detection {
  checkNames(mapping, [...columns, ...emptyColumns]);
  const isOverridden = (column: Column): boolean =>
    overrideForColumn(mapping, column) !== undefined || overrideForQuestion(mapping, column) !== undefined;
  const free = columns.filter((column) => !isOverridden(column));
  const questions = free.filter(({ role }) => role === undefined);
  const idColumn =
    free.find((column) => column.role === 'id' && isUnique(column, rows)) ??
    questions.find((column) => isIdentifier(column, rows));
  const timeColumn = free.find(({ role }) => role === 'time') ?? questions.find((column) => isAnswerTime(column, rows));
  const asked = columns.filter(
    (column) =>
      (column.role === undefined || isOverridden(column)) &&
      column !== idColumn &&
      column !== timeColumn &&
      overrideForColumn(mapping, column)?.ignore !== true &&
      overrideForQuestion(mapping, column)?.ignore !== true,
  );
  const runs = new Map<number, Column[]>();
  for (const column of asked) runs.set(column.run, [...(runs.get(column.run) ?? []), column]);
  const found = [...runs.values()].flatMap((run) => questionsOf(run, rows, mapping));
  return { idColumn, timeColumn, questions: found.sort((a, b) => placeOf(a) - placeOf(b)) };
}

const placeOf = ({ items }: DetectedQuestion): number => items[0]?.index ?? 0;

const idWord = /^(?:id|uuid|guid|identifier|(?:respondent|response|participant|user|person|case|record|session)id)$/;

/** Whether the column is named as an id and has a different value in every row. */
function isIdentifier(column: Column, rows: readonly Row[]): boolean {
  const words = column.question
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return column.part === '' && words.some((word) => idWord.test(word)) && isUnique(column, rows);
}

function isUnique({ index }: Column, rows: readonly Row[]): boolean {
  const values = valuesOf(rows, index);
  return rows.length > 0 && values.length === rows.length && new Set(values).size === values.length;
}

/** The questions of the columns under one header, usually one. */
function questionsOf(run: readonly Column[], rows: readonly Row[], mapping: Mapping): DetectedQuestion[] {
  const override = withDeclared(run[0] && overrideForQuestion(mapping, run[0]), run);
  const free = run.filter((column) => column.part !== '' && overrideForColumn(mapping, column) === undefined);
  const group =
    free.length > 1 || (isGroupType(override?.type) && override?.split === undefined)
      ? groupOf(free, rows, override)
      : undefined;
  const alone = run.filter((column) => !group?.columns.includes(column));
  const single = alone.map((column) =>
    columnQuestion(column, {
      rows,
      override: overrideForColumn(mapping, column) ?? (group ? undefined : override),
      dayOrder: mapping.dayOrder,
      isAlone: run.length === 1,
    }),
  );
  return group ? [groupQuestion(group, override), ...single] : single;
}

/** The override of a question, CHECKBOXES if the file declares them and the mapping says nothing about types. */
function withDeclared(override: ColumnOverride | undefined, run: readonly Column[]): ColumnOverride | undefined {
  const areCheckboxes = run.length > 1 && run.some(({ declared }) => declared?.type === 'CHECKBOXES');
  return areCheckboxes ? { type: 'CHECKBOXES', ...override } : override;
}

const isGroupType = (type: ColumnOverride['type']): type is GroupShape['type'] =>
  type === 'CHECKBOXES' || type === 'RANKING' || type === 'MATRIX';

function groupOf(
  columns: readonly Column[],
  rows: readonly Row[],
  { type, options }: ColumnOverride = {},
): GroupShape | undefined {
  if (type === undefined) return withDeclaredOptions(recogniseGroup(columns, rows));
  if (!isGroupType(type)) return undefined;
  if (columns.length < 2) throw new Error(`The mapping asks for ${type}, which takes a header with several columns`);
  return { type, columns, options: type === 'MATRIX' ? (options ?? matrixOptions(columns, rows)) : [] };
}

/** A MATRIX whose columns all declare the same options has them all, chosen or not. */
function withDeclaredOptions(group: GroupShape | undefined): GroupShape | undefined {
  const [first, ...others] = group?.columns.map(({ declared }) => declared?.options) ?? [];
  if (group?.type !== 'MATRIX' || first === undefined) return group;
  return others.every((options) => options?.join('\n') === first.join('\n')) ? { ...group, options: first } : group;
}

function groupQuestion({ type, columns, options }: GroupShape, override: ColumnOverride | undefined): DetectedQuestion {
  if (override?.options && type !== 'MATRIX')
    throw new Error(`The mapping gives options to a question of type ${type}, which takes them from its columns`);
  return {
    type,
    text: override?.question ?? wording(columns[0]?.question ?? ''),
    items: itemsOf(columns),
    options: override?.options ?? options,
    dayOrder: 'year',
  };
}

interface ColumnContext {
  rows: readonly Row[];
  override: ColumnOverride | undefined;
  /** The order of day and month, unless the override has one or the days show it. */
  dayOrder: Mapping['dayOrder'];
  isAlone: boolean;
}

function columnQuestion(column: Column, { rows, override, dayOrder, isAlone }: ColumnContext): DetectedQuestion {
  const { question, part, index, declared } = column;
  const type = override?.type;
  const values = valuesOf(rows, index);
  const split = override?.split ?? (mayBeSplit(override) ? splitOf(column, values) : undefined);
  if (split !== undefined && type !== undefined && type !== 'CHECKBOXES')
    throw new Error(`The mapping splits a question of type ${type}; only CHECKBOXES can be split`);
  if (split === undefined && isGroupType(type))
    throw new Error(`The mapping asks for ${type}, which takes a header with several columns, for column ${index}`);
  const given = override?.dayOrder ?? orderOfOpenDays(values, dayOrder);
  const found = recogniseColumn(values, given);
  const shape: Shape =
    split !== undefined
      ? splitShape(values, split, override?.options ?? declared?.options)
      : type === undefined && override?.options === undefined
        ? (declaredShape(values, declared) ?? found)
        : shapeAs(type ?? (hasOptions(found.type) ? found.type : 'MULTIPLE_CHOICE'), values, {
            options: override?.options,
            dayOrder: given,
          });
  if (override?.options && shape.options.length === 0)
    throw new Error(`The mapping gives options to a question of type ${shape.type}, which has none`);
  const text = override?.question ?? question;
  const isPart = part !== '' && !isAlone;
  return {
    ...shape,
    text: wording(isPart ? `${text} – ${part}` : text),
    items: [{ index, text: wording(part === '' ? text : part) }],
  };
}

/** The separator of choices in one cell: the declared one, or one that is recognised where nothing is declared. */
function splitOf({ declared }: Column, values: readonly string[]): string | undefined {
  if (declared?.split !== undefined) return declared.split ?? undefined;
  return declared?.options ? undefined : choiceSeparatorOf(values);
}

/** The shape of a column of texts, or of one with declared options: the type that the options have, and all of them. */
function declaredShape(values: readonly string[], declared: Column['declared']): Shape | undefined {
  if (declared?.type === 'SHORT_TEXT') return shapeAs(textTypeOf(values), values);
  if (declared?.options === undefined) return undefined;
  const { type } = recogniseColumn(declared.options.flatMap((option) => [option, option]));
  if (type === 'YES_NO') return shapeAs('YES_NO', values);
  return shapeAs(hasOptions(type) ? type : 'MULTIPLE_CHOICE', values, { options: declared.options });
}

type Shape = Omit<DetectedQuestion, 'text' | 'items'>;

/** Whether several choices in one cell are looked for: not if the mapping says what the column is. */
const mayBeSplit = (override: ColumnOverride | undefined): boolean =>
  override?.type === 'CHECKBOXES' || (override?.type === undefined && override?.options === undefined);

const splitShape = (values: readonly string[], split: string, options?: readonly string[]): Shape => ({
  type: 'CHECKBOXES',
  split,
  dayOrder: 'year',
  options: options ?? [...new Set(values.flatMap((cell) => choicesIn(cell, split)))],
});

/** Items with unique texts: repeated texts are numbered. */
function itemsOf(columns: readonly Column[]): Item[] {
  const taken = new Set<string>();
  return columns.map(({ index, part }) => {
    const base = cutText(part, 490);
    let text = base;
    for (let n = 2; taken.has(text); n += 1) text = `${base} (${n})`;
    taken.add(text);
    return { index, text };
  });
}

const wording = (text: string): string => cutText(text, 2000);
