import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changeQuestion } from '../../../../src/domain/questions/question-definition.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';

type Body = Parameters<typeof withQuestion>[1];

describe('a question of another type', () => {
  const settingsAfter = (before: Omit<Body, 'text'>, change: Parameters<typeof changeQuestion>[1]) => {
    const { question } = withQuestion(blankSurvey(), { text: 'q', ...before });
    const changed = changeQuestion(question, change, { hasAnswers: false, newId: nextId });
    assert.ok('question' in changed, JSON.stringify(changed));
    return changed.question.settings;
  };
  const options = [{ text: 'a' }, { text: 'b' }];

  it('keeps the settings that both types have, but for defaults', () => {
    const chosen = { allowOther: true, shuffleOptions: true };
    assert.deepEqual(
      settingsAfter({ type: 'MULTIPLE_CHOICE', options, settings: chosen }, { type: 'DROPDOWN' }),
      chosen,
    );
    const short = settingsAfter({ type: 'SHORT_TEXT', settings: { maxLength: 20 } }, { type: 'LONG_TEXT' });
    assert.equal(short['maxLength'], 20);
    const byDefault = settingsAfter({ type: 'SHORT_TEXT' }, { type: 'LONG_TEXT' });
    assert.deepEqual(byDefault, settingsAfter({ type: 'LONG_TEXT' }, { text: 'again' }));
    assert.deepEqual(
      settingsAfter(
        { type: 'CHECKBOXES', options, settings: { maxSelections: 1, shuffleOptions: true } },
        { type: 'DROPDOWN' },
      ),
      { allowOther: false, shuffleOptions: true },
    );
  });

  it('takes null for the default of a setting', () => {
    const before = { type: 'SHORT_TEXT' as const, settings: { maxLength: 20 } };
    const after = settingsAfter(before, { type: 'LONG_TEXT', settings: { pattern: null, maxLength: null } });
    assert.deepEqual(after, settingsAfter({ type: 'LONG_TEXT' }, { text: 'again' }));
  });

  it('is never refused for the settings that it had', () => {
    const numbers = { type: 'NUMBER' as const, settings: { min: 18 } };
    const slider = (settings: Body['settings']) => ({ type: 'SLIDER' as const, settings });
    const byDefault = { min: 1, max: 5, step: 1 };
    assert.deepEqual(settingsAfter(numbers, { type: 'RATING_SCALE' }), byDefault);
    assert.deepEqual(settingsAfter(slider({ min: 20 }), { type: 'RATING_SCALE', settings: { max: 10 } }), {
      ...byDefault,
      max: 10,
    });
    const pattern = '[a-z]+( [a-z]+){0,30}';
    const short = { type: 'SHORT_TEXT' as const, settings: { pattern } };
    assert.deepEqual(settingsAfter(short, { type: 'LONG_TEXT' }), { maxLength: 10_000 });
    assert.deepEqual(settingsAfter(short, { type: 'LONG_TEXT', settings: { maxLength: 50 } }), {
      maxLength: 50,
      pattern,
    });
  });

  it('has a scale of its own after a number, and the whole one after another scale', () => {
    const scale = { min: 0, max: 100, step: 10 };
    for (const before of [
      { type: 'SLIDER' as const, settings: { step: 10 } },
      { type: 'SLIDER' as const, settings: scale },
    ])
      assert.deepEqual(settingsAfter(before, { type: 'RATING_SCALE' }), scale);
    for (const type of ['RATING_SCALE', 'SLIDER'] as const) {
      const settings = { min: 0, max: 100_000, integer: true };
      const after = settingsAfter({ type: 'NUMBER', settings }, { type });
      assert.deepEqual(after, settingsAfter({ type: 'YES_NO' }, { type }));
      assert.deepEqual(settingsAfter({ type, settings: scale }, { type: 'NUMBER' }), { integer: false });
    }
  });
});
