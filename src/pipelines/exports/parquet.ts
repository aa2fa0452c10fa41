import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ResponseRecord } from '../../stores/clickhouse/responses.ts';
import type { FileColumn } from './columns.ts';
import type { Writer } from './writer.ts';

/** Limits of a row group, which is held in memory. */
const groupRows = 10_000;
const groupCells = 4_000_000;
const groupTextLength = 16_000_000;

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** One typed column for each column of the file; empty cells are null. Compressed with Snappy. */
export const writeParquet: Writer = async ({ layout: { columns }, batches }, sink) => {
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
  const isFlag = columns.map(({ answer }) => answer?.column.cell.kind === 'flag');
  const held = readers.flatMap((read, index) => (isFlag[index] ? [] : [{ index, read }]));
  const maxRows = Math.min(groupRows, Math.floor(groupCells / Math.max(1, held.length)));
  let rows = 0;
  let records: ResponseRecord[] = [];
  let group = columns.map((): unknown[] => []);
  let textLength = 0;
  const add = (record: ResponseRecord) => {
    rows += 1;
    if (held.length < columns.length) records.push(codesOnly(record));
    for (const { index, read } of held) {
      const value = read(record);
      if (typeof value === 'string') textLength += value.length;
      group[index]?.push(value);
    }
  };
  /** Flags are read when their column is written: there may be 15,000 columns of them, of a thousand codes. */
  const cellsOf = (index: number): unknown[] =>
    isFlag[index] ? records.map(readers[index] ?? (() => null)) : (group[index] ?? []);
  const isFull = () => rows >= maxRows || textLength >= groupTextLength;
  const close = async () => {
    await writer.write({
      columnData: columns.map(({ heading }, index) => ({
        name: heading,
        get data() {
          return cellsOf(index);
        },
        offsetIndex: false,
      })),
      rowGroupSize: groupRows,
    });
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
