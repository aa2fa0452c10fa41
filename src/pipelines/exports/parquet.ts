import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { PermanentFailure } from '../../errors.ts';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import type { FileColumn } from './columns.ts';
import type { Writer } from './writer.ts';

/** Limits of a row group, which is held in memory. */
const groupRows = 10_000;
const groupBytes = 96_000_000;
const groupTextLength = 16_000_000;
/**
 * Memory of a cell besides its text: of one whose value is small or shared by all responses, and of any other, which may
 * be a number in an object of its own.
 */
const sharedCellBytes = 8;
const cellBytes = 24;

/**
 * Limit of column chunks, one for each column of each row group: the footer of the file describes all of them, and is
 * held in memory until the end, with about 0.7 KB each.
 */
const maxChunks = 300_000;
/** Chunks beyond this many are described without their least and greatest values, which take as much memory again. */
const maxChunksWithStatistics = 50_000;

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** One typed column for each column of the file; empty cells are null. Compressed with Snappy. */
export const writeParquet: Writer = async ({ layout: { columns }, batches, expectedRows }, sink) => {
  const isFlag = columns.map(({ answer }) => answer?.column.cell.kind === 'flag');
  const maxRows = Math.max(1, Math.min(groupRows, Math.floor(groupBytes / heldBytesOf(columns))));
  const expectedChunks = columns.length * Math.ceil(expectedRows / maxRows);
  assertChunksFit(expectedChunks);
  const bytes = new ByteWriter(1 << 20);
  const elements = columns.map(elementOf);
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [{ name: 'responses', num_children: columns.length }, ...elements],
    createdBy: 'survey-service',
  });
  const drain = async () => {
    await sink.write(new Uint8Array(bytes.getBytes()));
    bytes.index = 0;
  };
  const readers = columns.map(readerOf);
  const held = columns.flatMap((column, index) => {
    const read = readers[index];
    return read === undefined || isFlag[index] ? [] : [{ index, read, isShared: isShared(column) }];
  });
  let rows = 0;
  let records: ResponseRecord[] = [];
  let group = columns.map((): unknown[] => []);
  let textLength = 0;
  const add = (record: ResponseRecord) => {
    rows += 1;
    if (held.length < columns.length) records.push(codesOnly(record));
    for (const { index, read, isShared } of held) {
      const value = read(record);
      if (typeof value === 'string' && !isShared) textLength += value.length;
      group[index]?.push(value);
    }
  };
  /** Flags are read when their column is written: there may be 15,000 columns of them, of a thousand codes. */
  const cellsOf = (index: number): unknown[] =>
    isFlag[index] ? records.map(readers[index] ?? (() => null)) : (group[index] ?? []);
  const isFull = () => rows >= maxRows || textLength >= groupTextLength;
  const close = async () => {
    const chunks = columns.length * (writer.row_groups.length + 1);
    assertChunksFit(chunks);
    // Long texts make the groups more than was expected.
    const statistics = Math.max(chunks, expectedChunks) <= maxChunksWithStatistics;
    await writer.write({
      columnData: columns.map(({ heading }, index) => ({
        name: heading,
        get data() {
          return cellsOf(index);
        },
        offsetIndex: false,
        statistics,
      })),
      rowGroupSize: groupRows,
    });
    shareDescriptions(writer);
    rows = 0;
    records = [];
    group = columns.map(() => []);
    textLength = 0;
    await drain();
  };
  for await (const batch of batches) {
    for (const record of batch) {
      add(record);
      if (isFull()) await close();
    }
  }
  if (rows > 0) await close();
  await writer.finish();
  await drain();
};

/** Bytes of a row in the memory of its group, besides its texts. Flags are not held. */
function heldBytesOf(columns: readonly FileColumn[]): number {
  const bytes = columns.map((column) => {
    if (column.answer?.column.cell.kind === 'flag') return 0;
    return isShared(column) ? sharedCellBytes : cellBytes;
  });
  return Math.max(
    1,
    bytes.reduce((sum: number, size) => sum + size, 0),
  );
}

/** Whether the values of the column are those of a short list, which all responses share. */
function isShared(column: FileColumn): boolean {
  if ('isStatus' in column) return true;
  const kind = column.answer?.column.cell.kind;
  return kind === 'choice' || kind === 'rank' || kind === 'point';
}

function assertChunksFit(chunks: number): void {
  if (chunks > maxChunks)
    throw new PermanentFailure(
      'A PARQUET file of so many columns and responses cannot be made: ask for fewer columns or responses, or for CSV',
    );
}

/** Descriptions of all groups share the values that are the same in them. */
function shareDescriptions(writer: ParquetWriter): void {
  // Its entries lead to the indexes of pages, which these files do not have.
  writer.pendingIndexes.length = 0;
  const first = writer.row_groups[0]?.columns ?? [];
  writer.row_groups.at(-1)?.columns.forEach(({ meta_data: chunk }, index) => {
    const known = first[index]?.meta_data;
    if (chunk === undefined || known === undefined) return;
    chunk.path_in_schema = known.path_in_schema;
    if (chunk.encodings.join() === known.encodings.join()) chunk.encodings = known.encodings;
    if (chunk.num_values === known.num_values) chunk.num_values = known.num_values;
  });
}

/** Flags are read from the codes of a response: the rest of it need not be held until its group is written. */
const codesOnly = (record: ResponseRecord): ResponseRecord => ({
  ...record,
  metadata: {},
  row: { codes: record.row.codes, numbers: [], texts: [] },
});

function elementOf(column: FileColumn): SchemaElement {
  return { name: column.heading, repetition_type: 'OPTIONAL', ...typeOf(column) };
}

function typeOf(column: FileColumn): Omit<SchemaElement, 'name'> {
  switch (column.type) {
    case 'number':
      return { type: isWhole(column) ? 'INT32' : 'DOUBLE' };
    case 'boolean':
      return { type: 'BOOLEAN' };
    case 'moment':
      return { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' };
    case 'date':
      return { type: 'INT32', converted_type: 'DATE' };
    case 'text':
    case 'time':
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
  }
}

/** Whether all values of the column are whole numbers of 32 bits. */
function isWhole({ answer, field }: FileColumn): boolean {
  if (field === 'surveyVersion') return true;
  const cell = answer?.column.cell;
  if (cell?.kind === 'point') return cell.points.every((point) => (point | 0) === point);
  return cell?.kind === 'flag' || cell?.kind === 'rank';
}

function readerOf({ type, read }: FileColumn): (record: ResponseRecord) => unknown {
  if (type === 'moment') return (record) => dateOf(read(record));
  if (type === 'date') return (record) => dateOf(Date.parse(`${String(read(record))}T00:00:00Z`));
  return read;
}

function dateOf(value: unknown): Date | null {
  return typeof value === 'number' && Number.isFinite(value) ? new Date(value) : null;
}
