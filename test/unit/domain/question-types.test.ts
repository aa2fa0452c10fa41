import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkAnswers, compileSurvey, readAnswers } from '../../../src/domain/answers.ts';
import type { CountResult, GivenAnswer } from '../../../src/domain/questions/contract.ts';
import { questionTypeNames, registry, type QuestionTypeName } from '../../../src/domain/questions/registry.ts';
import type { Question, SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { blankSurvey, fullSurvey, nextId, withQuestion } from '../../support/questions.ts';

const upload = { id: nextId(), questionId: '', mimeType: 'image/png', sizeBytes: 10 };

type Values = Omit<GivenAnswer, 'questionId'>[];

/** Valid answers to a question of every type. */
const valid: Record<QuestionTypeName, (question: Question) => fc.Arbitrary<Values>> = {
  MULTIPLE_CHOICE: (question) => fc.oneof(option(question), fc.constant<Values>([{ textValue: 'Something else' }])),
  DROPDOWN: (question) => option(question),
  YES_NO: (question) => option(question),
  LIKERT_SCALE: (question) => option(question),
  CHECKBOXES: (question) => fc.uniqueArray(fc.nat(question.options.length - 1), { minLength: 1, maxLength: 2 }).map((chosen) => chosen.map((index) => ({ optionId: question.options[index]?.id ?? '' }))),
  RATING_SCALE: () => fc.integer({ min: 1, max: 5 }).map((numberValue) => [{ numberValue }]),
  NPS: () => fc.integer({ min: 0, max: 10 }).map((numberValue) => [{ numberValue }]),
  SLIDER: () => fc.integer({ min: 0, max: 100 }).map((numberValue) => [{ numberValue }]),
  NUMBER: () => fc.integer({ min: 0, max: 150 }).map((numberValue) => [{ numberValue }]),
  MATRIX: (question) => fc.tuple(...question.rows.map((row) => option(question).map(([answer]) => ({ ...answer, rowId: row.id })))),
  RANKING: (question) => fc.shuffledSubarray([...question.options], { minLength: 1 }).map((order) => order.map((item, index) => ({ optionId: item.id, rank: index + 1 }))),
  SHORT_TEXT: () => fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((text) => !/[\r\n\0]/.test(text)).map((textValue) => [{ textValue }]),
  LONG_TEXT: () => fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }).filter((text) => !text.includes('\0')).map((textValue) => [{ textValue }]),
  EMAIL: () => fc.tuple(fc.stringMatching(/^[a-z0-9]{1,20}$/), fc.stringMatching(/^[a-z]{1,10}\.[a-z]{2,5}$/)).map(([local, host]) => [{ textValue: `${local}@${host}` }]),
  DATE: () => fc.date({ min: new Date('1900-01-01'), max: new Date('2100-12-31'), noInvalidDate: true }).map((day) => [{ textValue: day.toISOString().slice(0, 10) }]),
  TIME: () => fc.tuple(fc.nat(23), fc.nat(59)).map(([hour, minute]) => [{ textValue: `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}` }]),
  FILE_UPLOAD: () => fc.constant([{ textValue: upload.id }]),
};

function option(question: Question): fc.Arbitrary<Values> {
  return fc.constantFrom(...question.options).map(({ id }) => [{ optionId: id }]);
}

const { survey, questions } = fullSurvey();
const compiled = compileSurvey(survey);
const uploads = new Map([[upload.id, { ...upload, questionId: questions.FILE_UPLOAD.id }]]);
const check = (answers: unknown, isComplete = true) => checkAnswers(compiled, answers, { isComplete, uploads });

const textOf = (answer: object) => JSON.stringify(Object.entries(answer).sort());
const byText = (a: object, b: object) => (textOf(a) < textOf(b) ? -1 : 1);

