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
});
