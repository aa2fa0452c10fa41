import { type DecimalMark, readNumbers } from './decimals.ts';
import { type ColumnOverride, type Mapping, overrideForColumn, overrideForQuestion } from './mapping.ts';
import { isMissingWord } from './missing.ts';
import { isKeptExactly, isNumber } from './numbers.ts';
import { type GivenDayOrder, isDayOfEitherOrder, mainDayOrder, orderOfOpenDays, recogniseColumn } from './recognise.ts';
import type { Separator } from './separator.ts';
import { type Column, cellAt, oneLine, type Table } from './table.ts';
import { inEnglish, yesNoWords } from './yes-no.ts';

export interface CleanOptions {
  /** Undefined for files whose cells have no separators. */
  separator: Separator | undefined;
  /** The decimal mark of all columns that the mapping does not name; default: recognised by column. */
  decimal?: DecimalMark | undefined;
}

/**
 * The table with missing values emptied, values translated and numbers with a decimal point. What was recognised and
 * not asked for is said in the remarks.
 */
export function cleanTable(table: Table, mapping: Mapping, options: CleanOptions): Table {
  const remarks: string[] = [];
  const cleaned = table.columns.map((column) => {
    const override = overrideForColumn(mapping, column) ?? overrideForQuestion(mapping, column) ?? {};
    const cells = table.rows.map((row) => cellAt(row, column.index));
    const dayOrder = orderOfOpenDays(cells, mapping.dayOrder);
    const result = cleanColumn(
      column,
      cells,
      { missing: mapping.missing, dayOrder, ...declaredOf(column), ...override },
      options,
    );
    remarks.push(...result.remarks.map((remark) => `“${titleOf(column)}”${remark}`));
    return { ...result, column };
  });
  const changes = new Map(cleaned.map(({ column, changed }) => [column.index, changed]));
  return {
    ...table,
    columns: cleaned.map(({ column, isAmbiguous }) =>
      isAmbiguous ? { ...column, declared: { ...column.declared, type: 'SHORT_TEXT' } } : column,
    ),
    rows: table.rows.map((row, place) => row.map((cell, index) => changes.get(index)?.[place] ?? cell)),
    remarks: [...table.remarks, ...remarks],
  };
}

/** Declared options and texts are what the cells contain, so that none of them is a missing value or a number. */
function declaredOf({ declared, role }: Column): ColumnOverride {
  if (declared?.options) return { options: [...declared.options] };
  return role === undefined && declared?.type !== 'SHORT_TEXT' ? {} : { type: 'SHORT_TEXT' };
}

const titleOf = ({ question, part }: Column): string =>
  (part === '' ? question : `${question} – ${part}`).slice(0, 100);

interface Cleaned {
  /** The new cells; undefined where the cell stays as it is. */
  changed: readonly (string | undefined)[];
  remarks: readonly string[];
  /** Whether the cells may be two numbers each, so that they stay texts. */
  isAmbiguous?: boolean;
}

function cleanColumn(
  column: Column,
  cells: readonly string[],
  override: ColumnOverride,
  { separator, decimal }: CleanOptions,
): Cleaned {
  const remarks: string[] = [];
  const translated = cells.map((cell) => {
    const value = own(override.values, cell) ?? cell;
    return override.type === 'DATE' ? value.replace(clockTail, '') : value;
  });
  const answered = withoutMissing(column, translated, override, { separator, decimal }, remarks);
  const isFree = override.type === undefined && override.options === undefined && override.values === undefined;
  const filled = answered.filter(isFilled);
  const mayBeDays = isFree && filled.every((cell) => isMissingWord(cell) || isDayOfEitherOrder(cell));
  if (mayBeDays || override.type === 'DATE') remarks.push(...openDayOrder(filled, override.dayOrder));
  const yesNo = isFree || override.type === 'YES_NO' ? yesNoWords(filled) : undefined;
  if (yesNo) remarks.push(`: “${yesNo.yes}” is Yes, “${yesNo.no}” is No.`);
  if (yesNo || override.type === 'YES_NO') return { remarks, changed: changes(cells, answered.map(inEnglish)) };
  const isAsked = numericTypes.has(override.type ?? '');
  const mayBeNumbers = isFree || override.decimal !== undefined || isAsked;
  if (!mayBeNumbers || override.split !== undefined) return { remarks, changed: changes(cells, answered) };
  const numbers = cleanNumbers(answered, { decimal: override.decimal ?? decimal, separator, isFree, isAsked });
  return { ...numbers, remarks: [...remarks, ...numbers.remarks], changed: changes(cells, numbers.cells) };
}

/**
 * Cells with a decimal point and without marks of thousands, if all are numbers. Where the mapping asks for numbers,
 * `isAsked`, the other cells stay as they are, to be left out later unless they are plain numbers.
 */
