import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import type { ResponseRecord } from '../../src/stores/clickhouse/responses.ts';
import type { Question } from '../../src/domain/survey.ts';
import { attachment, readRange } from '../../src/http/file-reply.ts';
import { safeText, writeCsv } from '../../src/pipelines/exports/csv.ts';
import { layoutOf } from '../../src/pipelines/exports/layout.ts';

const question: Question = {
  id: 'q', surveyId: 's', type: 'LONG_TEXT', text: 'Story', description: null, isRequired: false, order: 1, options: [], rows: [], settings: {}, slots: { codes: { '': 0 }, numbers: {}, texts: { '': 0 } }, isHidden: false,
};

const record = (text: string, moment = 0): ResponseRecord => ({
  surveyId: 's', responseId: 'r', submittedAt: new Date(moment), version: 1, surveyVersion: 1, isComplete: true, completedAt: null, durationMs: 1500, language: 'en', respondent: '', metadata: {},
  row: { codes: [1], numbers: [], texts: [text] },
});

async function written(records: readonly ResponseRecord[]): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const layout = layoutOf({ isAnonymous: true, questions: [question] }, { labels: 'text' });
  const batches = (async function* () {
    yield records;
  })();
  await writeCsv({ layout, batches } as unknown as Parameters<typeof writeCsv>[0], { write: async (bytes) => void pieces.push(bytes) });
  return Buffer.concat(pieces);
}

/** What the reference tells readers to do. */
const plain = (cell: string): string => (/^'+[=+\-@\t\r\n\0＝＋－＠]/.test(cell) ? cell.slice(1) : cell);

describe('CSV export', () => {
  it('gives back every text through a parser, whatever it holds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^'*[=+@\t\r\n"',-]{1,4}/), fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', "'", '=', 'a', '\u202e', '👩‍👧', '＝') })), { minLength: 1, maxLength: 20 }), async (texts) => {
        const rows: Record<string, string>[] = parse(await written(texts.map((text) => record(text))), { bom: true, columns: true, record_delimiter: '\r\n' });
        assert.deepEqual(rows.map((row) => plain(row['Story'] ?? '')), texts);
      }),
      { numRuns: 300 },
    );
  });

  it('leaves no text that a spreadsheet would run as a formula', () => {
    for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠', "'=", "''@"]) assert.equal(safeText(`${start}1+1`), `'${start}1+1`);
    for (const text of ['1+1', "it's", "'quoted'", '', ' =1']) assert.equal(safeText(text), text);
  });

  it('writes moments as ISO 8601 with milliseconds', async () => {
    for (const moment of [0, 1, 59_999, 1_767_225_600_007, 1_767_311_999_999, 951_825_600_100]) {
      const [row]: Record<string, string>[] = parse(await written([record('x', moment)]), { bom: true, columns: true });
      assert.equal(row?.['submittedAt'], new Date(moment).toISOString());
    }
  });
});

describe('file replies', () => {
  it('reads one range of bytes and ignores what is none', () => {
    assert.deepEqual(readRange('bytes=0-0', 10), { first: 0, last: 0 });
    assert.deepEqual(readRange('bytes=5-', 10), { first: 5, last: 9 });
    assert.deepEqual(readRange('bytes=5-99', 10), { first: 5, last: 9 });
    assert.deepEqual(readRange('bytes=-3', 10), { first: 7, last: 9 });
    assert.deepEqual(readRange('bytes=-30', 10), { first: 0, last: 9 });
    for (const header of [undefined, '', 'bytes=-', 'bytes=5-3', 'bytes=0-1,3-4', 'items=0-1', 'bytes=a-b']) assert.equal(readRange(header, 10), 'whole');
    for (const header of ['bytes=10-', 'bytes=10-12', 'bytes=-0']) assert.equal(readRange(header, 10), 'unsatisfiable');
    assert.equal(readRange('bytes=0-', 0), 'unsatisfiable');
  });

  it('names files in plain ASCII and in UTF-8, with nothing that ends the header', () => {
    assert.equal(attachment('Ümfrage (1)*.csv'), `attachment; filename="Umfrage _1_.csv"; filename*=UTF-8''%C3%9Cmfrage%20%281%29%2A.csv`);
    assert.match(attachment('a"\r\nb.csv'), /^[\x20-\x7e]+$/);
  });
});
