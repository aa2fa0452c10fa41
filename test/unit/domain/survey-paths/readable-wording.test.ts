import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withReadableWording } from '../../../../src/domain/survey-paths/readable-wording.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

describe('the wording of a survey for those who read answers', () => {
  it('has what stands in for a missing value, but keeps options apart that would read alike', () => {
    const options = ['{{question:a|Soup}}', '{{question:b}}', '{{question:c}}', 'Neither'].map((text) => ({ text }));
    const { survey } = withQuestion(blankSurvey(), {
      type: 'MULTIPLE_CHOICE',
      text: 'Rather {{question:a|that}}?',
      options,
    });
    const [question] = withReadableWording({ ...survey, title: 'For {{metadata:guest|you}}' }).questions;
    assert.deepEqual(
      [question?.text, question?.options.map(({ text }) => text)],
      ['Rather that?', ['Soup', '{{question:b}}', '{{question:c}}', 'Neither']],
    );
    assert.equal(withReadableWording({ ...survey, title: 'For {{metadata:guest|you}}' }).title, 'For you');
  });
});