function cleanNumbers(
  given: readonly string[],
  { decimal, separator, isFree, isAsked }: CleanOptions & { isFree: boolean; isAsked: boolean },
): { cells: readonly string[]; remarks: string[]; isAmbiguous: boolean } {
  const reading = readNumbers(given, { decimal, separator });
  const areNumbers = isAsked || reading.strays.length === 0;
  const isAmbiguous = areNumbers && reading.decimal === undefined;
  const cells = areNumbers ? reading.cells : given;
  const remarks: string[] = [];
  if (isAmbiguous) {
    const mark = separator === ';' ? 'point' : 'comma';
    remarks.push(`: the ${mark} may mark decimals or thousands; say so with "decimal" in the mapping.`);
  }
  if (isFree && reading.isUnclear) {
    const mark = reading.decimal === ',' ? 'point' : 'comma';
    remarks.push(`: the ${mark} may mark thousands; say so with "decimal" in the mapping.`);
  }
  const changed = given.filter((cell, place) => cell !== cells[place]);
  if (changed.length > 0 && decimal === undefined) {
    const example = changed.find((cell) => cell.includes(',')) ?? changed[0];
    const marks = reading.decimal === ',' && example?.includes(',') ? 'decimal commas' : 'marks of thousands';
    remarks.push(`: numbers with ${marks}, as “${example}”.`);
  }
  const filled = cells.filter(isFilled);
  remarks.push(...(isFree && !filled.every(isNumber) ? offenders(reading.strays, filled.length) : rounded(filled)));
  return { cells, remarks, isAmbiguous };
}

/** The time of day behind a day, which a DATE that the mapping asks for leaves out. */
const clockTail = /(?<![T ,])[T ,]+\d{1,2}:\d{2}.*$/s;

const isFilled = (cell: string): boolean => cell !== '';

const own = (values: Readonly<Record<string, string>> | undefined, cell: string): string | undefined =>
  values && Object.hasOwn(values, cell) ? values[cell] : undefined;

const changes = (before: readonly string[], after: readonly string[]): (string | undefined)[] =>
  before.map((cell, place) => (after[place] === cell ? undefined : after[place]));

/**
 * Empties missing values: those of the mapping or, without any, the usual words where they would change the column's
 * type. “NA” among countries is Namibia and “unknown” may be an option, so they stay in choices and texts.
 */
function withoutMissing(
  { part }: Column,
  cells: readonly string[],
  { missing, type, options, dayOrder }: ColumnOverride,
  { separator, decimal }: CleanOptions,
  remarks: string[],
): string[] {
  if (missing) return cells.map((cell) => (missing.includes(cell) ? '' : cell));
  const words = cells.filter(isMissingWord);
  const rest = cells.filter((cell) => cell !== '' && !isMissingWord(cell));
  if (options !== undefined || words.length === 0 || rest.length === 0) return [...cells];
  const isTyped =
    type === undefined ? isTick(part, rest) || haveStrictType(rest, { decimal, separator, dayOrder }) : isStrict(type);
  if (!isTyped) return [...cells];
  remarks.push(`: taken as missing: ${withCounts(words)}.`);
  return cells.map((cell) => (isMissingWord(cell) ? '' : cell));
}

const isTick = (part: string, cells: readonly string[]): boolean =>
  part !== '' && cells.every((cell) => oneLine(cell) === part);

function haveStrictType(
  cells: readonly string[],
  { decimal, separator, dayOrder }: CleanOptions & Pick<ColumnOverride, 'dayOrder'>,
): boolean {
  if (readNumbers(cells, { decimal, separator }).strays.length === 0 || yesNoWords(cells)) return true;
  const { type } = recogniseColumn(cells, dayOrder);
  return type === 'LIKERT_SCALE' || isStrict(type);
}

const numericTypes: ReadonlySet<string> = new Set(['NUMBER', 'RATING_SCALE', 'NPS', 'SLIDER']);

/** Whether no word is an answer of the type, apart from yes and no. */
const isStrict = (type: string): boolean =>
  numericTypes.has(type) || type === 'YES_NO' || type === 'DATE' || type === 'TIME' || type === 'EMAIL';

/** Says that the order of day and month is not known, if no order fits most days. */
const openDayOrder = (filled: readonly string[], given: GivenDayOrder | undefined): string[] =>
  filled.some(isDayOfEitherOrder) && mainDayOrder(filled, given) === undefined
    ? [': day and month may be either; say so with "dayOrder" in the mapping.']
    : [];

const offendersShown = 5;

/** The few values that keep a column of numbers from being one: at most one cell in five. */
function offenders(strays: readonly string[], filledCount: number): string[] {
  return strays.length > 0 && strays.length * 5 <= filledCount
    ? [` is not NUMBER because of ${withCounts(strays)}; "missing" or "values" in the mapping can mend that.`]
    : [];
}

/** The numbers of a column that have more digits than the service keeps. */
function rounded(filled: readonly string[]): string[] {
  const inexact = filled.filter((cell) => isNumber(cell) && !isKeptExactly(cell));
  return inexact.length > 0 ? [`: rounded to what the service keeps, at most 17 digits: ${withCounts(inexact)}.`] : [];
}

/** Different cells with how often each occurs. */
export function withCounts(cells: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const cell of cells) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  const shown = [...counts].slice(0, offendersShown).map(([cell, count]) => `“${cell.slice(0, 50)}” (${count})`);
  return counts.size > shown.length ? `${shown.join(', ')} and ${counts.size - shown.length} more` : shown.join(', ');
}
