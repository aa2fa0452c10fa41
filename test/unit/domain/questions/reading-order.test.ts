import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reportTask } from '../../../../src/ai/tasks/report.ts';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import type { CountResult } from '../../../../src/domain/questions/contract.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import { tableOf } from '../../../../src/pipelines/exports/tables.ts';
import { questionLines } from '../../../../src/replay/report.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

type Body = Parameters<typeof withQuestion>[1];
const options = (...values: string[]) => values.map((value) => ({ text: `Option ${value}`, value }));
const codes = (...counts: number[]): CountResult => ({
  kind: 'codes',
  counts: new Map(counts.map((count, index) => [index + 1, count])),
});

function asked(body: Body, ...results: CountResult[]) {
  const { survey, question } = withQuestion(blankSurvey(), body);
  return { survey, question, statistic: interpretQuestion(question, results, { base: 6, partBases: [] }, 6) };
}
const linesOf = ({ question, statistic }: ReturnType<typeof asked>) => tableOf({ question, statistic }).lines;
const printed = (found: ReturnType<typeof asked>) =>
  linesOf(found).map(({ label, cells }) => [label, ...cells.map((cell) => cell.label)]);

/** The data of a report's prompt. */
function toldOf(found: ReturnType<typeof asked>): [string, unknown][] {
  const head = { totalResponses: 6, completeResponses: 6, completionRate: 100, averageDuration: 0 };
  const { data } = reportTask(
    { survey: found.survey, head, figures: [found.statistic], themes: [], themesBase: 0, summary: undefined },
    { hasRecommendations: false, language: 'en' },
  );
  const [told] = (data as { questions: { counts: { answer: string; count: unknown }[] }[] }).questions;
  return (told?.counts ?? []).map(({ answer, count }) => [answer, count]);
}

