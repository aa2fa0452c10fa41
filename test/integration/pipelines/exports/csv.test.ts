import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { type AnswerRow, bitsPerWord } from '../../../../src/domain/questions/contract.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import type { ExportRows } from '../../../../src/stores/clickhouse/read/export-rows.ts';
import { blankSurvey, fullSurvey, nextId, withQuestion } from '../../../support/questions.ts';
import { type GivenResponse, givenStart } from '../../../support/response-database.ts';
import { useCsvLines } from '../../../support/use-csv-lines.ts';

const hostile = [
  '',
  ' ',
  "'",
  "'=1",
  "''@x",
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\tx',
  '\rx',
  '\nx',
  '\r\n',
  '＝1',
  '＋1',
  '－1',
  '＠x',
  'a,b',
  'a"b',
  '""',
  '"',
  'a\r\nb',
  'a\nb',
  'a\\b',
  '\\N',
  '\\',
  "it's",
  '=HYPERLINK("http://x","y")',
  '\u202eevil',
  '👩‍👩‍👧‍👦',
  '\u0001\u001f\u007f',
  '\u2028\u2029',
  '\ufeffx',
  '𝒳',
  'é',
  'مرحبا',
  '客人',
  '%s %d {x:String}',
  'NULL',
  "'); DROP TABLE x --",
  '/slash/',
  'x;=1+1',
  'a\n-b',
  'a\t@b',
  'fine ;-)',
  ';"=1"',
  "a;'-1",
  '\b\f\v',
  'x'.repeat(40_000),
];
const numbers = [
  0,
  -0,
  1,
  -1,
  0.1,
  0.1 + 0.2,
  1e20,
  1e21,
  -1e21,
  1.5e300,
  5e-324,
  1e-6,
  1e-7,
  123456.789,
  2 ** 53,
  1 / 3,
  41.337,
];

/** Without what JSON can spell in two ways, of which the database has the other. */
const oneSpelling = (text: string): string => text.replace(/[\u000b-\u001f\u2028\u2029]/g, '');

/** Text as the reference tells readers to read it. */
const plain = (cell: string): string =>
  cell.replace(/([;\t\r\n])'(["']*[=+\-@\0＝＋－＠])/g, '$1$2').replace(/^'('*[=+\-@\t\r\n\0＝＋－＠])/, '$1');

/**
 * The survey with a bit for each question and row, in code positions after those of the answers; every third question
 * was added later.
 */
function withNotAskedBits(survey: SurveyWithQuestions): SurveyWithQuestions {
  let next = survey.slotCounts.codes * bitsPerWord;
  const questions = survey.questions.map((question, place) => ({
    ...question,
    ...(place % 3 === 0 && { firstVersion: 3 }),
    notAsked: Object.fromEntries(['', ...question.rows.map(({ id }) => id)].map((key) => [key, next++])),
  }));
  return { ...survey, questions, slotCounts: { ...survey.slotCounts, codes: Math.ceil(next / bitsPerWord) } };
}

