import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { associationOf, chiSquareTail, logGamma } from '../../../src/domain/chi-square.ts';
import { interpretCrosstab, parseFilter } from '../../../src/domain/crosstab.ts';
import { fullSurvey } from '../../support/questions.ts';

const isNear = (actual: number | null, expected: number, tolerance = 1e-9) => assert.ok(actual !== null && Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);

describe('the chi-square distribution', () => {
  it('agrees with closed forms: exp(−x/2) for two degrees, a finite sum for every even number', () => {
    for (const x of [1e-6, 0.1, 1, 2, 5.991464547107979, 20, 100, 700]) {
      isNear(chiSquareTail(x, 2), Math.exp(-x / 2), 1e-12);
      for (const half of [2, 3, 5, 10, 40]) {
        let [term, sum] = [1, 1];
        for (let k = 1; k < half; k += 1) {
          term *= x / 2 / k;
          sum += term;
        }
        isNear(chiSquareTail(x, 2 * half), Math.exp(-x / 2) * sum, 1e-10);
      }
    }
  });

  it('agrees with printed critical values for odd degrees', () => {
    // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4, with more digits.
    isNear(chiSquareTail(3.841458820694124, 1), 0.05);
    isNear(chiSquareTail(6.634896601021213, 1), 0.01);
    isNear(chiSquareTail(7.814727903251179, 3), 0.05);
    isNear(chiSquareTail(15.086272469388987, 5), 0.01);
  });

  it('knows the gamma function', () => {
    isNear(logGamma(0.5), Math.log(Math.sqrt(Math.PI)), 1e-13);
    isNear(logGamma(11), Math.log(3_628_800), 1e-13);
  });
});

describe('association', () => {
  it('is computed without Yates’ correction', () => {
    // (30·60 − 10·20)² · 120 / (40·80·50·70)
    const { chiSquare, cramersV } = associationOf([[30, 10], [20, 60]]);
    isNear(chiSquare.statistic, ((30 * 60 - 10 * 20) ** 2 * 120) / (40 * 80 * 50 * 70), 1e-12);
    assert.equal(chiSquare.degreesOfFreedom, 1);
    isNear(cramersV, Math.sqrt((chiSquare.statistic ?? 0) / 120), 1e-12);
  });

  it('leaves empty rows and columns out, and has no test below two by two', () => {
    assert.deepEqual(associationOf([[30, 0, 10], [0, 0, 0], [20, 0, 60]]), associationOf([[30, 10], [20, 60]]));
    assert.deepEqual(associationOf([[5, 0], [7, 0]]), { chiSquare: { statistic: null, degreesOfFreedom: 0, pValue: null }, cramersV: null });
    assert.deepEqual(associationOf([]), { chiSquare: { statistic: null, degreesOfFreedom: 0, pValue: null }, cramersV: null });
  });

  it('lies between independence and identity for every table', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 5 }).chain((columns) => fc.array(fc.array(fc.nat(50), { minLength: columns, maxLength: columns }), { minLength: 2, maxLength: 5 })), (table) => {
        const { chiSquare, cramersV } = associationOf(table);
        if (chiSquare.statistic === null || cramersV === null || chiSquare.pValue === null) return;
        assert.ok(chiSquare.statistic >= -1e-9 && cramersV >= -1e-9 && cramersV <= 1 + 1e-9 && chiSquare.pValue >= -1e-12 && chiSquare.pValue <= 1 + 1e-12);
      }),
    );
  });
});

describe('a crosstab', () => {
  const categories = (...values: string[]) => values.map((value, index) => ({ code: index + 1, value, text: value.toUpperCase() }));
  const source = { kind: 'code', slot: 0 } as const;

  it('gives percentages of its rows, its columns and the whole', () => {
    const table = interpretCrosstab({
      rows: { categories: categories('a', 'b'), source }, columns: { categories: categories('x', 'y'), source },
      cells: [{ row: 1, column: 1, count: 1 }, { row: 1, column: 2, count: 3 }, { row: 2, column: 1, count: 4 }],
      rowTotals: new Map([[1, 4], [2, 4]]), columnTotals: new Map([[1, 5], [2, 3]]), total: 8,
    });
    assert.deepEqual(table.rows, [{ value: 'a', text: 'A', total: 4, weightedTotal: 4 }, { value: 'b', text: 'B', total: 4, weightedTotal: 4 }]);
    assert.deepEqual(table.cells[0]?.[1], { count: 3, weightedCount: 3, rowPercent: 75, columnPercent: 100, totalPercent: 37.5, significantOver: [] });
    assert.deepEqual(table.cells[1]?.[1], { count: 0, weightedCount: 0, rowPercent: 0, columnPercent: 0, totalPercent: 0, significantOver: [] });
  });

  it('shows a deleted option only where somebody chose it', () => {
    const [kept, gone] = categories('kept', 'gone');
    assert.ok(kept && gone);
    const rows = { categories: [kept, { ...gone, isHidden: true }], source };
    const count = (total: number) => interpretCrosstab({ rows, columns: { categories: [kept], source }, cells: [], rowTotals: new Map([[2, total]]), columnTotals: new Map(), total }).rows.length;
    assert.deepEqual([count(0), count(3)], [1, 2]);
  });
});

describe('a filter', () => {
  const { survey, questions } = fullSurvey();

  it('names a question and one of its values, or a row and a value', () => {
    const yes = parseFilter(survey, `${questions.YES_NO.id}:yes`);
    assert.ok('code' in yes && yes.code === 1);
    const good = parseFilter(survey, `${questions.MATRIX.id}:food:good`);
    assert.ok('code' in good && good.code === 1);
    const nine = parseFilter(survey, `${questions.NPS.id}:9`);
    assert.ok('code' in nine && nine.code === 10);
  });

  it('says what is wrong otherwise', () => {
    for (const wrong of ['', 'x', ':', 'nobody:yes', `${questions.YES_NO.id}:maybe`, `${questions.MATRIX.id}:good`, `${questions.SHORT_TEXT.id}:x`]) assert.ok('message' in parseFilter(survey, wrong), wrong);
  });
});
