import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { interpretQuestion, surveyHead } from '../../../../src/domain/analytics/statistics.ts';
import type { CountResult, NumberMoments } from '../../../../src/domain/questions/contract.ts';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import { registry } from '../../../../src/domain/questions/registry.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import { nextId } from '../../../support/questions.ts';
import { one } from '../questions/one-question.ts';

const codes = (counts: Record<number, number>): CountResult => ({
  kind: 'codes',
  counts: new Map(Object.entries(counts).map(([code, count]) => [Number(code), count])),
});
const moments = (bins: NumberMoments['bins']): CountResult => ({
  kind: 'number',
  moments: { count: 1, average: 1, median: 1, standardDeviation: null, min: 1, max: 1, bins },
});
const statisticOf = (question: Question, results: CountResult[], base: number) =>
  registry[question.type].statistic(question, results, base);
const isNear = (actual: number | null | undefined, expected: number) =>
  assert.ok(typeof actual === 'number' && Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

function without(question: Question, value: string): Question {
  const changed = changeQuestion(
    question,
    { options: question.options.filter((option) => option.value !== value).map(({ id, text }) => ({ id, text })) },
    { hasAnswers: true, newId: nextId },
  );
  assert.ok('question' in changed);
  return changed.question;
}

describe('the statistic of a scale', () => {
  it('computes the net promoter score from its groups, in full precision', () => {
    const { question } = one({ type: 'NPS', text: 'n' });
    const statistic = statisticOf(question, [codes({ 11: 50, 10: 10, 9: 10, 8: 10, 1: 20 })], 100);
    assert.deepEqual(statistic.nps, { promoters: 60, passives: 20, detractors: 20, score: 40 });
    assert.deepEqual(
      [statistic.topBox, statistic.bottomBox],
      [
        { count: 50, percent: 50 },
        { count: 20, percent: 20 },
      ],
    );
    assert.deepEqual(Object.keys(statistic.distribution), ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
    isNear(statisticOf(question, [codes({ 11: 2, 1: 1 })], 3).nps?.score, 100 / 3);
    assert.equal(statisticOf(question, [codes({})], 0).nps?.score, null);
  });

  it('computes mean, median and sample deviation from exact counts', () => {
    const { question } = one({ type: 'RATING_SCALE', text: 'r' });
    const statistic = statisticOf(question, [codes({ 1: 1, 2: 2, 4: 1 })], 4);
    assert.equal(statistic.averageValue, 2.25);
    assert.equal(statistic.medianValue, 2);
    isNear(statistic.standardDeviation, Math.sqrt((1.25 ** 2 + 2 * 0.25 ** 2 + 1.75 ** 2) / 3));
    assert.deepEqual([statistic.minValue, statistic.maxValue], [1, 4]);
    assert.equal(statisticOf(question, [codes({ 2: 1, 5: 1 })], 2).medianValue, 3.5);
    assert.equal(statisticOf(question, [codes({ 3: 1 })], 1).standardDeviation, null);
  });

  it('puts a long scale into twenty equal bins, the last one closed', () => {
    const { question } = one({ type: 'SLIDER', text: 's' });
    const { distribution } = statisticOf(question, [codes({ 1: 1, 5: 1, 6: 1, 96: 1, 101: 1 })], 5);
    assert.equal(Object.keys(distribution).length, 20);
    assert.deepEqual([distribution['0–5'], distribution['5–10'], distribution['95–100']], [2, 1, 2]);
  });

  it('shows every point of a scale of up to twenty steps, bins beyond', () => {
    const keysTo = (max: number) =>
      Object.keys(
        statisticOf(one({ type: 'SLIDER', text: 's', settings: { max } }).question, [codes({})], 0).distribution,
      );
    assert.deepEqual(
      keysTo(20),
      Array.from({ length: 21 }, (_, value) => String(value)),
    );
    assert.equal(keysTo(21).length, 20);
    assert.deepEqual(keysTo(21).slice(0, 2), ['0–1.05', '1.05–2.1']);
  });

  it('shows every point of a rating, however many steps it has', () => {
    const { question } = one({ type: 'RATING_SCALE', text: 'r', settings: { min: 0, max: 100 } });
    const { distribution } = statisticOf(question, [codes({ 78: 3 })], 3);
    assert.deepEqual([Object.keys(distribution).length, distribution['77'], distribution['100']], [101, 3, 0]);
  });

  it('asks for bins of the scale, and for its ends, where points are too many to be counted each', () => {
    const { question } = one({ type: 'SLIDER', text: 's', settings: { min: 0, max: 200_000, step: 3 } });
    const { base, requests } = registry.SLIDER.countPlan(question);
    assert.deepEqual(
      requests.map((request) => 'scale' in request && request.scale),
      [{ min: 0, max: 200_000, lastPoint: 199_998 }],
    );
    const bins = [
      { low: 0, high: 100_000, count: 3 },
      { low: 100_000, high: 200_000, count: 1 },
    ];
    const measured = {
      count: 4,
      average: 1,
      median: 1,
      standardDeviation: 1,
      min: 0,
      max: 199_998,
      bins,
      ends: { first: 2, last: 1 },
    };
    const statistic = statisticOf(question, [{ kind: 'number', moments: measured }], 4);
    assert.deepEqual([base.length, statistic.distribution], [1, { '0–100000': 3, '100000–200000': 1 }]);
    assert.deepEqual(
      [statistic.topBox, statistic.bottomBox],
      [
        { count: 1, percent: 25 },
        { count: 2, percent: 50 },
      ],
    );
    const free = statisticOf(one({ type: 'NUMBER', text: 'n' }).question, [moments(bins)], 4);
    assert.deepEqual([free.topBox, free.bottomBox], [undefined, undefined]);
  });

  it('averages agreement by its point on the answered scale, also if an option between is now hidden', () => {
    const { question } = one({ type: 'LIKERT_SCALE', text: 'l' });
    const statistic = statisticOf(question, [codes({ 1: 1, 5: 3 })], 4);
    assert.equal(statistic.averageValue, 4);
    assert.deepEqual(
      [statistic.topBox, statistic.bottomBox],
      [
        { count: 3, percent: 75 },
        { count: 1, percent: 25 },
      ],
    );
    const shorter = statisticOf(without(question, 'neutral'), [codes({ 4: 1, 5: 1 })], 2);
    assert.equal(shorter.averageValue, 4.5);
    assert.ok(!('neutral' in shorter.distribution));
  });
});

describe('a distribution', () => {
  it('shows a deleted option, and “other” if it is no longer allowed, only if somebody chose it', () => {
    const { question } = one({
      type: 'MULTIPLE_CHOICE',
      text: 'm',
      options: [{ text: 'a' }, { text: 'b' }],
      settings: { allowOther: true },
    });
    assert.deepEqual(statisticOf(question, [codes({ 65535: 2, 1: 1 })], 3).distribution, { a: 1, b: 0, __other__: 2 });
    const changed = changeQuestion(
      without(question, 'b'),
      { settings: { allowOther: false } },
      { hasAnswers: true, newId: nextId },
    );
    assert.ok('question' in changed);
    assert.deepEqual(statisticOf(changed.question, [codes({ 1: 1 })], 1).distribution, { a: 1 });
    assert.deepEqual(statisticOf(changed.question, [codes({ 1: 1, 2: 4, 65535: 2 })], 7).distribution, {
      a: 1,
      b: 4,
      __other__: 2,
    });
  });

  it('names the bins of free numbers by their edges, exactly', () => {
    const { question } = one({ type: 'NUMBER', text: 'n' });
    const edges = [1e9, 1_000_000_000.000_001, 1_000_000_000.000_002, 1_000_000_000.000_003];
    const close = edges.slice(1).map((high, index) => ({ low: edges[index] ?? 0, high, count: 1 }));
    assert.deepEqual(Object.keys(statisticOf(question, [moments(close)], 1).distribution), [
      '1000000000–1000000000.000001',
      '1000000000.000001–1000000000.000002',
      '1000000000.000002–1000000000.000003',
    ]);
    assert.deepEqual(statisticOf(question, [moments([{ low: 5, high: 5, count: 2 }])], 2).distribution, { '5': 2 });
    const long = 1_732_212_345_678;
    assert.deepEqual(statisticOf(question, [moments([{ low: long, high: long, count: 2 }])], 2).distribution, {
      '1732212345678': 2,
    });
    assert.deepEqual(
      statisticOf(
        question,
        [moments([4, 5].map((digit) => ({ low: 1e12 + digit, high: 1e12 + digit, count: digit })))],
        9,
      ).distribution,
      { '1000000000004': 4, '1000000000005': 5 },
    );
    assert.deepEqual(
      Object.keys(statisticOf(question, [moments([{ low: long, high: long + 2000, count: 2 }])], 2).distribution),
      ['1732212345678–1732212347678'],
    );
  });

  it('of a grid has every row and column, and the mean point of each row', () => {
    const { question } = one({
      type: 'MATRIX',
      text: 'm',
      options: [{ text: 'bad' }, { text: 'good' }],
      settings: { rows: [{ text: 'r' }, { text: 's' }] },
    });
    const statistic = statisticOf(question, [codes({ 1: 1, 2: 3 }), codes({})], 4);
    assert.deepEqual(statistic.distribution, { r: { bad: 1, good: 3 }, s: { bad: 0, good: 0 } });
    assert.deepEqual(statistic.averageByRow, { r: 1.75, s: null });
  });

  it('of a ranking has every rank of every item, and the mean rank', () => {
    const { question } = one({ type: 'RANKING', text: 'r', options: [{ text: 'a' }, { text: 'b' }] });
    const statistic = statisticOf(question, [codes({ 1: 3, 2: 1 }), codes({})], 4);
    assert.deepEqual(statistic.distribution, { a: { 1: 3, 2: 1 }, b: { 1: 0, 2: 0 } });
    assert.deepEqual(statistic.averageRank, { a: 1.25, b: null });
  });

  it('of times has all the hours, of other texts what was written', () => {
    const text = (counts: [string, number][]): CountResult => ({
      kind: 'text',
      counts: counts.map(([key, count]) => ({ key, count })),
    });
    const hours = statisticOf(one({ type: 'TIME', text: 't' }).question, [text([['07', 2]])], 2).distribution;
    assert.deepEqual([Object.keys(hours).length, hours['07'], hours['23']], [24, 2, 0]);
    assert.deepEqual(
      Object.entries(
        statisticOf(
          one({ type: 'DATE', text: 'd' }).question,
          [
            text([
              ['2024-02-01', 5],
              ['2023-12-31', 1],
            ]),
          ],
          6,
        ).distribution,
      ),
      [
        ['2023-12-31', 1],
        ['2024-02-01', 5],
      ],
    );
    assert.deepEqual(statisticOf(one({ type: 'EMAIL', text: 'e' }).question, [text([['c.de', 2]])], 2).distribution, {
      'c.de': 2,
    });
    const words = statisticOf(one({ type: 'LONG_TEXT', text: 'w' }).question, [text([['good', 2]])], 2);
    assert.deepEqual([words.distribution, words.topWords], [{}, [{ word: 'good', count: 2 }]]);
  });
});

describe('the summary of a survey', () => {
  it('gives the completion rate with one decimal and the duration in seconds', () => {
    const none = { PARTIAL: 0, COMPLETED: 0, SCREENED_OUT: 0, OVER_QUOTA: 0 };
    const outcomes = { ...none, PARTIAL: 1, COMPLETED: 2, SCREENED_OUT: 1 };
    assert.deepEqual(surveyHead({ total: 4, outcomes, durationAverageMs: 1500, durationMedianSeconds: 1.5 }), {
      totalResponses: 4,
      completeResponses: 2,
      completionRate: 50,
      outcomes,
      averageDuration: 1.5,
      medianDuration: 1.5,
    });
    assert.deepEqual(surveyHead({ total: 0, outcomes: none, durationAverageMs: null, durationMedianSeconds: null }), {
      totalResponses: 0,
      completeResponses: 0,
      completionRate: 0,
      outcomes: none,
      averageDuration: 0,
      medianDuration: null,
    });
  });
});

describe('deleted parts of a question', () => {
  const whole = (counts: Record<number, number>, all: Record<number, number>): CountResult => ({
    kind: 'codes',
    counts: new Map(Object.entries(counts).map(([code, n]) => [Number(code), n])),
    unfiltered: new Map(Object.entries(all).map(([code, n]) => [Number(code), n])),
  });
  const choice = (type: 'MULTIPLE_CHOICE' | 'LIKERT_SCALE') =>
    without(one({ type, text: 'c', options: ['a', 'b', 'c'].map((text) => ({ text })) }).question, 'b');

  it('are shown if any response of the survey chose them, even if none of the selected ones did', () => {
    for (const type of ['MULTIPLE_CHOICE', 'LIKERT_SCALE'] as const) {
      const question = choice(type);
      const [request] = registry[type].countPlan(question).requests;
      assert.ok(request?.kind === 'codes' && request.needsUnfiltered);
      assert.deepEqual(statisticOf(question, [whole({ 1: 2 }, { 1: 2, 2: 4 })], 2).distribution, { a: 2, b: 0, c: 0 });
      assert.deepEqual(statisticOf(question, [whole({ 1: 2 }, { 1: 2 })], 2).distribution, { a: 2, c: 0 });
    }
  });

  it('are shown in the same way for several answers, rows and ranks', () => {
    const boxes = without(
      one({ type: 'CHECKBOXES', text: 'c', options: ['a', 'b', 'c'].map((text) => ({ text })) }).question,
      'b',
    );
    assert.deepEqual(statisticOf(boxes, [{ kind: 'bits', counts: [1, 0, 0], unfiltered: [1, 1, 0] }], 1).distribution, {
      a: 1,
      b: 0,
      c: 0,
    });
    const ranking = without(
      one({ type: 'RANKING', text: 'c', options: ['a', 'b', 'c'].map((text) => ({ text })) }).question,
      'b',
    );
    assert.deepEqual(
      statisticOf(ranking, [whole({ 1: 1 }, { 1: 1, 3: 1 }), whole({}, {}), whole({}, { 1: 2 })], 1).distribution,
      { a: { 1: 1, 2: 0, 3: 0 }, b: { 1: 0, 2: 0 }, c: { 1: 0, 2: 0 } },
    );
    const grid = one({
      type: 'MATRIX',
      text: 'm',
      options: [{ text: 'good' }],
      settings: { rows: [{ text: 'x' }, { text: 'y' }] },
    }).question;
    const shorter = { ...grid, rows: grid.rows.map((row, index) => ({ ...row, isHidden: index === 1 })) };
    assert.deepEqual(statisticOf(shorter, [whole({ 1: 1 }, { 1: 1 }), whole({}, { 1: 3 })], 1).distribution, {
      x: { good: 1 },
      y: { good: 0 },
    });
    assert.deepEqual(statisticOf(shorter, [whole({ 1: 1 }, { 1: 1 }), whole({}, {})], 1).distribution, {
      x: { good: 1 },
    });
  });
});

describe('the bases of the rows of a MATRIX', () => {
  const rows = [{ text: 'x' }, { text: 'y' }];
  const options = [{ text: 'a' }, { text: 'b' }];

  it('count the respondents who answered the row, once each if a row takes several answers', () => {
    const several = one({ type: 'MATRIX', text: 'm', options, settings: { rows, multiple: true } }).question;
    const bits = (...counts: number[]): CountResult => ({ kind: 'bits', counts });
    const found = interpretQuestion(several, [bits(3, 2), bits(1, 0)], { base: 5, partBases: [4, 1] }, 6);
    assert.deepEqual([found.baseByRow, found.responseCount], [{ x: 4, y: 1 }, 5]);
    assert.equal(registry.MATRIX.countPlan(several).parts?.length, 2);
    const single = one({ type: 'MATRIX', text: 'm', options, settings: { rows } }).question;
    assert.deepEqual(statisticOf(single, [codes({ 1: 3, 2: 1 }), codes({})], 4).baseByRow, { x: 4, y: 0 });
  });
});

describe('the bins of a NUMBER', () => {
  it('cover its bounds if it has both', () => {
    const requestOf = (settings: Record<string, unknown>) =>
      registry.NUMBER.countPlan(one({ type: 'NUMBER', text: 'n', settings }).question).requests[0];
    assert.deepEqual(requestOf({ min: 0, max: 10 }), {
      kind: 'number',
      slot: 0,
      presence: 0,
      bounds: { min: 0, max: 10 },
    });
    assert.deepEqual(requestOf({ min: 0 }), { kind: 'number', slot: 0, presence: 0 });
  });
});

describe('answers that are counted by key', () => {
  it('are all counted, also those with keys that are not listed', () => {
    const texts = (...counts: [string, number][]): CountResult => ({
      kind: 'text',
      counts: counts.map(([key, count]) => ({ key, count })),
    });
    for (const type of ['DATE', 'EMAIL', 'FILE_UPLOAD'] as const) {
      const { question } = one({ type, text: 'k' });
      const { distribution, otherAnswers } = statisticOf(question, [texts(['b', 2], ['a', 1])], 7);
      assert.deepEqual([distribution, otherAnswers], [{ a: 1, b: 2 }, 4], type);
      assert.ok(!('otherAnswers' in statisticOf(question, [texts(['b', 2], ['a', 1])], 3)));
      assert.ok(!('otherAnswers' in statisticOf(question, [texts()], 0)));
    }
  });
});
