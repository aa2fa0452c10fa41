import { type Category, otherCode } from '../../../domain/questions/contract.ts';
import { slugOf } from '../../../domain/questions/option-list.ts';
import { pointsOf } from '../../../domain/questions/ordered-options.ts';
import { registry } from '../../../domain/questions/registry.ts';
import type { Question } from '../../../domain/survey.ts';
import type { ResponseRecord } from '../../../stores/clickhouse/responses.ts';
import { clockSeconds, type FileColumn, type Labels, type Layout, type MissingRule } from '../columns.ts';
import { ResponseChanged } from '../writer.ts';
import { truncateToBytes } from './byte-buffer.ts';
import { labelWithin, maxLabelBytes, maxSetLabelBytes } from './labels.ts';

/** Numbers of the variable formats in the file. */
const formats = { text: 1, number: 5, date: 39, time: 21, moment: 22 } as const;

export interface Variable {
  /** At most 64 bytes, unique regardless of case. */
  name: string;
  label: string;
  /** 0 for a number; otherwise the bytes of a text, 1…32767. */
  width: number;
  format: { kind: number; width: number; decimals: number };
  measure: 'nominal' | 'ordinal' | 'scale';
  values: readonly { value: number | string; label: string }[];
  /** At most three values that are user-missing. */
  missing?: readonly (number | string)[];
  /** Where missing answers are labelled: why a value is missing. Its values are chosen by `labelMissing`. */
  rule?: MissingRule;
  /** The user-missing values of skipped answers and of questions that were not asked. */
  missingValues?: MissingValues;
  /** Whether it is a key of the metadata, which is a number if all its texts are. */
  isMetadata?: true;
  /** Whether it is a JSON text, which is left out if it would have to be cut. */
  isJson?: true;
  /** The multiple response set that it belongs to. */
  set: ResponseSet | undefined;
  read(record: ResponseRecord): number | string | null;
}

/** A multiple response set: the options of a question, or of a row of a MATRIX. */
export interface ResponseSet {
  /** Without the dollar sign. */
  name: string;
  label: string;
}

/** Undefined: left empty. */
export interface MissingValues {
  SKIPPED: number | undefined;
  NOT_ASKED: number | string;
}

/** Whole numbers up to this power of ten are doubles. */
const maxPower = 15;

/**
 * Gives a variable user-missing values for skipped answers and for questions that were not asked: -99 and -98, or -999
 * and -998 … if answers reach that far. A text variable has one for the latter only, as a text, and is empty for
 * skipped answers: PSPP up to 1.6 cannot read two missing values of a text over eight bytes. `least`: the least number
 * among the answers and labels; `texts`: the answers that are such texts, without blanks at their ends.
 */
export function labelMissing(
  variable: Variable,
  { least, texts }: { least: number; texts: ReadonlySet<string> },
): void {
  const isText = variable.width > 0;
  const pairAt = (power: number): readonly [skipped: number, notAsked: number] =>
    power > maxPower ? [-2 * 10 ** 17, -(10 ** 17)] : [1 - 10 ** power, 2 - 10 ** power];
  const isTaken = (notAsked: number) => (isText ? texts.has(String(notAsked)) : least <= notAsked);
  let power = 2;
  while (power <= maxPower && isTaken(pairAt(power)[1])) power += 1;
  const [skipped, notAsked] = pairAt(power);
  const values: MissingValues = isText
    ? { SKIPPED: undefined, NOT_ASKED: String(notAsked) }
    : { SKIPPED: skipped, NOT_ASKED: notAsked };
  const labels = [
    ...(values.SKIPPED === undefined ? [] : [{ value: values.SKIPPED, label: 'Skipped' }]),
    { value: values.NOT_ASKED, label: 'Not asked' },
  ];
  variable.missingValues = values;
  variable.missing = [...labels.map(({ value }) => value), ...(variable.missing ?? [])];
  variable.values = [...labels, ...variable.values];
  if (isText) variable.width = Math.max(variable.width, String(notAsked).length);
}

/** A text as programs compare it: they fill texts up with blanks, so that those at its end make no difference. */
export function withoutPadding(text: string): string {
  let end = text.length;
  while (text[end - 1] === ' ') end -= 1;
  return text.slice(0, end);
}

/** Whether a text could be one of the values of `labelMissing`. */
export const mayBeMissingValue = (text: string): boolean => /^-9+[89]$/.test(text);

/** The value of a case; texts are '' if there is none and missing answers are not labelled. */
export function caseValue({ read, rule, missingValues }: Variable, record: ResponseRecord): number | string | null {
  const value = read(record);
  if (!rule || !missingValues) return value;
  if (value !== null && value !== '') {
    const compared = typeof value === 'string' ? withoutPadding(value) : value;
    if (compared === missingValues.SKIPPED || compared === missingValues.NOT_ASKED) throw new ResponseChanged();
    return value;
  }
  const status = rule.statusOf(record);
  return status === 'ANSWERED' ? value : (missingValues[status] ?? value);
}

