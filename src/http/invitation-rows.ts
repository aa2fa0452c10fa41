import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { maxInvitations, type NewInvitation, readInvitation } from '../domain/collectors/invitation.ts';
import { metadataPrefix } from '../domain/export-formats.ts';
import { Problem, type ValidationIssue, validationProblem } from '../errors.ts';
import { createPauses } from '../platform/slices.ts';

/** A row of a file, as JSON would have it, and the line on which it ends, from 1. */
interface FileRow {
  line: number;
  value?: unknown;
  /** Why the line has no value. */
  fault?: string;
}

/** Maximum characters of one row. */
const maxRowLength = 64 * 1024;
/** The reading ends after so many issues. */
const maxIssues = 20;
const columnNames = ['reference', 'language', 'expiresAt'];

/** Media types of the file, and how its rows are read. */
const readers: Readonly<Record<string, (chunks: AsyncIterable<Buffer>) => AsyncGenerator<FileRow>>> = {
  'application/x-ndjson': jsonLines,
  'application/jsonl': jsonLines,
  'text/csv': csvRows,
};
export const invitationMediaTypes = Object.keys(readers);

/**
 * Reads the rows of an upload: all of them, or VALIDATION_ERROR with issues by line (`lines.7.expiresAt`). Nothing is
 * kept of a row but its fields, so that 100,000 rows fit in memory.
 */
export async function readInvitationRows(
  chunks: AsyncIterable<Buffer>,
  contentType: string | undefined,
  nowMs: number,
): Promise<NewInvitation[]> {
  const reader = readers[(contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''];
  if (!reader)
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', `The body must be one of ${invitationMediaTypes.join(', ')} in UTF-8`);
  const rows: NewInvitation[] = [];
  const issues: ValidationIssue[] = [];
  const lineOfReference = new Map<string, number>();
  const pauseIfDue = createPauses();
  for await (const { line, value, fault } of reader(chunks)) {
    const pause = pauseIfDue();
    if (pause) await pause;
    if (rows.length === maxInvitations) throw rowProblem(line, `at most ${maxInvitations} rows are taken at once`);
    const report = ({ path, message }: ValidationIssue) =>
      void issues.push({ path: `lines.${line}${path === '' ? '' : `.${path}`}`, message });
    if (fault !== undefined) report({ path: '', message: fault });
    if (issues.length >= maxIssues) break;
    if (fault !== undefined) continue;
    const row = readInvitation(value, nowMs, report);
    const earlier = row.reference === '' ? undefined : lineOfReference.get(row.reference);
    if (earlier !== undefined) report({ path: 'reference', message: `is that of line ${earlier}` });
    else if (row.reference !== '') lineOfReference.set(row.reference, line);
    if (issues.length >= maxIssues) break;
    rows.push(row);
  }
  if (issues.length > 0) throw fileProblem(issues.slice(0, maxIssues));
  if (rows.length === 0) throw fileProblem([{ path: '', message: 'the body has no rows' }]);
  return rows;
}

/** The details alone say what is wrong, so that who shows both says nothing twice. */
const fileProblem = (issues: readonly ValidationIssue[]): Problem =>
  validationProblem(issues, 'The file has errors, so no invitation was made');
const rowProblem = (line: number, message: string): Problem => fileProblem([{ path: `lines.${line}`, message }]);

/** What is decoded and split into rows at once: some milliseconds, whatever it holds. */
const linePieceBytes = 8 * 1024;
/** The reader of CSV looks at each character by itself. */
const csvPieceBytes = 1024;

/** The text of the body in pieces, without a byte order mark. Other calls are answered between two pieces. */
async function* textOf(chunks: AsyncIterable<Buffer>, pieceBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (chunk?: Buffer): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw fileProblem([{ path: '', message: 'the body is not valid UTF-8' }]);
    }
  };
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += pieceBytes) {
      yield decode(chunk.subarray(from, from + pieceBytes));
      await nextTurn();
    }
  }
  yield decode();
}

