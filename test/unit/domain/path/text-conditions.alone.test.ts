import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import type { CellQuota } from '../../../../src/domain/quotas/cell-quota.ts';
import { fittingQuotas } from '../../../../src/domain/quotas/fitting-quotas.ts';
import { acceptableAnswers } from '../../../../src/domain/submission/acceptable-answers.ts';
import {
  type CompiledSurvey,
  checkAnswers,
  checkAnswersInSlices,
  compileSurvey,
} from '../../../../src/domain/submission/answers.ts';
import { respondentWalk } from '../../../../src/domain/survey-paths/rendered-path.ts';
import { runInSlices } from '../../../../src/platform/slices.ts';
import { assertQuick, longestTurnMs } from '../../../support/event-loop-hold.ts';
import { surveyOf } from '../../../support/path-surveys.ts';
import { nextId } from '../../../support/questions.ts';

const quotaOf = (where: Condition, index: number): CellQuota => ({
  id: nextId(),
  code: index + 1,
  name: 'Cell',
  limit: 5,
  where,
  counts: 'COMPLETED',
  whenFull: 'OVER_QUOTA',
  isActive: true,
  version: 1,
});

const fiftyOf = (leaf: (place: number) => Condition): Condition => ({
  any: Array.from({ length: 50 }, (_, place) => leaf(place)),
});

/** Texts that a search takes long to find nothing of, in an answer or a value of the same letter. */
const wantedTexts = [`aaaaaab`, `${'a'.repeat(100)}b${'a'.repeat(99)}`, `${'a'.repeat(100)}b${'a'.repeat(899)}`];
const wanted = (place: number): string => wantedTexts[place % wantedTexts.length] as string;
const metadata = { source: 'é'.repeat(1000) };
const context = { language: 'en', metadata };

/** A survey with as many leaves about texts as are taken, and its answer. */
function heavySurvey() {
  const { survey, questions } = surveyOf([
    { type: 'LONG_TEXT' },
    ...Array.from({ length: 40 }, (_, index) => (before: readonly { id: string }[]) => ({
      type: 'SHORT_TEXT' as const,
      visibleIf: fiftyOf((place) =>
        index % 4 === 0
          ? { metadata: 'source', operator: 'equalsText', value: `é${place}` }
          : { questionId: before[0]?.id ?? '', operator: 'containsText', value: wanted(place) },
      ),
    })),
  ]);
  const questionId = questions[0]?.id ?? '';
  const where = fiftyOf((place) => ({ questionId, operator: 'containsText', value: wanted(place % 2) }));
  const quotas = Array.from({ length: 100 }, (_, index) => quotaOf(where, index));
  return { survey: { ...survey, quotas }, answers: [{ questionId, textValue: 'a'.repeat(10_000) }] };
}

/** A survey with a condition and a quota on fifty long answers, and answers whose letters take long to fold. */
function surveyOfLongAnswers() {
  const whereNo = (before: readonly { id: string }[]) =>
    fiftyOf((place) => ({ questionId: before[place]?.id ?? '', operator: 'equalsText', value: 'no' }));
  const { survey, questions } = surveyOf([
    ...Array.from({ length: 50 }, () => ({ type: 'LONG_TEXT' as const })),
    (before) => ({ type: 'SHORT_TEXT', visibleIf: whereNo(before) }),
  ]);
  const answers = questions.slice(0, 50).map(({ id }, place) => ({
    questionId: id,
    // A text is folded once, whichever answers have it.
    textValue: `${place}`.padEnd(10_000, 'ΐ'),
  }));
  return { survey: { ...survey, quotas: [quotaOf(whereNo(questions), 0)] }, answers };
}

describe('conditions on long texts never hold the event loop for more than 20 ms of a machine at rest', () => {
  const { survey, answers } = heavySurvey();
  const compiled = compileSurvey(survey);
  const long = surveyOfLongAnswers();
  const longCompiled = compileSurvey(long.survey);
  const computePath = async (of: CompiledSurvey, given: readonly object[]) => {
    const accepted = await acceptableAnswers(of, given, { context, pause: nextTurn });
    const walk = await runInSlices(respondentWalk(of.survey, { ...context, answers: accepted }));
    await runInSlices(fittingQuotas(of.survey, walk));
  };

  it('while a submission is judged', async () => {
    assert.ok(compiled.isSlowToCheck);
    const options = { isComplete: true, uploads: new Map(), context };
    await assertQuick(() => longestTurnMs(() => checkAnswersInSlices(compiled, answers, options, nextTurn)));
  });

  it('while a response that holds fifty of them is saved again', async () => {
    assert.ok(longCompiled.isSlowToCheck);
    const saved = checkAnswers(longCompiled, long.answers, { isComplete: false, uploads: new Map(), context });
    assert.ok(saved.ok);
    const options = { isComplete: true, uploads: new Map(), context, previous: saved.row };
    await assertQuick(() => longestTurnMs(() => checkAnswersInSlices(longCompiled, [], options, nextTurn)));
  });

  it('while a path is computed', () => assertQuick(() => longestTurnMs(() => computePath(compiled, answers))));

  it('while the path of fifty long answers is computed', () =>
    assertQuick(() => longestTurnMs(() => computePath(longCompiled, long.answers))));
});

describe('conditions', () => {
  it('make a survey slow to check where their own texts are long and their letters take long to fold', () => {
    const surveyWith = (letter: string) =>
      surveyOf([
        { type: 'SHORT_TEXT' },
        ...Array.from({ length: 40 }, (_, index) => (before: readonly { id: string }[]) => ({
          type: 'SHORT_TEXT' as const,
          visibleIf: fiftyOf((place) => ({
            questionId: before[0]?.id ?? '',
            operator: 'equalsText',
            value: `${index} ${place} `.padEnd(450, letter),
          })),
        })),
      ]).survey;
    assert.deepEqual(
      ['ж', 'a'].map((letter) => compileSurvey(surveyWith(letter)).isSlowToCheck),
      [true, false],
    );
  });
});

describe('conditions on short texts', () => {
  it('do not make a survey one that is slow to check', () => {
    const { survey } = surveyOf([
      { type: 'SHORT_TEXT' },
      (before) => ({
        type: 'SHORT_TEXT',
        visibleIf: fiftyOf(() => ({ questionId: before[0]?.id ?? '', operator: 'containsText', value: 'ant' })),
      }),
    ]);
    assert.ok(!compileSurvey(survey).isSlowToCheck);
  });

  it('nor do hundreds of quotas by cell on the same metadata and language', () => {
    const { survey } = surveyOf([{ type: 'NPS' }]);
    const quotas = Array.from({ length: 500 }, (_, index) => {
      const isFrom = (key: string): Condition => ({ metadata: key, operator: 'equalsText', value: `${index}` });
      return quotaOf({ all: [isFrom('panel'), isFrom('region'), { language: ['en'] }] }, index);
    });
    assert.ok(!compileSurvey({ ...survey, quotas }).isSlowToCheck);
  });
});