/** Maximum bytes of a text variable; longer answers are cut. */
export const maxTextBytes = 32_767;
const gregorianMs = Date.UTC(1582, 9, 14);

/**
 * One variable for each column. Choices are numbers with value labels, moments seconds since 1582-10-14, empty cells
 * system-missing.
 */
export function variablesOf({ columns, labels, numbers }: Layout): Variable[] {
  const sets = new Map<string, ResponseSet>();
  const taken = new Set<string>();
  return columns.map((column) => {
    const { answer } = column;
    const shape = shapeOf(column, labels);
    if (!answer) {
      const name = column.metadataKey === undefined ? column.heading : metadataName(column.metadataKey, taken);
      return {
        ...shape,
        name,
        label: column.heading,
        set: undefined,
        ...(column.metadataKey !== undefined && { isMetadata: true }),
      };
    }
    const number = numbers.get(answer.question.id) ?? 0;
    return {
      ...shape,
      name: answerName(answer, number),
      label: labelWithin(maxLabelBytes, answer.question, answer.column),
      ...(column.missing && { rule: column.missing }),
      set: responseSet(answer, number, sets),
    };
  });
}

/** Other answers in a choice are the second column of their question. */
const otherNumber = '2';

/** `Q3`, or `Q3_2` by the number of the option or row: a later order of options or rows changes no name. */
const answerName = ({ column }: NonNullable<FileColumn['answer']>, number: number): string =>
  column.key === '' ? `Q${number}` : `Q${number}_${column.number ?? otherNumber}`;

const maxNameBytes = 64;

/** `M_` and the letters, digits and underscores of the key; numbered if another variable has that name. */
function metadataName(key: string, taken: Set<string>): string {
  const plain = truncateToBytes(`M_${key.normalize('NFC').replace(/[^\p{L}\p{N}_]+/gu, '_')}`, maxNameBytes - 4);
  let name = plain;
  for (let n = 2; taken.has(folded(name)); n += 1) name = `${plain}_${n}`;
  taken.add(folded(name));
  return name;
}

/** The same for names that differ in case only: ß is SS in capitals. */
const folded = (name: string): string => name.toLowerCase().toUpperCase();

/** One for each question, and for each row of a MATRIX. */
function responseSet(
  { question, column: { cell, rowId } }: NonNullable<FileColumn['answer']>,
  number: number,
  sets: Map<string, ResponseSet>,
): ResponseSet | undefined {
  if (cell.kind !== 'flag') return undefined;
  const row = question.rows.find(({ id }) => id === rowId);
  const name = row ? `Q${number}_${row.code}` : `Q${number}`;
  const set = sets.get(name) ?? {
    name,
    label: labelWithin(maxSetLabelBytes, question, { key: rowId ?? '', label: row?.text ?? '' }),
  };
  sets.set(name, set);
  return set;
}

/** The numbers of a choice's categories. */
interface ChoiceValues {
  byCode: ReadonlyMap<number, number>;
  measure: 'nominal' | 'ordinal';
  /** That of free answers, where a mean over the others makes sense. */
  missing: number | undefined;
}

const numericValue = /^-?(0|[1-9]\d{0,8})(\.\d{1,6})?$/;

/** A minus, a dash that stands for one, or a decimal point in front of the first digit. */
const changesDigits = /^[^\p{N}]*[\p{Pd}\u207b\u2212.,\u066b]/u;

/**
 * The value of an option as a number; NaN if it is none. A value that was made from the text has lost a sign or a point
 * in front of the digits: the values of -2, -1 and 0 are 2, 1 and 0, which would turn the scale around.
 */
function ownNumber({ value, text }: Category): number {
  const isMisread = value === slugOf(text) && changesDigits.test(text);
  return numericValue.test(value) && !isMisread ? Number(value) : Number.NaN;
}

/**
 * The author's values if all are numbers, else the points of an ordered scale, else the codes, which never change. Free
 * answers have the greatest number from 0 down that no option has.
 */
function choiceValues(question: Question, categories: readonly Category[]): ChoiceValues {
  const options = categories.filter(({ code }) => code !== otherCode);
  const isOrdered = registry[question.type].isOrdered === true;
  const own = options.map(ownNumber);
  const areNumbers = own.length > 0 && !own.some(Number.isNaN) && new Set(own).size === own.length;
  const points = isOrdered ? pointsOf(question) : new Map<number, number>();
  let last = Math.max(0, ...points.values());
  const byCode = new Map(
    options.map(({ code }, index) => {
      if (areNumbers) return [code, own[index] ?? 0];
      if (!isOrdered) return [code, code];
      const point = points.get(code);
      if (point !== undefined) return [code, point];
      last += 1;
      return [code, last];
    }),
  );
  const hasOther = options.length < categories.length;
  const used = new Set(byCode.values());
  let other = 0;
  while (used.has(other)) other -= 1;
  if (hasOther) byCode.set(otherCode, other);
  return {
    byCode,
    measure: isOrdered ? 'ordinal' : 'nominal',
    missing: hasOther && areNumbers ? other : undefined,
  };
}

