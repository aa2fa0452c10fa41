import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { cleanTable } from '../../src/replay/clean.ts';
import { detect } from '../../src/replay/detect.ts';
import { emptyMapping, type Mapping } from '../../src/replay/mapping.ts';
import { type ReadOptions, readTable } from '../../src/replay/read-table.ts';

/** Reads files as a replay does, and says what it takes for questions, ids and times. */
export function useRecognition() {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'replay-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  const pathOf = (name: string): string => join(folder, name);
  return {
    pathOf,
    async recognise(
      content: string | Buffer,
      { mapping = emptyMapping, ...options }: ReadOptions & { mapping?: Mapping } = {},
    ) {
      const path = pathOf('export');
      writeFileSync(path, content);
      const { table: given, separator } = await readTable(path, options);
      const table = cleanTable(given, mapping, { separator });
      const { questions, idColumn, timeColumn } = detect(table, mapping);
      return {
        remarks: table.remarks.join('\n'),
        rows: table.rows,
        id: idColumn?.question,
        time: timeColumn?.question,
        questions: questions.map(({ type, text, items }) => [
          type,
          text,
          ...(items.length > 1 ? [items.map((item) => item.text)] : []),
        ]),
      };
    },
  };
}

/** A file of quoted cells. */
export const quotedCsv = (...lines: readonly (readonly string[])[]): string =>
  lines.map((line) => line.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\r\n');