/** Blank lines are skipped. */
async function* jsonLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  let line = 0;
  let rest = '';
  const assertShort = (text: string, at: number) => {
    if (text.length > maxRowLength) throw rowProblem(at, `is longer than ${maxRowLength} characters`);
  };
  for await (const text of textOf(chunks, linePieceBytes)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const one of lines) {
      line += 1;
      assertShort(one, line);
      if (!isBlank(one)) yield parseLine(one, line);
    }
    assertShort(rest, line + 1);
  }
  if (!isBlank(rest)) yield parseLine(rest, line + 1);
}

const isBlank = (text: string): boolean => text.trim() === '';

function parseLine(text: string, line: number): FileRow {
  try {
    return { line, value: JSON.parse(text) };
  } catch {
    return { line, fault: 'is not valid JSON' };
  }
}

/**
 * RFC 4180 with a line of names: `reference`, `language`, `expiresAt` and `metadata.KEY`. An empty cell counts as left
 * out. Semicolons or tabs, which spreadsheets of many countries write, separate where that line has no comma.
 */
async function* csvRows(chunks: AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  const { delimiter, text } = await withSeparator(textOf(chunks, csvPieceBytes));
  const source = Readable.from(text);
  const parser = parse({
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRowLength,
  });
  // Without this an error of the body would not end the parser.
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let names: readonly string[] | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (names) yield rowOf(names, record, info.lines);
      else names = checkedNames(record);
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const isTooLong = error.code === 'CSV_MAX_RECORD_SIZE';
    throw rowProblem(
      Number(error['lines'] ?? 1),
      isTooLong ? `is longer than ${maxRowLength} characters` : 'is not valid CSV',
    );
  } finally {
    source.destroy();
  }
}

/**
 * The separator that the first line that is not blank has, and the whole text, in the same pieces. Reads no further than
 * the first comma or the end of that line.
 */
async function withSeparator(
  pieces: AsyncGenerator<string>,
): Promise<{ delimiter: string; text: AsyncGenerator<string> }> {
  const read: string[] = [];
  let line = '';
  while (line.length <= maxRowLength && !/[,\r\n]/.test(line)) {
    const { done, value } = await pieces.next();
    if (done) break;
    read.push(value);
    line = (line + value).trimStart();
  }
  const [first = ''] = line.split(/[\r\n]/, 1);
  async function* text() {
    for (const piece of read) {
      yield piece;
      await nextTurn();
    }
    yield* pieces;
  }
  return { delimiter: [',', ';', '\t'].find((separator) => first.includes(separator)) ?? ',', text: text() };
}

function checkedNames(record: readonly string[]): readonly string[] {
  const names = record.map((name) => name.trim());
  const unknown = names.find((name) => !columnNames.includes(name) && !name.startsWith(metadataPrefix));
  if (unknown !== undefined)
    throw rowProblem(
      1,
      `has the unknown column ${JSON.stringify(unknown.slice(0, 100))}: columns are ${columnNames.join(', ')} and metadata.KEY, separated by commas, semicolons or tabs`,
    );
  if (new Set(names).size < names.length) throw rowProblem(1, 'has a column twice');
  return names;
}

function rowOf(names: readonly string[], cells: readonly string[], line: number): FileRow {
  if (cells.length !== names.length) return { line, fault: `has ${cells.length} cells instead of ${names.length}` };
  const metadata: [string, string][] = [];
  const fields: [string, unknown][] = [];
  for (const [index, name] of names.entries()) {
    const cell = cells[index] ?? '';
    if (cell === '') continue;
    if (name.startsWith(metadataPrefix)) metadata.push([name.slice(metadataPrefix.length), cell]);
    else fields.push([name, cell]);
  }
  return { line, value: { ...Object.fromEntries(fields), metadata: Object.fromEntries(metadata) } };
}