describe('CSV lines that ClickHouse writes', () => {
  let rows: ExportRows;
  const { store, fileOf, expected } = useCsvLines((opened) => (rows = opened));

  it('equal the lines written from records byte by byte, for every type and hostile content', async () => {
    const { survey: plain } = fullSurvey();
    const survey = withNotAskedBits(plain);
    const { codes: codeColumns } = survey.slotCounts;
    const given = Array.from({ length: 400 }, (_, n): GivenResponse => {
      const text = (shift: number) => hostile[(n + shift) % hostile.length] ?? '';
      return {
        surveyId: survey.id,
        surveyVersion: 1 + (n % 4),
        submittedAtMs: givenStart + n * 997,
        completedAtMs: n % 7 === 0 ? 0 : givenStart + n * 1009,
        ...(n % 14 === 0 && { savedAtMs: givenStart + n }),
        outcome: n % 7 !== 0 ? 'COMPLETED' : 'PARTIAL',
        durationMs: n % 5 === 0 ? -1 : n * 13,
        language: ['en', '', 'zh-Hans', '=x', 'a"b'][n % 5] ?? '',
        respondent: text(3),
        metadata:
          n % 3 === 0
            ? {}
            : {
                [oneSpelling(text(5)) || 'k']: oneSpelling(text(7)),
                b: oneSpelling(text(11)),
                '10': 'ten',
                '9': 'nine',
              },
        codes: Array.from({ length: codeColumns }, (_, slot) =>
          (n + slot) % 6 === 0 ? 0 : (n * 7 + slot) % 37 === 0 ? 65_535 : (n + slot * 3) % 12,
        ),
        numbers:
          n % 11 === 0
            ? []
            : Array.from({ length: survey.slotCounts.numbers }, (_, slot) => numbers[(n + slot) % numbers.length] ?? 0),
        texts: n % 13 === 0 ? [] : Array.from({ length: survey.slotCounts.texts }, (_, slot) => text(slot)),
      };
    });
    await store(given);
    for (const [labels, missing] of [['text'], ['value'], ['value', 'labelled']] as const) {
      const layout = layoutOf(survey, { labels, missing });
      const { lines, counted } = await fileOf(survey.id, layout, codeColumns);
      assert.equal(counted, given.length);
      assert.equal(lines, await expected(survey.id, layout, codeColumns));
      assert.equal(lines.includes('(not asked)'), missing !== undefined);
    }
  });

  it('show options with hostile names, hundreds of them, and the free other answer', async () => {
    const options = [
      ...new Set(
        hostile
          .map((text) => text.trim())
          .filter((text) => text !== '' && text.length < 200 && !/[\u0000-\u001f\u007f]/.test(text)),
      ),
    ].map((text, index) => ({ text, value: `o${index}` }));
    const many = [
      ...options,
      ...Array.from({ length: 150 }, (_, n) => ({ text: `Option ${n}`, value: `n${n}` })),
    ].slice(0, 100);
    const one = withQuestion(blankSurvey(), {
      type: 'MULTIPLE_CHOICE',
      text: '=which, "one"?',
      options: many,
      settings: { allowOther: true },
    });
    const two = withQuestion(one.survey, { type: 'CHECKBOXES', text: '@several', options: many });
    const { survey } = two;
    const { codes: codeColumns } = survey.slotCounts;
    await store(
      Array.from({ length: 120 }, (_, n) => ({
        surveyId: survey.id,
        submittedAtMs: givenStart + n,
        codes: Array.from({ length: codeColumns }, (_, slot) =>
          slot === 0 ? (n === 119 ? 65_535 : n) : (n * 2654435761 + slot * 40503) % 65_536,
        ),
        texts: [`=${n}`],
      })),
    );
    const layout = layoutOf(survey, { labels: 'text' });
    const { lines, text } = await fileOf(survey.id, layout, codeColumns);
    assert.equal(lines, await expected(survey.id, layout, codeColumns));
    const [head = []]: string[][] = parse(text, { bom: true, record_delimiter: '\r\n' });
    assert.ok(head.length > 100 && head.every((cell) => !/^[=@]/.test(cell)), head.join('|'));
  });

  it('return every text unchanged through a parser', async () => {
    const { survey, question } = withQuestion(blankSurvey(), { type: 'LONG_TEXT', text: 'Story' });
    const texts = fc
      .sample(
        fc.oneof(
          fc.string({ unit: 'grapheme' }),
          fc.stringMatching(/^'*[=+@\t\r\n"',-]{1,4}/),
          fc.string({
            unit: fc.constantFrom('"', ',', ';', '\r', '\n', "'", '=', '-', ')', 'a', '\u202e', '👩‍👧', '＝'),
          }),
        ),
        { numRuns: 3000, seed: 7 },
      )
      .filter((text) => !text.includes('\0'));
    const at = question.slots.codes[''] ?? 0;
    const answers = (text: string): AnswerRow => ({
      codes: Array.from({ length: at + 1 }, () => 1),
      numbers: [],
      texts: [text],
    });
    await store(texts.map((text, n) => ({ surveyId: survey.id, submittedAtMs: givenStart + n, ...answers(text) })));
    const { text, counted } = await fileOf(survey.id, layoutOf(survey, { labels: 'text' }), survey.slotCounts.codes);
    const read: Record<string, string>[] = parse(text, { bom: true, columns: true, record_delimiter: '\r\n' });
    assert.deepEqual(
      read.map((row) => plain(row['Story'] ?? '')),
      texts,
    );
    assert.equal(counted, texts.length);
  });

  it('contain metadata as JSON that a parser reads back', async () => {
    const survey = { ...blankSurvey(), id: nextId() };
    await store(
      hostile.map((text, n) => ({
        surveyId: survey.id,
        submittedAtMs: givenStart + n,
        metadata: { [text || 'k']: text },
      })),
    );
    const { text } = await fileOf(survey.id, layoutOf(survey, { labels: 'text', columns: ['metadata'] }), 0);
    const read: Record<string, string>[] = parse(text, { bom: true, columns: true, record_delimiter: '\r\n' });
    assert.deepEqual(
      read.map((row) => JSON.parse(row['metadata'] ?? '')),
      hostile.map((text) => ({ [text || 'k']: text })),
    );
  });

  it('have a column for each of the most frequent keys of the metadata, under any name', async () => {
    const survey = { ...blankSurvey(), id: nextId() };
    const keys = hostile.map((text) => text || 'k');
    await store(
      hostile.map((text, n) => ({
        surveyId: survey.id,
        submittedAtMs: givenStart + n,
        metadata: { [keys[n] ?? '']: text, weight: String(n / 2) },
      })),
    );
    const found = await rows.metadataKeys({ surveyId: survey.id }, 100);
    const inOrder = (names: string[]) =>
      [...names].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    assert.deepEqual(found, inOrder([...new Set([...keys, 'weight'])]));
    assert.deepEqual(await rows.metadataKeys({ surveyId: survey.id }, 1), ['weight']);
    assert.deepEqual(await rows.metadataKeys({ surveyId: nextId() }, 100), []);
    const layout = layoutOf(survey, { labels: 'text', metadataKeys: found });
    const { text } = await fileOf(survey.id, layout, 0);
    const [, ...read]: string[][] = parse(text, { bom: true, record_delimiter: '\r\n' });
    const column = (key: string) => layout.columns.findIndex(({ metadataKey }) => metadataKey === key);
    assert.deepEqual(
      read.map((row, n) => [plain(row[column(keys[n] ?? '')] ?? '?'), row[column('weight')]]),
      hostile.map((given, n) => [given, String(n / 2)]),
    );
  });

  it('write numbers as ECMAScript does', async () => {
    const { survey } = withQuestion(blankSurvey(), { type: 'NUMBER', text: 'N', settings: {} });
    const values = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), { numRuns: 5000, seed: 11 });
    await store(
      values.map((value, n) => ({ surveyId: survey.id, submittedAtMs: givenStart + n, codes: [1], numbers: [value] })),
    );
    const { text } = await fileOf(
      survey.id,
      layoutOf(survey, { labels: 'text', columns: [survey.questions[0]?.id ?? ''] }),
      1,
    );
    assert.deepEqual(text.slice(1).trimEnd().split('\r\n').slice(1), values.map(String));
  });

  it('come once each and in order where a span is cut, whatever lies at the cut', async () => {
    const survey = { ...blankSurvey(), id: nextId() };
    const total = 12_000;
    for (let from = 0; from < total; from += 4000)
      await store(
        Array.from({ length: 4000 }, (_, n) => ({
          surveyId: survey.id,
          submittedAtMs: givenStart + Math.floor((from + n) / 7),
        })),
      );
    const layout = layoutOf(survey, { labels: 'text', columns: ['id', 'submittedAt'] });
    const { lines, counted } = await fileOf(survey.id, layout, 0);
    assert.equal(counted, total);
    const read = lines
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','));
    assert.equal(new Set(read.map(([id]) => id)).size, total);
    assert.deepEqual(
      read,
      read.toSorted((a, b) => (a[1] ?? '').localeCompare(b[1] ?? '') || 0),
    );
    assert.equal(lines, await expected(survey.id, layout, 0));
  });
});
