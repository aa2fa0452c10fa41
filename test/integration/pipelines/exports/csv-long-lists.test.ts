import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { layoutOf } from '../../../../src/pipelines/exports/columns.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import { givenStart } from '../../../support/response-database.ts';
import { useCsvLines } from '../../../support/use-csv-lines.ts';

describe('CSV lines of the longest questions', () => {
  const { store, fileOf, expected } = useCsvLines(() => undefined);

  it('show the longest options of the largest MATRIX', async () => {
    const list = (count: number, letter: string, length: number) =>
      Array.from({ length: count }, (_, n) => ({ text: `${n} `.padEnd(length, letter), value: `${letter}${n}` }));
    const { survey } = withQuestion(blankSurvey(), {
      type: 'MATRIX',
      text: 'Which?',
      options: list(200, 'я', 500),
      settings: { rows: list(200, 'r', 20) },
    });
    const { codes: codeColumns } = survey.slotCounts;
    const given = Array.from({ length: 5 }, (_, n) => ({
      surveyId: survey.id,
      submittedAtMs: givenStart + n,
      codes: Array.from({ length: codeColumns }, (__, slot) => (slot + n * 40) % 201),
    }));
    await store(given);
    for (const missing of [undefined, 'labelled'] as const) {
      const layout = layoutOf(survey, { labels: 'text', missing });
      const { lines, counted } = await fileOf(survey.id, layout, codeColumns);
      assert.equal(counted, given.length);
      assert.ok(lines === (await expected(survey.id, layout, codeColumns)), 'the lines of records are others');
    }
  });

  it('show the points of dozens of the longest scales', async () => {
    let survey = blankSurvey();
    for (let n = 0; n < 36; n += 1) {
      const settings = n % 2 === 0 ? { min: n, max: n + 9999, step: 1 } : { min: 0, max: 99.99, step: 0.01 };
      ({ survey } = withQuestion(survey, { type: 'SLIDER', text: `How much, ${n}?`, settings }));
    }
    const { codes: codeColumns } = survey.slotCounts;
    const given = Array.from({ length: 2000 }, (_, n) => ({
      surveyId: survey.id,
      submittedAtMs: givenStart + n,
      codes: Array.from({ length: codeColumns }, (__, slot) => (n * 7919 + slot * 271) % 10_001),
    }));
    await store(given);
    const layout = layoutOf(survey, { labels: 'text' });
    const { lines, counted } = await fileOf(survey.id, layout, codeColumns);
    assert.equal(counted, given.length);
    assert.ok(lines === (await expected(survey.id, layout, codeColumns)), 'the lines of records are others');
  });

  it('tell in each column of the longest rankings whether they were asked', async () => {
    let survey = blankSurvey();
    for (let n = 0; n < 5; n += 1) {
      const options = Array.from({ length: 200 }, (_, item) => ({ text: `Item ${item}` }));
      ({ survey } = withQuestion(survey, { type: 'RANKING', text: `In which order, ${n}?`, options }));
    }
    survey = { ...survey, questions: survey.questions.map((question) => ({ ...question, firstVersion: 2 })) };
    const { codes: codeColumns } = survey.slotCounts;
    const given = Array.from({ length: 10 }, (_, n) => ({
      surveyId: survey.id,
      surveyVersion: 1 + (n % 2),
      submittedAtMs: givenStart + n,
      codes: Array.from({ length: codeColumns }, (__, slot) => (slot % 1000 < n * 100 ? 1 + (slot % 200) : 0)),
    }));
    await store(given, { codeColumns });
    const layout = layoutOf(survey, { labels: 'text', missing: 'labelled' });
    const { lines, counted } = await fileOf(survey.id, layout, codeColumns);
    assert.equal(counted, given.length);
    assert.ok(lines.includes('(not asked)'));
    assert.ok(lines === (await expected(survey.id, layout, codeColumns)), 'the lines of records are others');
  });
});
