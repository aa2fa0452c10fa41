import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { FileColumn } from './columns.ts';
import type { Writer } from './writer.ts';

/** Limits of a row group, which is held in memory. */
const groupRows = 10_000;
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
  let group: unknown[][] = columns.map(() => []);
  let textLength = 0;
  const add = (record: Parameters<FileColumn['read']>[0]) => {
    for (const [index, read] of readers.entries()) {
      const value = read(record);
      if (typeof value === 'string') textLength += value.length;
      group[index]?.push(value);
    }
  };
  const isFull = () => (group[0]?.length ?? 0) >= groupRows || textLength >= groupTextLength;
  const close = async () => {
    await writer.write({
      columnData: columns.map(({ heading }, index) => ({
        name: heading,
        data: group[index] ?? [],
        offsetIndex: false,
      })),
      rowGroupSize: groupRows,
    });
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
  if ((group[0]?.length ?? 0) > 0) await close();
  await writer.finish();
  await drain();
};

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

function readerOf({ type, read }: FileColumn): (record: Parameters<FileColumn['read']>[0]) => unknown {
  if (type === 'moment') return (record) => dateOf(read(record));
  if (type === 'date') return (record) => dateOf(Date.parse(`${String(read(record))}T00:00:00Z`));
  return read;
}

function dateOf(value: unknown): Date | null {
  return typeof value === 'number' && Number.isFinite(value) ? new Date(value) : null;
}
