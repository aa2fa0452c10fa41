import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { thinkingTokens } from '../../../../src/ai/providers/models.ts';
import { generateSurveyTask } from '../../../../src/ai/tasks/generate-survey.ts';
import { optimiseQuestionTask } from '../../../../src/ai/tasks/optimise-question.ts';
import { translateTask } from '../../../../src/ai/tasks/translate.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import { inBatches } from '../../../../src/domain/translation/untranslated.ts';

/** As a model that is deployed under a name of its own. */
const unknownModel = 'our-deployment';
const smallestLimit = 16_384;

describe('the longest reply that is asked for', () => {
  const assertFits = (maxOutputTokens: number, message: string) =>
    assert.ok(maxOutputTokens + thinkingTokens(unknownModel) <= smallestLimit, `${message}: ${maxOutputTokens}`);

  it('fits a model of 16,384 tokens whose name is unknown: translations of the largest batches', () => {
    for (const length of [1, 120, 121, 150, 2000, 5000]) {
      const strings = Array.from({ length: 60 }, (_, n) => ({
        key: `${n}`,
        text: 'x'.repeat(length),
        maxLength: 5000,
      }));
      for (const batch of inBatches(strings))
        assertFits(translateTask(batch, { title: 'T', from: 'en', to: 'de' }).maxOutputTokens, `${length} characters`);
    }
  });

  it('fits such a model: suggestions on a question of 200 options, and the largest new survey', () => {
    const options = Array.from({ length: 200 }, (_, n) => ({ id: `${n}`, value: `v${n}`, text: `Option ${n}` }));
    const question = { type: 'DROPDOWN', text: 'Which?', description: null, options, rows: [], settings: {} };
    const task = optimiseQuestionTask(question as unknown as Question, { title: 'T', language: 'en' });
    assertFits(task.maxOutputTokens, 'suggestions');
    assertFits(generateSurveyTask('A survey', 30).maxOutputTokens, 'a survey');
  });
});
