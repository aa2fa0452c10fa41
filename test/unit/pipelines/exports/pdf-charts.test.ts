import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import PDFDocument from 'pdfkit';
import { interpretQuestion } from '../../../../src/domain/analytics/statistics.ts';
import { drawChart } from '../../../../src/pipelines/exports/pdf/charts.ts';
import { createSheet } from '../../../../src/pipelines/exports/pdf/sheet.ts';
import { createTypesetter } from '../../../../src/pipelines/exports/pdf/text.ts';
import { wordsOf } from '../../../../src/pipelines/exports/pdf/words.ts';
import { tableOf } from '../../../../src/pipelines/exports/tables.ts';
import { runAtOnce } from '../../../../src/platform/slices.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

/** The colours of the areas in the chart of a grid with one row, where everybody chose another column. */
function areasOf(columns: number): string[] {
  const { question } = withQuestion(blankSurvey(), {
    type: 'MATRIX',
    text: 'How likely is each?',
    options: Array.from({ length: columns }, (_, n) => ({ text: String(n) })),
    settings: { rows: [{ text: 'Rain' }] },
  });
  const counts = new Map(question.options.map(({ code }) => [code, 1]));
  const statistic = interpretQuestion(
    question,
    [{ kind: 'codes', counts }],
    { base: columns, partBases: [columns] },
    columns,
  );
  const doc = new PDFDocument();
  const areas: string[] = [];
  const fill = doc.fill.bind(doc);
  doc.fill = (color) => {
    areas.push(String(color));
    return fill(color);
  };
  const sheet = createSheet(doc, createTypesetter(doc, 'en'), { isRightToLeft: false });
  runAtOnce(drawChart(sheet, tableOf({ question, statistic }, wordsOf('en')), wordsOf('en')));
  return areas;
}

const rail = '#eef1f4';
const lightnessOf = (color: string) => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue;
};

describe('a chart of the parts of a whole', () => {
  for (const columns of [2, 10, 11, 200])
    it(`has a colour of its own for each of ${columns} parts, which the legend shows`, () => {
      const areas = areasOf(columns);
      const [legend, parts] = [areas.slice(0, columns), areas.slice(columns)];
      assert.equal(new Set(legend).size, columns);
      assert.deepEqual(parts, [rail, ...legend]);
    });

  it('has colours from dark to light where more than ten parts are a scale', () => {
    const lightness = areasOf(11).slice(0, 11).map(lightnessOf);
    assert.deepEqual(
      lightness,
      lightness.toSorted((one, other) => one - other),
    );
  });
});
