import type { QuestionTypeName } from '../domain/questions/registry.ts';
import type { ColumnMapping, Mapping } from './mapping.ts';
import type { Column, Table } from './table.ts';

/** A question as it was recognised in the file. */
export interface FoundQuestion {
  type: QuestionTypeName;
  text: string;
  columns: readonly Column[];
  /** What is chosen from, in the order of its first appearance; for CHECKBOXES and RANKING one a column. */
  options: readonly string[];
}

export interface Detection {
  questions: readonly FoundQuestion[];
  /** The column that identifies respondents; sent as metadata. */
  idColumn: number | undefined;
}

const menuFrom = 13;
const optionsAtMost = 60;
const longTextFrom = 255;

/** Recognises the questions of a file; what a mapping says goes before. */
export function detect({ columns, rows }: Table, mapping: Mapping = { columns: {} }): Detection {
  const idColumn = columns.find((column) => isIdentifier(column, rows))?.index;
  const groups = new Map<string, Column[]>();
  for (const column of columns) {
    if (column.index === idColumn || mappingOf(mapping, column)?.ignore === true) continue;
    const key = column.part === '' ? `${column.index}` : `${column.question}\n${groupStart(columns, column)}`;
    groups.set(key, [...(groups.get(key) ?? []), column]);
  }
  return { idColumn, questions: [...groups.values()].map((group) => recognise(group, rows, mapping)) };
}

/** Columns that follow each other under one question belong together; the same wording further on is another question. */
function groupStart(columns: readonly Column[], column: Column): number {
  let start = column.index;
  while (start > 0 && columns[start - 1]?.question === column.question && columns[start - 1]?.part !== '') start -= 1;
  return start;
}

function isIdentifier({ question, part, index }: Column, rows: Table['rows']): boolean {
  if (part !== '' || !/id\b|identifier/i.test(question)) return false;
  const values = rows.map((row) => row[index] ?? '').filter((value) => value !== '');
  return values.length === rows.length && new Set(values).size === values.length;
}

export function mappingOf(mapping: Mapping, column: Column): ColumnMapping | undefined {
  return mapping.columns[String(column.index)] ?? mapping.columns[column.question];
}

function recognise(group: readonly Column[], rows: Table['rows'], mapping: Mapping): FoundQuestion {
  const [first] = group;
  if (!first) throw new Error('a question without columns');
  const wish = mappingOf(mapping, first);
  const found = group.length > 1 ? recogniseGroup(group, rows) : recogniseColumn(first, rows);
  return { ...found, ...(wish?.type && { type: wish.type }), text: wish?.question ?? found.text, options: wish?.options ?? found.options };
}

function recogniseGroup(group: readonly Column[], rows: Table['rows']): FoundQuestion {
  const base = { text: group[0]?.question ?? '', columns: group };
  const values = (column: Column) => rows.map((row) => row[column.index] ?? '').filter((value) => value !== '');
  if (group.every((column) => values(column).every((value) => value === column.part))) return { ...base, type: 'CHECKBOXES', options: group.map(({ part }) => part) };
  const isRank = (value: string) => /^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= group.length;
  if (group.every((column) => values(column).every(isRank))) return { ...base, type: 'RANKING', options: group.map(({ part }) => part) };
  return { ...base, type: 'MATRIX', options: [...new Set(group.flatMap(values))] };
}

function recogniseColumn(column: Column, rows: Table['rows']): FoundQuestion {
  const values = rows.map((row) => row[column.index] ?? '').filter((value) => value !== '');
  const distinct = [...new Set(values)];
  const base = { text: column.question, columns: [column] };
  const all = (pattern: RegExp) => values.length > 0 && values.every((value) => pattern.test(value));
  if (all(/^(yes|no)$/i)) return { ...base, type: 'YES_NO', options: [] };
  if (all(/^-?\d+(\.\d+)?$/) && distinct.length > 2) return { ...base, type: 'NUMBER', options: [] };
  if (all(/^\d{4}-\d\d-\d\d$/)) return { ...base, type: 'DATE', options: [] };
  if (all(/^[^@\s]+@[^@\s]+\.[^@\s]+$/)) return { ...base, type: 'EMAIL', options: [] };
  const isChoice = distinct.length > 0 && distinct.length <= optionsAtMost && distinct.length <= Math.max(2, values.length / 3) && distinct.every((value) => value.length <= 500);
  if (isChoice) return { ...base, type: distinct.length >= menuFrom ? 'DROPDOWN' : 'MULTIPLE_CHOICE', options: distinct };
  return { ...base, type: values.some((value) => value.length > longTextFrom) ? 'LONG_TEXT' : 'SHORT_TEXT', options: [] };
}