describe('every question type', () => {
  it('is in the registry under the name of the specification', () => {
    assert.equal(questionTypeNames.length, 17);
    assert.deepEqual(Object.keys(registry).sort(), [...questionTypeNames].sort());
  });

  for (const type of questionTypeNames) {
    const question = questions[type];

    it(`${type} stores a valid answer and gives it back as it was`, () => {
      fc.assert(
        fc.property(valid[type](question), (values) => {
          const answers = values.map((value) => ({ questionId: question.id, ...value }));
          const checked = check(answers);
          assert.ok(checked.ok, JSON.stringify(checked));
          assert.ok(checked.row.codes.every((code) => Number.isInteger(code) && code >= 0 && code <= 65_535));
          assert.deepEqual(readAnswers(compiled, JSON.parse(JSON.stringify(checked.row))).sort(byText), [...answers].sort(byText));
        }),
        { numRuns: 50 },
      );
    });

    it(`${type} refuses values of another kind, strays and unknown fields`, () => {
      const refused = (value: object, field: string) => {
        const checked = check([{ questionId: question.id, ...value }]);
        assert.ok(!checked.ok, `${JSON.stringify(value)} was taken`);
        assert.ok(checked.findings.some(({ path }) => path === field || path.startsWith(`${field}.`)), JSON.stringify(checked.findings));
      };
      refused({}, 'answers.0');
      refused({ textValue: 'a', numberValue: 1 }, 'answers.0');
      refused({ optionId: nextId() }, 'answers.0.optionId');
      refused({ numberValue: 1e9 }, 'answers.0');
      refused({ numberValue: Number.POSITIVE_INFINITY }, 'answers.0.numberValue');
      refused({ numberValue: 2 ** 53 }, 'answers.0.numberValue');
      refused({ textValue: 'bad \ud800 text' }, 'answers.0.textValue');
      refused({ textValue: 'bad \0 text' }, 'answers.0.textValue');
      refused({ textValue: 'x', colour: 1 }, 'answers.0.colour');
    });

    it(`${type} counts nothing as nothing and shows every possible value`, () => {
      const entry = registry[type];
      const plan = entry.countPlan(question);
      const statistic = entry.statistic(question, plan.requests.map(emptyResult), 0);
      assert.ok(plan.base.length > 0);
      for (const value of Object.values(statistic.distribution)) assert.ok(typeof value === 'number' ? value === 0 : Object.values(value).every((count) => count === 0));
      assert.equal(statistic.averageValue, null);
      if (entry.optionSource !== 'none') assert.ok(Object.keys(statistic.distribution).length > 0);
    });

    it(`${type} keeps its positions when the question is read again`, () => {
      const before = JSON.stringify(question.slots);
      const again = withQuestion({ ...survey, questions: [] }, { type, text: 'again', ...(question.options.length > 0 && { options: question.options.map(({ text }) => ({ text })) }), settings: question.rows.length > 0 ? { rows: [{ text: 'r' }] } : {} });
      assert.equal(JSON.stringify(question.slots), before);
      const taken = new Set(Object.values(question.slots.codes));
      for (const slot of Object.values(again.question.slots.codes)) assert.ok(!taken.has(slot));
    });
  }

  function emptyResult(request: { kind: CountResult['kind'] }): CountResult {
    if (request.kind === 'codes') return { kind: 'codes', counts: new Map() };
    if (request.kind === 'bits') return { kind: 'bits', counts: [] };
    if (request.kind === 'text') return { kind: 'text', counts: [] };
    return { kind: 'number', moments: { count: 0, average: null, median: null, standardDeviation: null, min: null, max: null, bins: [] } };
  }
});

