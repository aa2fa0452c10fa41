import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import excel from 'exceljs';
import { notAskedText, responseFieldNames } from '../../../src/domain/export-formats.ts';
import { csvText } from '../../../src/platform/csv-text.ts';
import { quotedCsv, useRecognition } from '../../support/recognised-files.ts';
import { record, spssFile, surveyOf } from '../../support/spss-files.ts';

describe('an export of this service', () => {
  const { recognise } = useRecognition();

  const ownHead = ['id', 'surveyVersion', 'submittedAt'];
  const ownRow = (n: number): string[] => [`r${n}`, '3', `2024-01-0${n}T10:00:00.000Z`];

  it('has the texts without the apostrophes that guard them from spreadsheets', async () => {
    const texts = [
      '-5 degrees here',
      '=sum of all things',
      "'@home again",
      '+1 for this',
      'one;-2',
      'fine ;-)',
      "it's",
      "'quoted'",
    ];
    const lines = texts.map((text, n) => [...ownRow(n + 1), ['=West()', 'East'][n % 2] ?? '', String(n - 4), text]);
    const head = [...ownHead, '@home? =East()', 'How warm?', 'Anything\n- else?'];
    const file = [head, ...lines].map((cells) => cells.map(csvText).join(',')).join('\r\n');
    const { questions, rows } = await recognise(file);
    assert.deepEqual(questions, [
      ['MULTIPLE_CHOICE', '@home? =East()'],
      ['NUMBER', 'How warm?'],
      ['SHORT_TEXT', 'Anything - else?'],
    ]);
    assert.deepEqual(rows, lines);
    const other = await recognise(file.replace('surveyVersion', 'version'));
    assert.equal(other.rows[0]?.at(-1), "'-5 degrees here", 'another file keeps its apostrophes');
  });

  it('has only answers as questions', async () => {
    const head = [...responseFieldNames, 'metadata.source', 'How warm?'];
    const { questions } = await recognise(
      [head, head.map((_, n) => String(n))].map((row) => row.join(',')).join('\r\n'),
    );
    assert.deepEqual(questions, [['NUMBER', 'How warm?']]);
  });

  it('has questions that are called like its other columns but for the case of letters, or like codes', async () => {
    const asked = ['ID', 'Language', 'Outcome', 'Metadata', 'SubmittedAt', 'M_1?', 'A1. How many?'];
    const lines = [1, 2].map((n) => [...ownRow(n), 'en', ...asked.map((_, place) => String(n + place))]);
    const { questions, rows } = await recognise(quotedCsv([...ownHead, 'language', ...asked], ...lines));
    assert.deepEqual(
      questions,
      asked.map((text) => ['NUMBER', text]),
    );
    assert.deepEqual(rows, lines);
  });

  it('with labelled missing answers has no answer where a question was not asked', async () => {
    const head = [
      ...ownHead,
      'Again?',
      'Which? [App]',
      'Which? [Web]',
      'How good?',
      'How was it? [Food]',
      'How was it? [Staff]',
      'Why?',
    ];
    const none = notAskedText;
    const lines = [
      [...ownRow(1), 'Yes', '1', '0', '4', 'Good', 'Bad', 'so'],
      [...ownRow(2), 'No', '0', '1', '5', 'Bad', 'Good', '(not asked) at all'],
      [...ownRow(3), '', none, none, none, none, none, none],
      [...ownRow(4), none, '', '', '3', 'Bad', '', 'because'],
    ];
    const sheet = new excel.Workbook();
    for (const cells of [head, ...lines]) (sheet.worksheets[0] ?? sheet.addWorksheet('Responses')).addRow(cells);
    for (const file of [quotedCsv(head, ...lines), Buffer.from(await sheet.xlsx.writeBuffer())]) {
      const { questions, rows, remarks } = await recognise(file);
      assert.deepEqual(questions, [
        ['YES_NO', 'Again?'],
        ['CHECKBOXES', 'Which?', ['App', 'Web']],
        ['NUMBER', 'How good?'],
        ['MATRIX', 'How was it?', ['Food', 'Staff']],
        ['SHORT_TEXT', 'Why?'],
      ]);
      assert.deepEqual(rows[2]?.slice(3), ['', '', '', '', '', '', '']);
      assert.match(remarks, /^Taken as missing: “\(not asked\)” \(7\)\.$/m);
    }
    const other = await recognise(quotedCsv(['A', 'B'], [none, '1'], [none, '2'], ['x', '3'], ['x', '4']));
    assert.deepEqual(other.questions[0], ['MULTIPLE_CHOICE', 'A'], 'an answer like others in another file');
    assert.equal(other.rows[0]?.[0], none);
  });

  it('with labels as values has the columns of a question together', async () => {
    const { questions } = await recognise(
      quotedCsv(
        [...ownHead, 'Q1', 'Q2:app', 'Q2:web', 'Q3:bus', 'Q3:tram', 'Q4:food', 'Q4:staff', 'Q5:__other__'],
        [...ownRow(1), '4', '1', '0', '1', '2', 'good', 'bad', 'so'],
        [...ownRow(2), '5', '0', '1', '2', '1', 'bad', 'good', 'this'],
      ),
    );
    assert.deepEqual(questions, [
      ['NUMBER', 'Q1'],
      ['CHECKBOXES', 'Q2', ['app', 'web']],
      ['RANKING', 'Q3', ['bus', 'tram']],
      ['MATRIX', 'Q4', ['food', 'staff']],
      ['SHORT_TEXT', 'Q5:__other__'],
    ]);
  });

  it('has a question for each row of a grid with several choices in a row', async () => {
    const ticks: readonly (readonly string[])[] = [
      ['1', '0', '1', '1'],
      ['0', '1', '', ''],
      ['', '', '0', '1'],
    ];
    const lines = ticks.map((cells, n) => [...ownRow(n + 1), ...cells]);
    const headOf = (question: string, rows: readonly string[], mark: string) =>
      rows.flatMap((row) => ['phone', 'mail: work'].map((option) => question.replace('*', row + mark + option)));
    const options = ['phone', 'mail: work'];
    for (const [question, rows, mark, name] of [
      ['Reach [*]', ['Home', 'Time: late'], ': ', 'Reach'],
      ['Q4:*', ['home', 'late:r'], ':', 'Q4'],
    ] as const) {
      const { questions } = await recognise(quotedCsv([...ownHead, ...headOf(question, rows, mark)], ...lines));
      assert.deepEqual(
        questions,
        rows.map((row) => ['CHECKBOXES', `${name} [${row}]`, options]),
      );
    }
    const never = await recognise(
      quotedCsv([...ownHead, ...headOf('Reach [*]', ['Home', 'Work'], ': ')], [...ownRow(1), '1', '0', '', '']),
    );
    assert.deepEqual(never.questions[1], ['CHECKBOXES', 'Reach [Work]', options], 'a row that nobody answered');
  });

  it('has other options and rows with colons in one question', async () => {
    const typeOf = async (parts: readonly string[], ...lines: string[][]) => {
      const head = [...ownHead, ...parts.map((part) => `Which? [${part}]`)];
      const { questions } = await recognise(quotedCsv(head, ...lines.map((cells, n) => [...ownRow(n + 1), ...cells])));
      return questions;
    };
    const times = ['Early: 9', 'Early: 10', 'Late: 20'];
    assert.deepEqual(await typeOf(times, ['1', '0', '1'], ['0', '1', '0']), [['CHECKBOXES', 'Which?', times]]);
    const ratings = ['Food: taste', 'Food: price', 'Staff: taste', 'Staff: price'];
    assert.deepEqual(await typeOf(ratings, ['good', 'bad', 'good', 'bad'], ['bad', 'good', 'good', 'bad']), [
      ['MATRIX', 'Which?', ratings],
    ]);
  });

  it('has one answer in each cell, and what respondents wrote for “Other” as a text', async () => {
    const said = ['fast; cheap', 'fast; cheap', 'cheap; fast', 'NA', '7', '7'];
    const lines = (cellsOf: (text: string) => string[]) => said.map((text, n) => [...ownRow(n + 1), ...cellsOf(text)]);
    const { questions, rows, remarks } = await recognise(
      quotedCsv(
        [...ownHead, 'Why?', 'Why? [Other]', 'Q3', 'Q3:__other__', 'Said?'],
        ...lines((text) => ['Other', text, 'Other', text, `${text}!`]),
      ),
    );
    assert.deepEqual(questions, [
      ['MULTIPLE_CHOICE', 'Why?'],
      ['SHORT_TEXT', 'Why? [Other]'],
      ['MULTIPLE_CHOICE', 'Q3'],
      ['SHORT_TEXT', 'Q3:__other__'],
      ['SHORT_TEXT', 'Said?'],
    ]);
    assert.equal(rows[3]?.[4], 'NA', remarks);
    const other = await recognise(quotedCsv(['Why?'], ['fast; cheap'], ['fast; cheap'], ['cheap; fast']));
    assert.deepEqual(other.questions[0], ['CHECKBOXES', 'Why?'], 'another file');
  });

  it('as an SPSS file has the options of questions whose wording has several lines, or is cut', async () => {
    const long = (times: number): string => `Which [of these] ${'words '.repeat(times)}end?`;
    const bodies: readonly [text: string, ...options: string[]][] = [
      ['Which of these?\nSeveral are possible:', 'App', 'Web & phone'],
      [long(22), 'App [new]', 'App [old]', 'Web'],
      [long(37), 'App', `App${' or else'.repeat(20)}`, 'Web'],
      [long(100), 'App', 'Web', 'Phone'],
      ['What else…', 'App', 'Web'],
    ];
    const { questions: asked } = surveyOf(
      ...bodies.map(([text, ...options]) => ({
        type: 'CHECKBOXES' as const,
        text,
        options: options.map((option) => ({ text: option })),
      })),
    );
    const chosen = [0, 1].map((place) =>
      record(
        asked,
        asked.map(({ options }) => [{ optionId: options[place]?.id }]),
      ),
    );
    const { questions, rows } = await recognise(await spssFile(asked, chosen));
    const cutOption = rows[1]?.find((cell) => cell.startsWith('App or else')) ?? '';
    const cutText = String(questions[3]?.[1]);
    assert.match(cutOption, /^App( or else)+.*….*( or else)+$/);
    assert.ok(cutText.endsWith('…') && long(100).startsWith(cutText.slice(0, -1)), cutText);
    assert.deepEqual(questions, [
      ['CHECKBOXES', 'Which of these? Several are possible:', ['App', 'Web & phone']],
      ['CHECKBOXES', long(22), ['App [new]', 'App [old]', 'Web']],
      ['CHECKBOXES', long(37), ['App', cutOption, 'Web']],
      ['CHECKBOXES', cutText, ['App', 'Web', 'Phone']],
      ['CHECKBOXES', 'What else…', ['App', 'Web']],
    ]);
    assert.deepEqual(rows[0]?.slice(9, 22), ['App', '', 'App [new]', '', '', 'App', '', '', 'App', '', '', 'App', '']);
  });
});
