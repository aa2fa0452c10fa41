import { bitsPerWord, type Dimension } from '../../../domain/questions/contract.ts';
import { codeColumn } from '../../../domain/response-row.ts';
import type { CodeColumns } from '../schema/code-columns.ts';
import { sqlInteger, sqlMoment, sqlUuid } from '../sql-literals.ts';
import { type AnnotationLocation, hasAnnotation } from './annotation-conditions.ts';

/** Responses that have this code in this dimension. */
export interface Condition {
  dimension: Dimension;
  code: number;
}

export interface DateRange {
  /** The first moment that counts, by submittedAt. */
  startDate?: Date | undefined;
  /** The first moment that no longer counts. */
  endDate?: Date | undefined;
}

export interface Selection extends DateRange {
  surveyId: string;
  isComplete?: boolean | undefined;
  /** All must hold. */
  conditions?: readonly Condition[] | undefined;
}

/** A code column; a position without a column yet is 0 in every response. */
export type ColumnOf = (slot: number) => string;

export async function columnNames(columns: CodeColumns, slots: readonly number[]): Promise<ColumnOf> {
  const existing = await columns.existing(slots.reduce((most, slot) => Math.max(most, slot + 1), 0));
  return (slot) => (slot < existing ? codeColumn(slot) : 'toUInt16(0)');
}

/** A selection in SQL. `key` is the part that the sorting key answers: true for every version of a response or for none. */
export interface Conditions {
  key: string;
  /** With `key`; only the versions that count may be asked. */
  full: string;
}

/** `findings`: the table of what analyses found. */
export function conditionsOf(selection: Selection, columnOf: ColumnOf, annotations: string): Conditions {
  const { surveyId, startDate, endDate, isComplete, conditions } = selection;
  const key = allOf([
    `survey_id = ${sqlUuid(surveyId)}`,
    startDate === undefined ? '' : `submitted_at >= ${sqlMoment(startDate)}`,
    endDate === undefined ? '' : `submitted_at < ${sqlMoment(endDate)}`,
  ]);
  const holds = (condition: Condition): string => hasCode(condition, columnOf, { table: annotations, surveyId });
  return {
    key,
    full: allOf([
      key,
      isComplete === undefined ? '' : `is_complete = ${isComplete ? 1 : 0}`,
      ...(conditions ?? []).map(holds),
    ]),
  };
}

/** The code columns by these positions that exist. */
export function existingColumns(slots: readonly number[], columnOf: ColumnOf): string[] {
  return [...new Set(slots)].filter((slot) => columnOf(slot) === codeColumn(slot)).map(codeColumn);
}

export function allOf(conditions: readonly string[]): string {
  return conditions.filter((condition) => condition !== '').join(' AND ');
}

/** The code positions that a dimension looks at; none if it looks at findings. */
export function slotsOf({ source }: Dimension): readonly number[] {
  switch (source.kind) {
    case 'code':
      return [source.slot];
    case 'bits':
      return source.slots;
    case 'first':
      return source.items.map((item) => item.slot);
    case 'annotation':
      return [];
  }
}

export function selectionSlots({ conditions }: Pick<Selection, 'conditions'>): number[] {
  return (conditions ?? []).flatMap(({ dimension }) => slotsOf(dimension));
}

function hasCode(
  { dimension: { source, categories }, code }: Condition,
  columnOf: ColumnOf,
  annotations: AnnotationLocation,
): string {
  switch (source.kind) {
    case 'code':
      return `${columnOf(source.slot)} = ${sqlInteger(code)}`;
    case 'bits': {
      const slot = source.slots[Math.floor((code - 1) / bitsPerWord)];
      return slot === undefined ? '0' : `bitTest(${columnOf(slot)}, ${sqlInteger((code - 1) % bitsPerWord)})`;
    }
    case 'first': {
      const item = source.items.find((candidate) => candidate.code === code);
      return item === undefined ? '0' : `${columnOf(item.slot)} = 1`;
    }
    case 'annotation': {
      const category = categories.find((candidate) => candidate.code === code);
      return category === undefined ? '0' : hasAnnotation(source, category.value, annotations);
    }
  }
}
