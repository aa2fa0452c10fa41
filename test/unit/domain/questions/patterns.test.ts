import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { matchesPattern, measurePattern, patternProblem } from '../../../../src/domain/questions/patterns.ts';
import { checkStepsIssue, totalSteps } from '../../../../src/domain/submission/answers.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import { one } from './one-question.ts';

const pieces = [
  ...[
    'a',
    'b',
    'é',
    '😀',
    '.',
    '^',
    '$',
    '|',
    '(',
    ')',
    '(?:',
    '(?i)',
    '(?P<n>',
    '[',
    ']',
    '[^a]',
    '[]a]',
    '[[:alpha:]-]',
  ],
  ...[
    '\\d',
    '\\pL',
    '\\p{Greek}',
    '\\x{10FFFF}',
    '\\Q.*\\E',
    '\\Q{9}',
    '\\b',
    '\\101',
    '\\[',
    '\\\\',
    '{',
    '}',
    '{,3}',
  ],
  ...['*', '+', '?', '*?', '{0}', '{1}', '{7}', '{0,9}', '{2,}', '{3,30}', '{20}?'],
];
const valid = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''));

function sizeOf(pattern: string): number | undefined {
  try {
    return RE2JS.compile(pattern).programSize();
  } catch {
    return undefined;
  }
}

describe('patterns of texts', () => {
  it('are never larger than their text was measured', () => {
    fc.assert(
      fc.property(valid, (pattern) => {
        const size = sizeOf(pattern);
        assert.ok(size === undefined || size <= measurePattern(pattern).instructions, `${pattern}: ${size}`);
      }),
      { numRuns: 20_000 },
    );
  });

  it('have few ranges past ASCII where case is ignored', () => {
    assert.equal(patternProblem('(?i)[!-\\x{ffff}]{3}[!-\\x{fffe}][!-\\x{fffd}]'), undefined);
    assert.equal(patternProblem('[!-\\x{ffff}]'.repeat(9)), undefined);
    assert.equal(patternProblem(`(?i)${'[!-\\x{ffff}]'.repeat(4)}`), 'must have at most 6 Unicode classes');
  });

  it('are measured closely, so that ordinary ones are taken', () => {
    for (const pattern of [
      '[A-Z]{2}\\d{4}',
      '[^@\\s]+@[^@\\s]+\\.[a-z]{2,10}',
      '(?:\\+\\d{1,3} )?[\\d -]{5,20}',
      '.{1,500}',
    ]) {
      assert.ok(measurePattern(pattern).instructions <= (sizeOf(pattern) ?? 0) * 1.2 + 3, pattern);
      assert.equal(patternProblem(pattern), undefined);
    }
  });

  it('match no text that is longer than their longest match', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^([ab]|[ab][{][0-3][}]|[(]a[|]bb[)]|a[?])*$/, { maxLength: 12 }), (pattern) => {
        const { longestMatch } = measurePattern(pattern);
        const longer = ['a', 'b'].map((text) => text.repeat(longestMatch + 1));
        for (const text of longer) assert.ok(sizeOf(pattern) === undefined || !RE2JS.compile(pattern).matches(text));
      }),
    );
    assert.ok(matchesPattern('(a|bb){2}', 'abb'));
    assert.ok(!matchesPattern('a{3}', 'aaaa'));
  });

  it('are refused where they are too large for the longest text, with the length that fits', () => {
    const settings = { pattern: `${'(.*a)'.repeat(50)}.*` };
    assert.throws(() => one({ type: 'LONG_TEXT', text: 't', settings }), /set maxLength to at most \d+/);
    assert.ok(one({ type: 'LONG_TEXT', text: 't', settings: { ...settings, maxLength: 1000 } }).question);
  });

  it('are refused where all of a survey would take too long', () => {
    let survey = blankSurvey();
    const add = (pattern: string) =>
      (survey = withQuestion(survey, { type: 'SHORT_TEXT', text: 't', settings: { pattern } }).survey);
    for (let n = 0; n < 100; n += 1) add('[^@\\s]+@[^@\\s]+\\.[a-z]{2,10}');
    assert.equal(checkStepsIssue(totalSteps(survey.questions)), undefined);
    for (let n = 0; n < 100; n += 1) add(`${'(.*a)'.repeat(90)}.*`);
    assert.match(checkStepsIssue(totalSteps(survey.questions))?.message ?? '', /too large together/);
  });
});