describe('the display order of a distribution', () => {
  it('ascends along the scale, also below zero and in halves', () => {
    const scale = (settings: Record<string, number>) =>
      printed(asked({ type: 'RATING_SCALE', text: 'How much?', settings } as Body, codes(1, 2, 3)));
    assert.deepEqual(scale({ min: -2, max: 2, step: 1 }), [['', '-2', '-1', '0', '1', '2']]);
    assert.deepEqual(scale({ min: 1, max: 3, step: 0.5 }), [['', '1', '1.5', '2', '2.5', '3']]);
  });

  it('lists options with numeric names, however many, and never as ranges', () => {
    const years = Array.from({ length: 45 }, (_, index) => String(1980 + index));
    const found = asked(
      { type: 'DROPDOWN', text: 'Born in?', options: options(...years) },
      {
        kind: 'codes',
        counts: new Map([
          [2, 3],
          [44, 1],
        ]),
      },
    );
    const cells = linesOf(found)[0]?.cells ?? [];
    assert.deepEqual(
      [cells.find(({ count }) => count === 3)?.label, cells.length, cells.at(-1)?.label],
      ['Option 1981', 41, 'All others (5)'],
    );
    assert.deepEqual(
      toldOf(found).map(([answer]) => answer),
      cells.map(({ label }) => label),
    );
  });

  it('groups the points of a very long scale into adjacent ranges whose counts add up, if they do not fit', () => {
    const found = asked({ type: 'RATING_SCALE', text: 'How much?', settings: { min: 0, max: 100 } } as Body, {
      kind: 'codes',
      counts: new Map([
        [1, 2],
        [6, 1],
        [7, 4],
        [101, 3],
      ]),
    });
    const cells = linesOf(found)[0]?.cells ?? [];
    assert.deepEqual(
      [cells[0], cells[1], cells.at(-1)].map((cell) => [cell?.label, cell?.count]),
      [
        ['0–5', 3],
        ['6–11', 4],
        ['96–100', 3],
      ],
    );
    assert.equal(
      cells.reduce((sum, { count }) => sum + count, 0),
      10,
    );
    assert.deepEqual(
      toldOf(found).filter(([, count]) => count !== 0),
      [
        ['0–5', 3],
        ['6–11', 4],
        ['96–100', 3],
      ],
    );
    const short = printed(
      asked({ type: 'RATING_SCALE', text: 'How much?', settings: { min: 1, max: 40 } } as Body, codes(1)),
    )[0];
    assert.equal(short?.length, 41, 'forty points fit');
  });

  it('begins the day at midnight', () => {
    const [line] = printed(
      asked({ type: 'TIME', text: 'When?' } as Body, {
        kind: 'text',
        counts: [
          { key: '17', count: 2 },
          { key: '05', count: 4 },
        ],
      }),
    );
    assert.deepEqual(line, ['', ...Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'))]);
  });

  it('follows the author’s order of options, with “other” at the end', () => {
    for (const type of ['MULTIPLE_CHOICE', 'DROPDOWN'] as const)
      assert.deepEqual(
        printed(
          asked(
            { type, text: 'Which?', options: options('10', '5', 'b', '7'), settings: { allowOther: true } } as Body,
            codes(1, 2, 3),
          ),
        ),
        [['', 'Option 10', 'Option 5', 'Option b', 'Option 7', 'Other']],
      );
    const choice = {
      type: 'MULTIPLE_CHOICE',
      text: 'Which?',
      options: options('a', 'b'),
      settings: { allowOther: true },
    };
    assert.deepEqual(
      toldOf(asked(choice as Body, codes(1, 2))).map(([answer]) => answer),
      ['Option a', 'Option b', 'Other'],
    );
    assert.deepEqual(
      printed(
        asked({ type: 'CHECKBOXES', text: 'Which?', options: options('10', '5', '7') } as Body, {
          kind: 'bits',
          counts: [1, 2, 3],
        }),
      ),
      [['', 'Option 10', 'Option 5', 'Option 7']],
    );
    assert.deepEqual(
      printed(asked({ type: 'LIKERT_SCALE', text: 'How?', options: options('3', '2', '1') } as Body, codes(1, 2, 3))),
      [['', 'Option 3', 'Option 2', 'Option 1']],
    );
  });

  it('follows the author’s order of rows and columns, and of the items of a ranking', () => {
    const rows = [
      { text: 'Row 20', value: '20' },
      { text: 'Row 10', value: '10' },
    ];
    const grid = asked(
      { type: 'MATRIX', text: 'How is each?', options: options('3', '1', '2'), settings: { rows } } as Body,
      codes(3, 2, 1),
      codes(1, 2, 3),
    );
    assert.deepEqual(printed(grid), [
      ['Row 20', 'Option 3', 'Option 1', 'Option 2'],
      ['Row 10', 'Option 3', 'Option 1', 'Option 2'],
    ]);
    assert.deepEqual(
      linesOf(grid).map(({ cells }) => cells.map(({ count }) => count)),
      [
        [3, 2, 1],
        [1, 2, 3],
      ],
    );
    const ranked = asked(
      { type: 'RANKING', text: 'In which order?', options: options('9', '4') } as Body,
      codes(4, 2),
      codes(2, 4),
    );
    assert.deepEqual(printed(ranked), [
      ['Option 9', '1', '2'],
      ['Option 4', '1', '2'],
    ]);
    assert.deepEqual(
      tableOf(ranked).measures.map(({ of }) => of),
      ['Option 9', 'Option 4'],
    );
  });

  it('keeps the most frequent answers, in their own order, if there are too many', () => {
    const counts = Array.from({ length: 41 }, (_, index) => (index === 3 ? 1 : 2 + (index % 5)));
    const names = counts.map((_, index) => `n${index}`);
    const found = asked(
      { type: 'MULTIPLE_CHOICE', text: 'Which?', options: options(...names) } as Body,
      codes(...counts),
    );
    const shown = [...names.filter((name) => name !== 'n3').map((name) => `Option ${name}`), 'All others (1)'];
    assert.deepEqual(printed(found)[0], ['', ...shown]);
    assert.deepEqual(
      toldOf(found).map(([answer]) => answer),
      shown,
    );
    assert.deepEqual(toldOf(found).at(-1), ['All others (1)', 1]);
  });

  it('has every row and item in a report for an AI provider, with all of their counts', () => {
    const names = Array.from({ length: 60 }, (_, index) => `n${index}`);
    const ranks = codes(...names.map((_, index) => (index === 49 ? 900 : 1)));
    const ranked = asked(
      { type: 'RANKING', text: 'In which order?', options: options(...names) } as Body,
      ...names.map(() => ranks),
    );
    const told = toldOf(ranked);
    assert.deepEqual(
      told.map(([answer]) => answer),
      names.map((name) => `Option ${name}`),
    );
    const counts = told[59]?.[1] as { answer: string; count: number }[];
    assert.deepEqual([counts.length, counts.find(({ count }) => count === 900)?.answer], [60, '50']);
    assert.equal(linesOf(ranked)[59]?.cells.length, counts.length);
  });

  it('is the same in a report for an AI provider', () => {
    assert.deepEqual(
      toldOf(
        asked(
          { type: 'RATING_SCALE', text: 'How much?', settings: { min: -1, max: 1, step: 1 } } as Body,
          codes(1, 2, 3),
        ),
      ),
      [
        ['-1', 1],
        ['0', 2],
        ['1', 3],
      ],
    );
    assert.deepEqual(
      toldOf(asked({ type: 'MULTIPLE_CHOICE', text: 'Which?', options: options('10', '5') } as Body, codes(4, 2))),
      [
        ['Option 10', 4],
        ['Option 5', 2],
      ],
    );
    const rows = [
      { text: 'Row 20', value: '20' },
      { text: 'Row 10', value: '10' },
    ];
    assert.deepEqual(
      toldOf(
        asked(
          { type: 'MATRIX', text: 'How?', options: options('b', '1'), settings: { rows } } as Body,
          codes(4, 2),
          codes(1, 5),
        ),
      ),
      [
        [
          'Row 20',
          [
            { answer: 'Option b', count: 4 },
            { answer: 'Option 1', count: 2 },
          ],
        ],
        [
          'Row 10',
          [
            { answer: 'Option b', count: 1 },
            { answer: 'Option 1', count: 5 },
          ],
        ],
      ],
    );
  });

  it('is the same in a replay', () => {
    const replayed = ({ question, statistic }: ReturnType<typeof asked>): string[] => {
      const named = (items: Question['options'] | Question['rows']) => items.map((item) => [item.text, item] as const);
      const made = {
        found: { text: question.text, type: question.type },
        options: named(question.options),
        rows: named(question.rows),
      };
      return questionLines(made as unknown as Parameters<typeof questionLines>[0], {
        place: 0,
        statistic,
        leftOut: new Map(),
      })
        .slice(2)
        .map((line) => line.trim().split(/\s{2,}/)[0] ?? '');
    };
    assert.deepEqual(
      replayed(asked({ type: 'MULTIPLE_CHOICE', text: 'Which?', options: options('10', '5') } as Body, codes(4, 2))),
      ['Option 10', 'Option 5'],
    );
    assert.deepEqual(
      replayed(
        asked(
          { type: 'RATING_SCALE', text: 'How much?', settings: { min: -1, max: 1, step: 1 } } as Body,
          codes(1, 2, 3),
        ),
      ).slice(0, 3),
      ['-1', '0', '1'],
    );
  });
});
