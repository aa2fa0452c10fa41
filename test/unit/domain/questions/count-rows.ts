import type { AnswerRow, CountPlan, CountRequest, CountResult } from '../../../../src/domain/questions/contract.ts';

/** Counts rows as the database is asked to, in the plainest way. */
export function countRows(
  { base, requests }: CountPlan,
  rows: readonly AnswerRow[],
): { base: number; results: CountResult[] } {
  return {
    base: rows.filter((row) => base.some((slot) => codeAt(row, slot) !== 0)).length,
    results: requests.map((request) => countOne(request, rows)),
  };
}

const codeAt = (row: AnswerRow, slot: number): number => row.codes[slot] ?? 0;

function countOne(request: CountRequest, rows: readonly AnswerRow[]): CountResult {
  if (request.kind === 'codes')
    return { kind: 'codes', counts: tally(rows.map((row) => codeAt(row, request.slot)).filter((code) => code !== 0)) };
  if (request.kind === 'bits')
    return {
      kind: 'bits',
      counts: request.slots.flatMap((slot) =>
        Array.from({ length: 16 }, (_, bit) => rows.filter((row) => (codeAt(row, slot) >> bit) & 1).length),
      ),
    };
  const present = rows.filter((row) => codeAt(row, request.presence) !== 0);
  if (request.kind === 'number')
    return { kind: 'number', moments: momentsOf(present.map((row) => row.numbers[request.slot] ?? 0)) };
  const keys = present.flatMap((row) => keysOf(request.by, row.texts[request.slot] ?? ''));
  return { kind: 'text', counts: [...tally(keys)].map(([key, count]) => ({ key, count })) };
}

function tally<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function keysOf(by: Extract<CountRequest, { kind: 'text' }>['by'], text: string): string[] {
  if (by === 'emailDomain') return [text.slice(text.lastIndexOf('@') + 1).toLowerCase()];
  if (by === 'hour') return [text.slice(0, 2)];
  if (by === 'mediaType') return [text.slice(text.indexOf(' ') + 1)];
  return by === 'words' ? (text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []) : [text];
}

/** One bin is enough here: binning is the database's own work. */
function momentsOf(values: readonly number[]): Extract<CountResult, { kind: 'number' }>['moments'] {
  if (values.length === 0)
    return { count: 0, average: null, median: null, standardDeviation: null, min: null, max: null, bins: [] };
  const [min, max] = [Math.min(...values), Math.max(...values)];
  const average = values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    count: values.length,
    average,
    median: null,
    standardDeviation: null,
    min,
    max,
    bins: [{ low: min, high: max, count: values.length }],
  };
}
