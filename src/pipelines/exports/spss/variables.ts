import type { ResponseRecord } from '../../../stores/clickhouse/responses.ts';
import type { FileColumn, Labels, Layout } from '../columns.ts';
import { truncateToBytes } from './byte-buffer.ts';

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
  values: readonly { value: number; label: string }[];
  /** Number of the question whose multiple response set it belongs to. */
  set: number | undefined;
  read(record: ResponseRecord): number | string | null;
}

/** Maximum bytes of a text variable; longer texts are cut. */
export const maxTextBytes = 32_767;
const gregorianMs = Date.UTC(1582, 9, 14);

/**
 * One variable for each column. Choices are numbers with value labels, moments seconds since 1582-10-14, empty cells
 * system-missing.
 */
export function variablesOf({ columns, labels, questions }: Layout): Variable[] {
  const numbers = new Map(questions.map(({ id }, index) => [id, index + 1]));
  const counts = new Map<number, number>();
  return columns.map((column) => {
    const number = column.answer && numbers.get(column.answer.question.id);
    if (number === undefined)
      return { ...shapeOf(column, labels), name: column.heading, label: column.heading, set: undefined };
    const place = (counts.get(number) ?? 0) + 1;
    counts.set(number, place);
    const isAlone = column.answer?.column.key === '';
    return {
      ...shapeOf(column, labels),
      name: isAlone ? `Q${number}` : `Q${number}_${place}`,
      label: column.heading,
      set: column.answer?.column.cell.kind === 'flag' ? number : undefined,
    };
  });
}

type VariableShape = Omit<Variable, 'name' | 'label' | 'set'>;

const numeric = { width: 0, values: [] };
const plain = { kind: formats.number, width: 12, decimals: 2 };
const whole = { kind: formats.number, width: 8, decimals: 0 };

function shapeOf({ type, read, answer, field }: FileColumn, labels: Labels): VariableShape {
  const cell = answer?.column.cell;
  switch (cell?.kind) {
    case 'choice':
      return {
        ...numeric,
        format: whole,
        measure: 'nominal',
        values: cell.categories.map((category) => ({ value: category.code, label: category[labels] })),
        read: ({ row }) => row.codes[cell.slot] || null,
      };
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
      break;
  }
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
        read: (record) => clockSeconds(read(record)),
      };
    case 'text':
      return {
        width: 1,
        values: [],
        format: { kind: formats.text, width: 1, decimals: 0 },
        measure: 'nominal',
        read: (record) => truncateToBytes(String(read(record) ?? ''), maxTextBytes),
      };
  }
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

function clockSeconds(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number);
  return hours * 3600 + minutes * 60 + seconds;
}
