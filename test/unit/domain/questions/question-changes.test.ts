import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import { allocateSlots } from '../../../../src/domain/questions/slot-allocation.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import { define, nextId } from '../../../support/questions.ts';

const change = (question: Question, input: Parameters<typeof changeQuestion>[1], hasAnswers = true) =>
  changeQuestion(question, input, { hasAnswers, newId: nextId });

describe('changing a question that has answers', () => {
  const question = define({ type: 'MULTIPLE_CHOICE', text: 'q', options: [{ text: 'A' }, { text: 'B' }] });
  const [a, b] = question.options;
  assert.ok(a && b);

  it('allows changes of wording and order, and new options', () => {
    const changed = change(question, {
      text: 'new',
      options: [{ id: b.id, text: 'Bee' }, { text: 'C' }, { id: a.id, text: 'A' }],
    });
    assert.ok('question' in changed);
    assert.deepEqual(
      changed.question.options.map(({ text, value, code }) => [text, value, code]),
      [
        ['Bee', 'b', 2],
        ['C', 'c', 3],
        ['A', 'a', 1],
      ],
    );
  });

  it('hides omitted options and never reuses their codes', () => {
    const without = change(question, { options: [{ id: a.id, text: 'A' }] });
    assert.ok('question' in without);
    assert.deepEqual(
      without.question.options.map(({ value, isHidden }) => [value, isHidden]),
      [
        ['a', false],
        ['b', true],
      ],
    );
    const later = change(without.question, { options: [{ id: a.id, text: 'A' }, { text: 'New' }] });
    assert.ok('question' in later);
    assert.equal(later.question.options.find(({ value }) => value === 'new')?.code, 3);
  });

  it('refuses another type, another meaning of an option and another scale', () => {
    assert.ok('hasResponses' in change(question, { type: 'NPS' }));
    assert.ok(
      'hasResponses' in
        change(question, {
          options: [
            { id: a.id, text: 'A', value: 'z' },
            { id: b.id, text: 'B' },
          ],
        }),
    );
    const scale = define({ type: 'RATING_SCALE', text: 'q' });
    assert.ok('hasResponses' in change(scale, { settings: { max: 10 } }));
    assert.ok('question' in change(scale, { text: 'other words' }));
    const number = define({ type: 'NUMBER', text: 'q' });
    assert.ok('question' in change(number, { settings: { max: 10 } }));
  });

  it('changes nothing when the same list is sent again, with or without ids', () => {
    const twins = define({
      type: 'DROPDOWN',
      text: 'q',
      options: [{ text: 'A' }, { text: 'A' }, { text: 'B', value: 'bee' }],
    });
    const sent = twins.options.map(({ id, text, value }) => ({ id, text, value }));
    for (const options of [
      sent,
      sent.map(({ id, text }) => ({ id, text })),
      sent.map(({ text, value }) => ({ text, value })),
      [{ text: 'A' }, { text: 'A' }, { text: 'B', value: 'bee' }],
    ]) {
      const again = change(twins, { options });
      assert.ok('question' in again);
      assert.deepEqual(again.question, twins);
    }
  });

  it('does not give a new option the place of one that is named by its id', () => {
    const changed = change(question, {
      options: [{ text: 'A' }, { id: a.id, text: 'Apple' }, { id: b.id, text: 'B' }],
    });
    assert.ok('question' in changed);
    assert.deepEqual(
      changed.question.options.map(({ text, value, code }) => [text, value, code]),
      [
        ['A', 'a-2', 3],
        ['Apple', 'a', 1],
        ['B', 'b', 2],
      ],
    );
  });

  it('shows a hidden option again when its value returns', () => {
    const without = change(question, { options: [{ id: a.id, text: 'A' }] });
    assert.ok('question' in without);
    const back = change(without.question, { options: [{ text: 'B' }, { text: 'A' }] });
    assert.ok('question' in back);
    assert.deepEqual(back.question.options, [b, a]);
  });

  it('reports options that are unknown or named twice', () => {
    const pathsOf = (options: { id?: string; text: string; value?: string }[]) => {
      const changed = change(question, { options });
      return 'issues' in changed ? changed.issues.map(({ path }) => path) : [];
    };
    assert.deepEqual(pathsOf([{ id: nextId(), text: 'x' }]), ['options.0.id']);
    assert.deepEqual(
      pathsOf([
        { id: a.id, text: 'x' },
        { id: a.id, text: 'y', value: 'z' },
      ]),
      ['options.1.id'],
    );
    assert.deepEqual(
      pathsOf([
        { text: 'x', value: 'v' },
        { text: 'y', value: 'v' },
      ]),
      ['options.1.value'],
    );
  });

  it('keeps omitted settings, and restores a default for null', () => {
    const number = define({ type: 'NUMBER', text: 'q', settings: { min: 1, max: 10, integer: true } });
    const changed = change(number, { settings: { max: null, integer: null } });
    assert.ok('question' in changed);
    assert.deepEqual(changed.question.settings, { min: 1, integer: false });
    assert.ok(
      'hasResponses' in
        change(define({ type: 'SLIDER', text: 'q', settings: { max: 10 } }), { settings: { max: null } }),
    );
    assert.ok(
      'issues' in
        change(
          define({
            type: 'CHECKBOXES',
            text: 'q',
            options: [{ text: 'a' }, { text: 'b' }],
            settings: { minSelections: 2 },
          }),
          { options: [{ text: 'a' }] },
        ),
    );
  });

  it('rewords the rows of a grid, hides omitted ones, and keeps all if none are sent', () => {
    const grid = define({
      type: 'MATRIX',
      text: 'q',
      options: [{ text: 'Good' }],
      settings: { rows: [{ text: 'Food' }, { text: 'Service' }] },
    });
    const multiple = change(grid, {
      settings: { rows: [{ text: 'Room' }, { id: grid.rows[0]?.id ?? '', text: 'Meals' }] },
    });
    assert.ok('question' in multiple);
    assert.deepEqual(
      multiple.question.rows.map(({ text, value, code, isHidden }) => [text, value, code, isHidden]),
      [
        ['Room', 'room', 3, false],
        ['Meals', 'food', 1, false],
        ['Service', 'service', 2, true],
      ],
    );
    const worded = change(grid, { text: 'other words', settings: {} });
    assert.ok('question' in worded);
    assert.deepEqual(worded.question.rows, grid.rows);
  });

  it('limits how often options may be replaced by others', () => {
    let current = question;
    let round = 0;
    for (; round < 50; round += 1) {
      const changed = change(current, {
        options: Array.from({ length: 200 }, (_, index) => ({ text: `${round} ${index}` })),
      });
      if (!('question' in changed)) break;
      current = changed.question;
    }
    assert.ok(round > 5 && round < 50);
    assert.ok(current.options.every(({ code }) => code <= 2000));
  });

  it('assigns new positions when the meaning changes before there are answers', () => {
    const counts = { codes: 0, numbers: 0, texts: 0 };
    const first = allocateSlots(question, counts);
    const retyped = change({ ...question, slots: first.slots }, { type: 'NPS' }, false);
    assert.ok('question' in retyped);
    const second = allocateSlots(retyped.question, first.counts);
    assert.deepEqual([Object.values(first.slots.codes), Object.values(second.slots.codes)], [[0], [1]]);
  });

  it('refuses more positions than the survey has left, and says how many are missing', () => {
    const grid = (rows: number) =>
      define({
        type: 'MATRIX',
        text: 'q',
        options: [{ text: 'a' }],
        settings: { rows: Array.from({ length: rows }, (_, n) => ({ text: `row ${n}` })) },
      });
    const counts = (codes: number) => ({ codes, numbers: 0, texts: 0 });
    assert.equal(allocateSlots(grid(100), counts(900)).counts.codes, 1000);
    assert.throws(() => allocateSlots(grid(101), counts(900)), {
      code: 'VALIDATION_ERROR',
      details: [
        {
          path: '',
          message:
            'takes 101 places in the survey’s answers, which has 100 of 1000 left: fewer rows or options, a copy of the survey, in which what was removed takes no places, or a survey of its own',
        },
      ],
    });
  });

  it('accepts a survey with more positions than allowed if no new ones are needed', () => {
    const placed = { ...question, slots: allocateSlots(question, { codes: 0, numbers: 0, texts: 0 }).slots };
    const counts = { codes: 4500, numbers: 0, texts: 0 };
    assert.deepEqual(allocateSlots(placed, counts), { slots: placed.slots, counts });
  });
});
