import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changeQuestion, defineQuestion, describeQuestion } from '../../../src/domain/question-definition.ts';
import { allocateSlots } from '../../../src/domain/slots.ts';
import type { Question } from '../../../src/domain/survey.ts';
import { nextId } from '../../support/questions.ts';

const place = () => ({ id: nextId(), surveyId: nextId(), order: 0, newId: nextId });

function define(input: Parameters<typeof defineQuestion>[0]): Question {
  const defined = defineQuestion(input, place());
  assert.ok('question' in defined, JSON.stringify(defined));
  return defined.question;
}

function findings(input: Parameters<typeof defineQuestion>[0]): string[] {
  const defined = defineQuestion(input, place());
  return 'findings' in defined ? defined.findings.map(({ path }) => path) : [];
}

const change = (question: Question, input: Parameters<typeof changeQuestion>[1], hasAnswers = true) => changeQuestion(question, input, { hasAnswers, newId: nextId });

describe('defining a question', () => {
  it('makes values from the wording in every script, each once', () => {
    const { options } = define({ type: 'MULTIPLE_CHOICE', text: 'q', options: [{ text: 'Très bien !' }, { text: '很好' }, { text: 'جيد جدا' }, { text: 'très BIEN' }, { text: '???' }] });
    assert.deepEqual(options.map(({ value }) => value), ['très-bien', '很好', 'جيد-جدا', 'très-bien-2', 'option']);
    assert.deepEqual(options.map(({ code }) => code), [1, 2, 3, 4, 5]);
  });

  it('gives scales of agreement and yes/no their own options', () => {
    assert.deepEqual(define({ type: 'LIKERT_SCALE', text: 'q' }).options.map(({ text }) => text), ['Strongly disagree', 'Disagree', 'Neutral', 'Agree', 'Strongly agree']);
    assert.deepEqual(define({ type: 'YES_NO', text: 'q' }).options.map(({ value }) => value), ['yes', 'no']);
    assert.deepEqual(define({ type: 'YES_NO', text: 'q', options: [{ text: 'Oui', value: 'yes' }, { text: 'Non', value: 'no' }] }).options.map(({ text, value }) => [text, value]), [['Oui', 'yes'], ['Non', 'no']]);
  });

  it('says what is missing, wrong or not known', () => {
    assert.deepEqual(findings({ type: 'CHECKBOXES', text: 'q' }), ['options']);
    assert.deepEqual(findings({ type: 'NPS', text: 'q', options: [{ text: 'x' }] }), ['options']);
    assert.deepEqual(findings({ type: 'YES_NO', text: 'q', options: [{ text: 'Perhaps' }] }), ['options']);
    assert.deepEqual(findings({ type: 'MATRIX', text: 'q', options: [{ text: 'x' }] }), ['settings.rows']);
    assert.deepEqual(findings({ type: 'RATING_SCALE', text: 'q', settings: { min: 5, max: 1 } }), ['settings.max', 'settings.step']);
    assert.deepEqual(findings({ type: 'NUMBER', text: 'q', settings: { colour: 1 } }), ['settings.colour']);
    assert.deepEqual(findings({ type: 'DROPDOWN', text: 'q', options: [{ text: 'a', value: 'x' }, { text: 'b', value: 'x' }] }), ['options.1.value']);
    assert.deepEqual(findings({ type: 'DROPDOWN', text: 'q', options: [{ text: 'a', value: '__other__' }] }), ['options.0.value']);
  });

  it('shows a question without what is internal', () => {
    const shown = describeQuestion(define({ type: 'MATRIX', text: 'q', options: [{ text: 'Good' }], settings: { rows: [{ text: 'Food' }] } }));
    assert.deepEqual(Object.keys(shown.options[0] ?? {}), ['id', 'text', 'value']);
    assert.deepEqual(shown.settings, { multiple: false, rows: [{ id: shown.settings.rows?.[0]?.id, text: 'Food', value: 'food' }] });
    assert.ok(!('slots' in shown));
  });
});

describe('changing a question that has answers', () => {
  const question = define({ type: 'MULTIPLE_CHOICE', text: 'q', options: [{ text: 'A' }, { text: 'B' }] });
  const [a, b] = question.options;
  assert.ok(a && b);

  it('lets wording, order of options and new options pass', () => {
    const changed = change(question, { text: 'new', options: [{ id: b.id, text: 'Bee' }, { text: 'C' }, { id: a.id, text: 'A' }] });
    assert.ok('question' in changed);
    assert.deepEqual(changed.question.options.map(({ text, value, code }) => [text, value, code]), [['Bee', 'b', 2], ['C', 'c', 3], ['A', 'a', 1]]);
  });

  it('hides what is left out and never gives its code to another', () => {
    const without = change(question, { options: [{ id: a.id, text: 'A' }] });
    assert.ok('question' in without);
    assert.deepEqual(without.question.options.map(({ value, isHidden }) => [value, isHidden]), [['a', false], ['b', true]]);
    const later = change(without.question, { options: [{ id: a.id, text: 'A' }, { text: 'New' }] });
    assert.ok('question' in later);
    assert.equal(later.question.options.find(({ value }) => value === 'new')?.code, 3);
  });

  it('refuses another type, another meaning of an option and another scale', () => {
    assert.ok('hasResponses' in change(question, { type: 'NPS' }));
    assert.ok('hasResponses' in change(question, { options: [{ id: a.id, text: 'A', value: 'z' }, { id: b.id, text: 'B' }] }));
    const scale = define({ type: 'RATING_SCALE', text: 'q' });
    assert.ok('hasResponses' in change(scale, { settings: { max: 10 } }));
    assert.ok('question' in change(scale, { text: 'other words' }));
    const number = define({ type: 'NUMBER', text: 'q' });
    assert.ok('question' in change(number, { settings: { max: 10 } }));
  });

  it('gives fresh positions when the meaning changes before there are answers', () => {
    const counts = { codes: 0, numbers: 0, texts: 0 };
    const first = allocateSlots(question, counts);
    const retyped = change({ ...question, slots: first.slots }, { type: 'NPS' }, false);
    assert.ok('question' in retyped);
    const second = allocateSlots(retyped.question, first.counts);
    assert.deepEqual([Object.values(first.slots.codes), Object.values(second.slots.codes)], [[0], [1]]);
  });
});
