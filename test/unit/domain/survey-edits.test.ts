import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import {
  addQuestion,
  addSection,
  editQuestion,
  editSection,
  hideQuestion,
  removeSection,
  reorderQuestions,
  reorderSections,
} from '../../../src/domain/survey-edits.ts';
import { Problem } from '../../../src/errors.ts';
import { blankSurvey, nextId } from '../../support/questions.ts';

const free = { isAnswered: false, newId: nextId };

/** A survey as a text: `a b | one: c d | two: e`; ids are texts and titles. */
function surveyOf(text: string): SurveyWithQuestions {
  let survey = blankSurvey();
  const [first = '', ...pages] = text.split('|');
  const add = (names: string, sectionId: string | null) => {
    for (const name of names.trim().split(/\s+/).filter(Boolean))
      survey = addQuestion(survey, { type: 'YES_NO', text: name, sectionId }, { id: name, newId: nextId });
  };
  for (const page of pages) {
    const title = page.split(':')[0]?.trim() ?? '';
    survey = addSection(survey, { title }, title);
  }
  add(first, null);
  for (const page of pages) add(page.split(':')[1] ?? '', page.split(':')[0]?.trim() ?? '');
  return survey;
}

/** The reverse of `surveyOf`; asserts that orders are those of the lists. */
function textOf(survey: SurveyWithQuestions): string {
  const visible = survey.questions.filter(({ isHidden }) => !isHidden);
  const sections = survey.sections ?? [];
  assert.deepEqual(
    visible.map(({ order }) => order),
    visible.map((_, index) => index),
  );
  assert.deepEqual(
    sections.map(({ order }) => order),
    sections.map((_, index) => index),
  );
  const named = (sectionId?: string) =>
    visible.flatMap((question) => (question.sectionId === sectionId ? [question.id] : [])).join(' ');
  const shown = [named(), ...sections.map(({ id }) => `${id}: ${named(id)}`)].join(' | ').trim();
  const inOrder = [undefined, ...sections.map(({ id }) => id)].flatMap((id) =>
    visible.filter(({ sectionId }) => sectionId === id),
  );
  assert.deepEqual(
    visible.map(({ id }) => id),
    inOrder.map(({ id }) => id),
    'questions lie in the order of their sections',
  );
  return shown;
}

const start = 'a b | one: c d | two: e f';
const isInvalid = (path: string) => (error: unknown) =>
  error instanceof Problem &&
  error.code === 'VALIDATION_ERROR' &&
  Array.isArray(error.details) &&
  error.details[0]?.path === path;

describe('questions and sections in order', () => {
  it('a new question goes last in its section, or to the nearest place in it', () => {
    const add = (body: object) =>
      textOf(addQuestion(surveyOf(start), { type: 'YES_NO', text: 'x', ...body }, { id: 'x', newId: nextId }));
    assert.equal(add({}), 'a b x | one: c d | two: e f');
    assert.equal(add({ sectionId: 'one' }), 'a b | one: c d x | two: e f');
    assert.equal(add({ sectionId: 'one', order: 3 }), 'a b | one: c x d | two: e f');
    assert.equal(add({ sectionId: 'two', order: 0 }), 'a b | one: c d | two: x e f');
    assert.equal(add({ order: 5 }), 'a b x | one: c d | two: e f');
    assert.throws(() => add({ sectionId: 'none' }), isInvalid('sectionId'));
  });

  it('a question moves within its section, and to the end of another one', () => {
    const edit = (id: string, body: object) => textOf(editQuestion(surveyOf(start), id, body, free));
    assert.equal(edit('d', { order: 2 }), 'a b | one: d c | two: e f');
    assert.equal(edit('d', { order: 0 }), 'a b | one: d c | two: e f');
    assert.equal(edit('a', { sectionId: 'two' }), 'b | one: c d | two: e f a');
    assert.equal(edit('e', { sectionId: 'one' }), 'a b | one: c d e | two: f');
    assert.equal(edit('e', { sectionId: null, order: 1 }), 'a e b | one: c d | two: f');
    assert.equal(edit('c', { text: 'Other' }), start);
    assert.equal(edit('c', { sectionId: 'one' }), start);
    assert.throws(() => edit('c', { sectionId: 'none' }), isInvalid('sectionId'));
  });

  it('a question of another type keeps its section', () => {
    assert.equal(textOf(editQuestion(surveyOf(start), 'c', { type: 'NPS' }, free)), start);
  });

  it('reordered questions stay in their sections', () => {
    const survey = reorderQuestions(surveyOf(start), ['f', 'e', 'd', 'b', 'c', 'a']);
    assert.equal(textOf(survey), 'b a | one: d c | two: f e');
    assert.throws(() => reorderQuestions(survey, ['a']), isInvalid('questionIds'));
    assert.throws(() => reorderQuestions(survey, ['a', 'a', 'b', 'c', 'd', 'e']), isInvalid('questionIds'));
  });

  it('a section takes its questions along', () => {
    assert.equal(textOf(editSection(surveyOf(start), 'two', { order: 0 })), 'a b | two: e f | one: c d');
    assert.equal(textOf(reorderSections(surveyOf(start), ['two', 'one'])), 'a b | two: e f | one: c d');
    assert.throws(() => reorderSections(surveyOf(start), ['two']), isInvalid('sectionIds'));
    assert.equal(textOf(addSection(surveyOf(start), { order: 1 }, 'new')), 'a b | one: c d | new:  | two: e f');
  });

  it('a deleted section leaves its questions in the one before', () => {
    assert.equal(textOf(removeSection(surveyOf(start), 'two')), 'a b | one: c d e f');
    assert.equal(textOf(removeSection(surveyOf(start), 'one')), 'a b c d | two: e f');
    const none = removeSection(removeSection(surveyOf(start), 'one'), 'two');
    assert.equal(textOf(none), 'a b c d e f');
    assert.equal('sections' in none, false);
    assert.throws(
      () => removeSection(none, 'two'),
      (error) => error instanceof Problem && error.code === 'NOT_FOUND',
    );
  });

  it('a deleted question keeps its positions, and asks nothing of others', () => {
    const survey = surveyOf(start);
    const skips = [{ if: { questionId: 'a', operator: 'answered' as const }, to: 'END' }];
    const deleted = hideQuestion(
      {
        ...survey,
        questions: survey.questions.map((question) =>
          question.id === 'c' ? { ...question, skips, notAsked: { '': 96 } } : question,
        ),
      },
      'c',
    );
    assert.equal(textOf(deleted), 'a b | one: d | two: e f');
    const hidden = deleted.questions.find(({ id }) => id === 'c');
    assert.deepEqual(hidden?.notAsked, { '': 96 });
    assert.equal(hidden?.skips, undefined);
    assert.deepEqual(hidden?.slots, survey.questions[2]?.slots);
  });
});
