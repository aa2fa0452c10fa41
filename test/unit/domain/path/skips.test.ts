import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import {
  idsOf,
  no,
  pathIn,
  questionIdsOf,
  saysYes,
  sectionOf,
  surveyOf,
  walkIn,
  withFields,
  yes,
  yesNo,
} from '../../../support/path-surveys.ts';

describe('a skip', () => {
  const { survey, questions } = surveyOf([
    { ...yesNo, isRequired: true },
    { ...yesNo, isRequired: true },
    yesNo,
    { ...yesNo, isRequired: true },
  ]);
  const [first, second, third, fourth] = questions as [Question, Question, Question, Question];
  const skipping = (question: Question, to: string, condition: Condition = saysYes(question)) =>
    withFields(survey, question.id, { skips: [{ if: condition, to }] });

  it('leaves out what lies between', () => {
    assert.deepEqual(questionIdsOf(pathIn(skipping(first, third.id), [yes(first)])), idsOf([first, third, fourth]));
    assert.deepEqual(questionIdsOf(pathIn(skipping(first, third.id), [no(first)])), idsOf(questions));
  });

  it('ends the survey', () => {
    const path = pathIn(skipping(first, 'END'), [yes(first)]);
    assert.deepEqual([questionIdsOf(path), path.outcome], [[first.id], 'COMPLETE']);
  });

  it('screens out once all required questions before it are answered', () => {
    const screening = skipping(second, 'SCREEN_OUT', { not: saysYes(second) });
    const early = pathIn(screening, []);
    assert.deepEqual([early.outcome, early.next, questionIdsOf(early)], ['OPEN', first.id, idsOf([first, second])]);
    assert.equal(pathIn(screening, [no(second)]).outcome, 'OPEN');
    const path = pathIn(screening, [yes(first), no(second)]);
    assert.deepEqual([path.outcome, path.next, path.progress], ['SCREENED_OUT', null, 1]);
    assert.equal(walkIn(screening, [yes(first), no(second)]).isScreenedOut, true);
  });

  it('is looked at whether its question is answered or not, but not if that is not on the path', () => {
    const unanswered = skipping(third, 'END', { questionId: third.id, operator: 'notAnswered' });
    assert.deepEqual(questionIdsOf(pathIn(unanswered, [])), idsOf([first, second, third]));
    const hidden = withFields(unanswered, third.id, { visibleIf: saysYes(first) });
    assert.deepEqual(questionIdsOf(pathIn(hidden, [no(first)])), idsOf([first, second, fourth]));
  });

  it('is the first whose condition holds', () => {
    const several = withFields(survey, first.id, {
      skips: [
        { if: { not: saysYes(first) }, to: fourth.id },
        { if: saysYes(first), to: third.id },
        { if: saysYes(first), to: 'END' },
      ],
    });
    assert.deepEqual(questionIdsOf(pathIn(several, [yes(first)])), idsOf([first, third, fourth]));
    assert.deepEqual(questionIdsOf(pathIn(several, [no(first)])), idsOf([first, fourth]));
  });

  it('may lead to a question or section that is hidden, or to an empty section', () => {
    const [one, two, empty] = [sectionOf(0), sectionOf(1), sectionOf(2)];
    const withSections = {
      ...skipping(first, fourth.id),
      sections: [one, two, empty],
      questions: skipping(first, fourth.id).questions.map((question, index) => ({
        ...question,
        ...(index > 0 && { sectionId: index < 3 ? one.id : two.id }),
      })),
    };
    const hiddenTarget = withFields(withSections, fourth.id, { visibleIf: { not: saysYes(first) } });
    assert.deepEqual(questionIdsOf(pathIn(hiddenTarget, [yes(first)])), [first.id]);
    const to = (sectionId: string) =>
      withFields(withSections, first.id, { skips: [{ if: saysYes(first), to: sectionId }] });
    assert.deepEqual(questionIdsOf(pathIn(to(two.id), [yes(first)])), idsOf([first, fourth]));
    assert.deepEqual(questionIdsOf(pathIn(to(empty.id), [yes(first)])), [first.id]);
    const hiddenSection = { ...to(two.id), sections: [one, { ...two, visibleIf: { not: saysYes(first) } }, empty] };
    assert.deepEqual(questionIdsOf(pathIn(hiddenSection, [yes(first)])), [first.id]);
  });

  it('backwards, or to what does not exist, has no effect', () => {
    for (const to of [first.id, second.id, 'nowhere'])
      assert.deepEqual(questionIdsOf(pathIn(skipping(second, to), [yes(first), yes(second)])), idsOf(questions), to);
  });
});