type VariableShape = Omit<Variable, 'name' | 'label' | 'set'>;

const numeric = { width: 0, values: [] };
const plain = { kind: formats.number, width: 12, decimals: 2 };
const whole = { kind: formats.number, width: 8, decimals: 0 };

function shapeOf(column: FileColumn, labels: Labels): VariableShape {
  return column.answer ? answerShape(column, column.answer, labels) : fieldShape(column);
}

function answerShape(column: FileColumn, answer: NonNullable<FileColumn['answer']>, labels: Labels): VariableShape {
  const { read } = column;
  const { cell } = answer.column;
  switch (cell.kind) {
    case 'choice': {
      const { byCode, measure, missing } = choiceValues(answer.question, cell.categories);
      const values = cell.categories.map((category) => ({
        value: byCode.get(category.code) ?? category.code,
        label: category[labels],
      }));
      return {
        ...numeric,
        format: values.every(({ value }) => Number.isInteger(value)) ? whole : plain,
        measure,
        values: values.sort((one, other) => one.value - other.value),
        ...(missing !== undefined && { missing: [missing] }),
        read: ({ row }) => byCode.get(row.codes[cell.slot] ?? 0) ?? null,
      };
    }
    case 'flag':
      return {
        ...numeric,
        format: whole,
        measure: 'nominal',
        values: [
          { value: 0, label: 'No' },
          { value: 1, label: 'Yes' },
        ],
        read: numberFrom(read),
      };
    case 'rank':
      return { ...numeric, format: whole, measure: 'ordinal', read: numberFrom(read) };
    default:
      return fieldShape(column);
  }
}

function fieldShape({ type, read, field }: FileColumn): VariableShape {
  switch (type) {
    case 'number':
      return {
        ...numeric,
        format: field === 'surveyVersion' ? whole : plain,
        measure: 'scale',
        read: numberFrom(read),
      };
    case 'boolean':
      return {
        ...numeric,
        format: whole,
        measure: 'nominal',
        values: [
          { value: 0, label: 'No' },
          { value: 1, label: 'Yes' },
        ],
        read: (record) => (read(record) === true ? 1 : 0),
      };
    case 'moment':
      return {
        ...numeric,
        format: { kind: formats.moment, width: 24, decimals: 3 },
        measure: 'scale',
        read: secondsFrom((record) => read(record)),
      };
    case 'date':
      return {
        ...numeric,
        format: { kind: formats.date, width: 10, decimals: 0 },
        measure: 'scale',
        read: secondsFrom((record) => Date.parse(`${String(read(record))}T00:00:00Z`)),
      };
    case 'time':
      return {
        ...numeric,
        format: { kind: formats.time, width: 8, decimals: 0 },
        measure: 'scale',
        read: (record) => {
          const time = read(record);
          return typeof time === 'string' ? clockSeconds(time) : null;
        },
      };
    case 'text': {
      const isJson = field === 'metadata';
      return {
        width: 1,
        values: [],
        format: { kind: formats.text, width: 1, decimals: 0 },
        measure: 'nominal',
        ...(isJson && { isJson }),
        read: (record) => {
          const text = String(read(record) ?? '');
          return isJson ? text : truncateToBytes(text, maxTextBytes);
        },
      };
    }
  }
}

/** An exponent has a sign, as programs write it: 2E5 is a code. */
const canonicalNumber = /^(-?(?:0|[1-9]\d{0,14})(?:\.\d{1,14})?)(?:e[+-]\d{1,3})?$/i;
const maxDigits = 17;

/** The number that a text of the metadata stands for; null if it is none, or a code such as 007. */
export function metadataNumber(text: string): number | null {
  const trimmed = text.trim();
  const digits = canonicalNumber.exec(trimmed)?.[1];
  const number = Number(trimmed);
  return digits !== undefined && digits.length <= maxDigits && Number.isFinite(number) ? number : null;
}

/** Makes a text variable one of numbers. */
export function asNumber(variable: Variable): void {
  const { read } = variable;
  Object.assign(variable, {
    ...numeric,
    format: { kind: formats.number, width: 16, decimals: 6 },
    measure: 'scale',
    read: (record: ResponseRecord) => {
      const text = String(read(record));
      const number = metadataNumber(text);
      if (number === null && text !== '') throw new ResponseChanged();
      return number;
    },
  });
}

function numberFrom(read: FileColumn['read']): Variable['read'] {
  return (record) => {
    const value = read(record);
    return typeof value === 'number' ? value : null;
  };
}

function secondsFrom(read: (record: ResponseRecord) => unknown): Variable['read'] {
  return (record) => {
    const ms = read(record);
    return typeof ms === 'number' && Number.isFinite(ms) ? (ms - gregorianMs) / 1000 : null;
  };
}