describe('answers in particular', () => {
  const one = (body: Parameters<typeof withQuestion>[1]) => {
    const added = withQuestion(blankSurvey(), body);
    const own = compileSurvey(added.survey);
    return { question: added.question, check: (values: Values) => checkAnswers(own, values.map((value) => ({ questionId: added.question.id, ...value })), { isComplete: true, uploads: new Map() }), read: own };
  };
  const codes = (counts: Record<number, number>): CountResult => ({ kind: 'codes', counts: new Map(Object.entries(counts).map(([code, count]) => [Number(code), count])) });

  it('reads a decimal scale as it is written and refuses what lies between its points', () => {
    const scale = one({ type: 'SLIDER', text: 's', settings: { min: 0, max: 1, step: 0.1 } });
    const checked = scale.check([{ numberValue: 0.3 }]);
    assert.ok(checked.ok);
    assert.deepEqual(readAnswers(scale.read, checked.row), [{ questionId: scale.question.id, numberValue: 0.3 }]);
    assert.ok(scale.check([{ numberValue: 0.1 + 0.2 }]).ok);
    assert.ok(!scale.check([{ numberValue: 0.35 }]).ok);
  });

  it('keeps the number itself where a scale has very many points', () => {
    const scale = one({ type: 'SLIDER', text: 's', settings: { min: 0, max: 1_000_000, step: 0.5 } });
    const checked = scale.check([{ numberValue: 999_999.5 }]);
    assert.ok(checked.ok);
    assert.deepEqual(readAnswers(scale.read, checked.row), [{ questionId: scale.question.id, numberValue: 999_999.5 }]);
  });

  it('holds selections between their bounds and counts an option once', () => {
    const { question, check: take } = one({ type: 'CHECKBOXES', text: 'c', options: [{ text: 'a' }, { text: 'b' }, { text: 'c' }], settings: { minSelections: 2, maxSelections: 2 } });
    const pick = (...indexes: number[]) => take(indexes.map((index) => ({ optionId: question.options[index]?.id ?? '' })));
    assert.ok(pick(0, 2).ok);
    assert.ok(!pick(0).ok);
    assert.ok(!pick(0, 1, 2).ok);
    assert.ok(!pick(1, 1).ok);
  });

  it('stores more checkboxes than one word of bits holds', () => {
    const many = one({ type: 'CHECKBOXES', text: 'c', options: Array.from({ length: 40 }, (_, n) => ({ text: `o${n}` })) });
    const values = [0, 15, 16, 31, 32, 39].map((index) => ({ optionId: many.question.options[index]?.id ?? '' }));
    const checked = many.check(values);
    assert.ok(checked.ok);
    assert.deepEqual(readAnswers(many.read, checked.row).map(({ optionId }) => ({ optionId })), values);
  });

  it('takes ranks by number or by order of appearance, without gaps and repeats', () => {
    const rank = one({ type: 'RANKING', text: 'r', options: [{ text: 'a' }, { text: 'b' }, { text: 'c' }], settings: { maxRanked: 2 } });
    const [a = '', b = '', c = ''] = rank.question.options.map(({ id }) => id);
    const ordered = rank.check([{ optionId: b }, { optionId: a }]);
    assert.ok(ordered.ok);
    assert.deepEqual(readAnswers(rank.read, ordered.row).map(({ optionId, rank: place }) => [optionId, place]), [[b, 1], [a, 2]]);
    for (const wrong of [
      [{ optionId: a, rank: 1 }, { optionId: b, rank: 1 }], [{ optionId: a, rank: 1 }, { optionId: b, rank: 3 }], [{ optionId: a, rank: 1 }, { optionId: a, rank: 2 }],
      [{ optionId: a, rank: 1 }, { optionId: b }], [{ optionId: a }, { optionId: b }, { optionId: c }], [{ optionId: a, rank: 0 }], [{ optionId: a, rank: 1.5 }],
    ]) assert.ok(!rank.check(wrong).ok, JSON.stringify(wrong));
  });

  it('takes several columns a row where the matrix allows it', () => {
    const grid = one({ type: 'MATRIX', text: 'm', options: [{ text: 'x' }, { text: 'y' }], settings: { multiple: true, rows: [{ text: 'r' }] } });
    const [x = '', y = ''] = grid.question.options.map(({ id }) => id);
    const rowId = grid.question.rows[0]?.id ?? '';
    assert.ok(grid.check([{ rowId, optionId: x }, { rowId, optionId: y }]).ok);
    assert.ok(!grid.check([{ rowId, optionId: x }, { rowId, optionId: x }]).ok);
    assert.ok(!grid.check([{ optionId: x }]).ok);
  });

  it('matches a pattern against the whole text, in linear time', () => {
    const { check: take } = one({ type: 'SHORT_TEXT', text: 't', settings: { pattern: '[A-Z]{2}\\d+', maxLength: 20_00 } });
    assert.ok(take([{ textValue: 'AB12' }]).ok);
    assert.ok(!take([{ textValue: 'xAB12' }]).ok);
    const slow = one({ type: 'SHORT_TEXT', text: 't', settings: { pattern: '(a+)+$', maxLength: 5000 } });
    const startedAt = performance.now();
    assert.ok(!slow.check([{ textValue: `${'a'.repeat(4000)}!` }]).ok);
    assert.ok(performance.now() - startedAt < 1000);
    assert.throws(() => one({ type: 'SHORT_TEXT', text: 't', settings: { pattern: '(' } }), /RE2/);
  });

  it('knows the calendar, the clock and what an address looks like', () => {
    const takes = (type: QuestionTypeName, text: string) => one({ type, text: 'q' }).check([{ textValue: text }]).ok;
    assert.deepEqual(['2024-02-29', '2023-02-29', '2024-13-01', '24-1-1', '2024-04-31'].map((text) => takes('DATE', text)), [true, false, false, false, false]);
    assert.deepEqual(['00:00', '23:59:59', '24:00', '12:60', '1:00'].map((text) => takes('TIME', text)), [true, true, false, false, false]);
    assert.deepEqual(['a@b.co', 'zoë@exämple.org', 'a@b', 'a b@c.de', '@c.de', 'a@c.de,b@c.de', `${'a'.repeat(65)}@c.de`].map((text) => takes('EMAIL', text)), [true, true, false, false, false, false, false]);
  });

  it('computes the net promoter score from its groups', () => {
    const { question } = one({ type: 'NPS', text: 'n' });
    const statistic = registry.NPS.statistic(question, [codes({ 11: 50, 10: 10, 9: 10, 8: 10, 1: 20 })], 100);
    assert.deepEqual(statistic.nps, { promoters: 60, passives: 20, detractors: 20, score: 40 });
    assert.deepEqual(statistic.topBox, { count: 50, percent: 50 });
    assert.equal(statistic.distribution['10'], 50);
  });

  it('computes mean, median and sample deviation from exact counts', () => {
    const { question } = one({ type: 'RATING_SCALE', text: 'r' });
    const statistic = registry.RATING_SCALE.statistic(question, [codes({ 1: 1, 2: 2, 4: 1 })], 4);
    assert.equal(statistic.averageValue, 2.25);
    assert.equal(statistic.medianValue, 2);
    assert.ok(Math.abs((statistic.standardDeviation ?? 0) - 1.2583057392117916) < 1e-15);
    assert.deepEqual([statistic.minValue, statistic.maxValue], [1, 4]);
    assert.equal(registry.RATING_SCALE.statistic(question, [codes({ 3: 1 })], 1).standardDeviation, null);
  });

  it('puts a long scale into twenty equal bins, the last one closed', () => {
    const { question } = one({ type: 'SLIDER', text: 's' });
    const { distribution } = registry.SLIDER.statistic(question, [codes({ 1: 1, 5: 1, 6: 1, 96: 1, 101: 1 })], 5);
    assert.equal(Object.keys(distribution).length, 20);
    assert.deepEqual([distribution['0–5'], distribution['5–10'], distribution['95–100']], [2, 1, 2]);
  });

  it('judges required questions on the merged response', () => {
    let own: SurveyWithQuestions = blankSurvey();
    const first = withQuestion(own, { type: 'NPS', text: 'first', isRequired: true });
    const second = withQuestion(first.survey, { type: 'NUMBER', text: 'second', isRequired: true });
    own = second.survey;
    const ready = compileSurvey(own);
    const uploadsNone = new Map();
    const part = checkAnswers(ready, [{ questionId: first.question.id, numberValue: 3 }], { isComplete: false, uploads: uploadsNone });
    assert.ok(part.ok);
    assert.ok(!checkAnswers(ready, [], { isComplete: true, uploads: uploadsNone }).ok);
    assert.ok(!checkAnswers(ready, [], { isComplete: true, uploads: uploadsNone, previous: part.row }).ok);
    const whole = checkAnswers(ready, [{ questionId: second.question.id, numberValue: 7 }], { isComplete: true, uploads: uploadsNone, previous: part.row });
    assert.ok(whole.ok);
    assert.equal(readAnswers(ready, whole.row).length, 2);
  });

  it('is not confused by prototype names, odd shapes and thousands of entries', () => {
    for (const odd of [null, 'x', 5, {}, [null], [[]], ['x'], [{ questionId: '__proto__', textValue: 'x' }], [{ questionId: 'constructor', numberValue: 1 }], JSON.parse('[{"__proto__":{"a":1},"questionId":"x","textValue":"y"}]')])
      assert.ok(!check(odd).ok, JSON.stringify(odd));
    assert.equal(({} as { a?: number }).a, undefined);
    const many = check(Array.from({ length: 10_000 }, () => ({ questionId: 'nobody', textValue: 'x' })));
    assert.ok(!many.ok && many.findings.length < 100);
  });
});
