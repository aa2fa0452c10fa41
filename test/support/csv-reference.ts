import type { FileColumn } from '../../src/pipelines/exports/columns.ts';
import { csvJson, csvText } from '../../src/platform/csv-text.ts';
import type { ResponseRecord } from '../../src/stores/clickhouse/responses.ts';

/**
 * A line of a CSV file as the records read for other formats make it: what the database's own lines are held against.
 */
export function referenceLine(columns: readonly FileColumn[], record: ResponseRecord): string {
  return `${columns.map((column) => referenceCell(column, record)).join(',')}\r\n`;
}

function referenceCell({ type, read, field, missing }: FileColumn, record: ResponseRecord): string {
  const value = read(record);
  if (value === null) return missing?.statusOf(record) === 'NOT_ASKED' ? '(not asked)' : '';
  if (type === 'moment' && typeof value === 'number') return new Date(value).toISOString();
  if (field === 'metadata') return csvJson(String(value));
  return typeof value === 'string' ? csvText(value) : String(value);
}
