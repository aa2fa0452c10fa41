import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { importSurvey } from '../../../../src/domain/imported-survey.ts';
import { checkAnswersInSlices, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { assertQuick, longestTurnMs, processorMs } from '../../../support/event-loop-hold.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';
import { one } from './one-question.ts';

describe('a pattern never holds the event loop for more than 20 ms of a machine at rest', () => {
  for (const [name, pattern] of [
    ['of many repeats side by side', '(a|bc|d|ef){1000}'.repeat(28)],
    ['of repeats within repeats', '((((a{1,9}){1,9}){1,9}){1,9}|b){0,9}'.repeat(13)],
    ['of many Unicode classes', `(?i)${'[\\p{L}\\p{N}]|'.repeat(35)}`],
    ['of as many Unicode classes as are taken', `(?i)${'[^\\p{L}\\p{N}]{9}'.repeat(3)}`],
    ['of wide ranges without case', `(?i)${'[!-\\x{ffff}]'.repeat(40)}`],
    ['that is as large as is taken', `(?i)${'[!-\\x{ffff}]'.repeat(3)}{700}${'a?'.repeat(100)}`],
  ] as const)
    it(`while a question is defined: ${name}`, () =>
      assertQuick(() =>
        processorMs(() => {
          try {
            one({ type: 'SHORT_TEXT', text: 't', settings: { pattern } });
          } catch {
            // Whether it is refused is not what is tested here.
          }
        }),
      ));

  it('while a text is compared with it', async () => {
    const { check } = one({ type: 'SHORT_TEXT', text: 't', settings: { pattern: '(.*a.{0,70}b)*', maxLength: 3000 } });
    const textValue = Array.from({ length: 3000 }, (_, n) => ((n * n + (n >> 3)) % 7 < 3 ? 'a' : 'b')).join('');
    await assertQuick(() => processorMs(() => check([{ textValue }])));
  });

  it('while hundreds of texts are compared with theirs', async () => {
    let survey = blankSurvey();
    for (let n = 0; n < 60; n += 1)
      survey = withQuestion(survey, {
        type: 'SHORT_TEXT',
        text: 't',
        settings: { pattern: `(.*[a${n % 10}].{0,70}b)*|${n}`, maxLength: 1000 },
      }).survey;
    const compiled = compileSurvey(survey);
    assert.ok(compiled.isSlowToCheck);
    const answers = survey.questions.map(({ id }, at) => ({
      questionId: id,
      textValue: Array.from({ length: 1000 }, (_, n) => ((n * n + (n >> 3) + at) % 7 < 3 ? 'a' : 'b')).join(''),
    }));
    await assertQuick(() =>
      longestTurnMs(() => checkAnswersInSlices(compiled, answers, { isComplete: true, uploads: new Map() }, nextTurn)),
    );
  });

  it('while a survey with 500 of them is imported', async () => {
    const small = (n: number) => `[${String(n).padStart(4, '0')}${'abcdefghijklmnopqrst'.repeat(19)}]`;
    const large = (n: number) => `(?i)[!-\\x{ffff}]{${100 + n}}`;
    for (const [patternOf, isTaken] of [
      [small, true],
      [large, false],
    ] as const) {
      const questions = Array.from({ length: 500 }, (_, n) => ({
        type: 'SHORT_TEXT' as const,
        text: 't',
        settings: { pattern: patternOf(n) },
      }));
      const imported = () =>
        importSurvey(blankSurvey(), { sections: [], questions }, { newId: nextId, pause: nextTurn });
      await assertQuick(() =>
        longestTurnMs(async () =>
          assert.equal(
            await imported().then(
              () => true,
              () => false,
            ),
            isTaken,
          ),
        ),
      );
    }
  });
});
