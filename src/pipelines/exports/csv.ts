import { csvText } from '../../platform/csv-text.ts';
import type { CsvColumn } from '../../stores/clickhouse/read/csv-cells.ts';
import type { FileColumn, Layout } from './columns.ts';
import type { Writer } from './writer.ts';

const byteOrderMark = '\uFEFF';

/**
 * RFC 4180 in UTF-8 with a byte order mark; lines end in CR LF. Text that a spreadsheet would read as a formula gets an
 * apostrophe in front (see `safeText`); numbers, moments and flags do not. ClickHouse writes the lines
 * (`src/stores/clickhouse/read/csv-cells.ts`), because a million rows of thirty cells would take this process too long.
 */
export const writeCsv: Writer = async ({ layout, csvLines }, sink) => {
  await sink.write(Buffer.from(byteOrderMark + headLine(layout)));
  const { columns, asked } = layout;
  for await (const { pieces } of csvLines(
    columns.map((column) => columnOf(column, layout)),
    asked,
  ))
    for (const piece of pieces) await sink.write(piece);
};

const headLine = ({ columns }: Layout): string => `${columns.map(({ heading }) => csvText(heading)).join(',')}\r\n`;

function columnOf({ answer, field, metadataKey, missing }: FileColumn, { labels, collectors }: Layout): CsvColumn {
  if (field === 'collectorId')
    return {
      collectorSlot: collectors.slot,
      ids: new Map([...collectors.byCode].map(([code, { id }]) => [code, id])),
    };
  if (answer)
    return {
      cell: answer.column.cell,
      textOf: (category) => csvText(category[labels]),
      ...(missing?.part && { asked: { part: missing.part, place: missing.place } }),
    };
  if (field !== undefined) return { field };
  if (metadataKey !== undefined) return { metadataKey };
  throw new Error('a CSV file has no columns of statuses');
}
