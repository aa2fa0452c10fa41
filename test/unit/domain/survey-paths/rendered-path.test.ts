import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderedPath } from '../../../../src/domain/survey-paths/rendered-path.ts';
import { labels, surveyOf, walkIn } from '../../../support/path-surveys.ts';

describe('a path with its texts rendered', () => {
  it('gives way after each question, option and row', () => {
    const grid = { type: 'MATRIX', options: labels, settings: { rows: labels } } as const;
    const { survey } = surveyOf([...Array(10).fill({ type: 'SHORT_TEXT' }), grid]);
    const slices = [...renderedPath(survey, walkIn(survey, []), { survey, language: 'en' })];
    assert.equal(slices.length, 11 + 6);
  });
});
