import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePaths, givenAnswers, pathOf } from '../../../../src/domain/path/path.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { pathDefinitionOf } from '../../../../src/domain/survey-paths/path-definition.ts';
import {
  idsOf,
  labels,
  no,
  option,
  pathIn,
  questionIdsOf,
  saysYes,
  sectionOf,
  surveyOf,
  withFields,
  yes,
  yesNo,
} from '../../../support/path-surveys.ts';

describe('the two halves that others get wrong (Formbricks 8431 and 7292)', () => {
  const { survey, questions } = surveyOf([
    { ...yesNo, isRequired: true },
    ([first]) => ({ type: 'SHORT_TEXT', isRequired: true, visibleIf: saysYes(first) }),
    { type: 'NPS', isRequired: true },
  ]);
  const [first, second, third] = questions as [Question, Question, Question];
  const nps = { questionId: third.id, numberValue: 9 };

  it('a required question that was never shown does not block completion', () => {
    const path = pathIn(survey, [no(first), nps]);
    assert.deepEqual([path.outcome, path.next, path.progress], ['COMPLETE', null, 1]);
    assert.deepEqual(questionIdsOf(path), [first.id, third.id]);
  });

  it('a required question on the path that is left out does', () => {
    const path = pathIn(survey, [yes(first), nps]);
    assert.deepEqual([path.outcome, path.next], ['OPEN', second.id]);
    assert.equal(path.progress, 2 / 3);
  });

  it('an optional question that was never shown neither blocks completion nor counts in it', () => {
    const optional = withFields(survey, second.id, { isRequired: false });
    assert.equal(pathIn(optional, [no(first), nps]).outcome, 'COMPLETE');
    assert.equal(pathIn(optional, [yes(first), nps]).outcome, 'COMPLETE');
  });
});

describe('outcome, next and progress', () => {
  const { survey, questions } = surveyOf([{ ...yesNo, isRequired: true }, yesNo, yesNo]);
  const [first, second, third] = questions as [Question, Question, Question];
  const state = (...answers: unknown[]) => {
    const { outcome, next, progress } = pathIn(survey, answers);
    return [outcome, next, progress];
  };

  it('are those of a survey that begins', () => assert.deepEqual(state(), ['OPEN', first.id, 0]));

  it('are open while optional questions stand behind the last answered one', () =>
    assert.deepEqual(state(yes(first)), ['OPEN', second.id, 1 / 3]));

  it('are complete after the last question, whatever optional ones were skipped', () =>
    assert.deepEqual(state(yes(first), yes(third)), ['COMPLETE', null, 1]));

  it('name the first required question that lacks an answer if nothing stands behind the last answered one', () =>
    assert.deepEqual(state(yes(third)), ['OPEN', first.id, 1 / 3]));

  it('are complete where there is nothing to ask', () => {
    const { survey: none } = surveyOf([{ ...yesNo, visibleIf: { metadata: 'key', operator: 'answered' } }]);
    assert.deepEqual(pathIn(none, []), { sections: [], next: null, outcome: 'COMPLETE', progress: 1 });
  });

  it('need every row that is shown of a required MATRIX, and any row of an optional one', () => {
    const { survey: grids, questions: both } = surveyOf([
      { type: 'MATRIX', isRequired: true, options: labels, settings: { rows: labels.slice(0, 2) } },
    ]);
    const [grid] = both as [Question];
    const answerIn = (row: number) => ({ ...option(grid, 'ant'), rowId: grid.rows[row]?.id });
    assert.deepEqual([pathIn(grids, [answerIn(0)]).outcome, pathIn(grids, [answerIn(0)]).next], ['OPEN', grid.id]);
    assert.equal(pathIn(grids, [answerIn(0), answerIn(1)]).outcome, 'COMPLETE');
    assert.equal(pathIn(withFields(grids, grid.id, { isRequired: false }), [answerIn(0)]).outcome, 'COMPLETE');
    const hidden = withFields(grids, grid.id, {
      rows: grid.rows.map((row, index) => ({
        ...row,
        ...(index === 1 && { visibleIf: { metadata: 'key', operator: 'answered' } as const }),
      })),
    });
    assert.equal(pathIn(hidden, [answerIn(0)]).outcome, 'COMPLETE');
  });
});

describe('answers of questions that are not on the path', () => {
  it('do not exist for what follows', () => {
    const { survey, questions } = surveyOf([
      yesNo,
      ([first]) => ({ ...yesNo, visibleIf: saysYes(first) }),
      ([, second]) => ({ ...yesNo, visibleIf: saysYes(second) }),
      ([, , third]) => ({ ...yesNo, visibleIf: { questionId: third?.id ?? '', operator: 'notAnswered' } }),
    ]);
    const [first, second, third, fourth] = questions as [Question, Question, Question, Question];
    const all = [yes(second), yes(third), yes(fourth)];
    assert.deepEqual(questionIdsOf(pathIn(survey, [no(first), ...all])), idsOf([first, fourth]));
    assert.deepEqual(questionIdsOf(pathIn(survey, [yes(first), ...all])), idsOf([first, second, third]));
  });
});

describe('sections', () => {
  const [one, two] = [sectionOf(0), sectionOf(1)];
  const { survey, questions } = surveyOf(
    [{ ...yesNo, sectionId: two.id }, yesNo, { ...yesNo, sectionId: one.id }, { ...yesNo, sectionId: 'gone' }],
    [one, two],
  );
  const [inTwo, before, inOne, alsoBefore] = questions as [Question, Question, Question, Question];

  it('come in their order, after the questions without one', () => {
    const { sections } = pathIn(survey, []);
    assert.deepEqual(
      sections.map(({ id, questions: shown }) => [id, shown.map((step) => step.id)]),
      [
        [null, [before.id, alsoBefore.id]],
        [one.id, [inOne.id]],
        [two.id, [inTwo.id]],
      ],
    );
  });

  it('are left out if they are hidden or have nothing to show', () => {
    const hidden = { ...survey, sections: [{ ...one, visibleIf: saysYes(before) }, two] };
    const ids = (answers: readonly unknown[], of: SurveyWithQuestions = hidden) =>
      pathIn(of, answers).sections.map(({ id }) => id);
    assert.deepEqual(ids([]), [null, two.id]);
    assert.deepEqual(ids([yes(before)]), [null, one.id, two.id]);
    assert.deepEqual(ids([], withFields(survey, inOne.id, { visibleIf: saysYes(before) })), [null, two.id]);
  });

  it('are shuffled by the response’s id alone, and so are questions, options and rows', () => {
    const sections = Array.from({ length: 6 }, (_, order) => sectionOf(order, { isShuffled: order === 0 }));
    const { survey: large, questions: all } = surveyOf(
      [
        { type: 'NPS' },
        ...Array.from({ length: 6 }, () => ({ type: 'NPS' as const, sectionId: sections[0]?.id ?? '' })),
        ...sections.slice(1).map(({ id }) => ({
          type: 'MATRIX' as const,
          sectionId: id,
          options: 'abcdef'.split('').map((text) => ({ text })),
          settings: { rows: 'abcdef'.split('').map((text) => ({ text })), shuffleOptions: true, shuffleRows: true },
        })),
      ],
      sections,
    );
    const shown = (responseId?: string, of: SurveyWithQuestions = { ...large, isShuffled: true }) =>
      pathIn(of, [], { responseId }).sections;
    const id = '0190a5b4-7c1e-7d3a-9f00-5a1b2c3d4e5f';
    assert.deepEqual(shown(), shown(undefined, large));
    assert.deepEqual(shown(id), shown(id.toUpperCase()));
    assert.notDeepEqual(shown(id), shown('1190a5b4-7c1e-7d3a-9f00-5a1b2c3d4e5f'));
    assert.equal(shown(id)[0]?.id, null);
    const parts = (of: ReturnType<typeof shown>) => ({
      sections: of.map((section) => section.id),
      questions: of.find((section) => section.id === sections[0]?.id)?.questions.map((step) => step.id),
      options: of.find((section) => section.id === sections[1]?.id)?.questions[0]?.optionIds,
      rows: of.find((section) => section.id === sections[1]?.id)?.questions[0]?.rowIds,
    });
    const [designed, shuffledParts] = [parts(shown()), parts(shown(id))];
    for (const part of ['sections', 'questions', 'options', 'rows'] as const) {
      assert.notDeepEqual(shuffledParts[part], designed[part], part);
      assert.deepEqual(shuffledParts[part]?.toSorted(), designed[part]?.toSorted(), part);
    }
    const [, , , , , , , matrix] = all as [Question, ...Question[]];
    const anchored = withFields(large, matrix?.id ?? '', {
      rows: (matrix?.rows ?? []).map((row, index) => ({ ...row, ...(index === 5 && { isAnchored: true }) })),
    });
    const rowIds = parts(shown(id, anchored)).rows;
    assert.equal(rowIds?.at(-1), matrix?.rows.at(-1)?.id);
  });

  it('keep the shuffled order of the others when one item is hidden', () => {
    const { survey: choices, questions: both } = surveyOf([
      yesNo,
      ([first]) => ({
        type: 'CHECKBOXES',
        options: 'abcdefgh'.split('').map((text) => ({
          text,
          ...(text === 'c' && { visibleIf: saysYes(first) as never }),
        })),
        settings: { shuffleOptions: true },
      }),
    ]);
    const [first, boxes] = both as [Question, Question];
    const withHidden = withFields(choices, boxes.id, {
      options: boxes.options.map((item) => ({ ...item, ...(item.value === 'c' && { visibleIf: saysYes(first) }) })),
    });
    const shown = (...answers: unknown[]) =>
      pathIn(withHidden, answers, { responseId: choices.id }).sections[0]?.questions[1]?.optionIds ?? [];
    const hidden = boxes.options.find(({ value }) => value === 'c')?.id;
    assert.deepEqual(
      shown(no(first)),
      shown(yes(first)).filter((id) => id !== hidden),
    );
    assert.equal(shown(yes(first)).length, 8);
  });

  it('say what stands behind the last answered question in the order shown', () => {
    const section = sectionOf(0, { isShuffled: true });
    const { survey: shuffledSurvey } = surveyOf(
      Array.from({ length: 5 }, () => ({ ...yesNo, sectionId: section.id })),
      [section],
    );
    const responseId = '0190a5b4-7c1e-7d3a-9f00-5a1b2c3d4e5f';
    const order = questionIdsOf(pathIn(shuffledSurvey, [], { responseId }));
    const answered = [{ questionId: order[0], textValue: 'yes' }];
    assert.equal(pathIn(shuffledSurvey, answered, { responseId }).next, order[1]);
    const last = [{ questionId: order[4], textValue: 'yes' }];
    assert.equal(pathIn(shuffledSurvey, last, { responseId }).outcome, 'COMPLETE');
  });
});

describe('a definition that was never checked', () => {
  it('never fails', () => {
    const definition = {
      questions: [
        {
          id: 'a',
          type: 'NO_SUCH_TYPE',
          isRequired: true,
          options: [],
          settings: {},
          visibleIf: { not: { questionId: 'b', operator: 'isAnyOf', optionIds: ['x'] } } as const,
          skips: [{ if: { questionId: 'b', operator: 'rankedAtMost', optionId: 'x', rank: 1 } as const, to: 'a' }],
          optionsFrom: { questionId: 'c', which: 'selected' as const, matches: [] },
        },
        { id: 'b', type: 'MATRIX', isRequired: false, options: [], settings: {} },
      ],
    };
    const compiled = compilePaths(definition);
    const path = pathOf(compiled, givenAnswers(compiled, [{ questionId: 'b', rowId: 'x' }]), { surveyLanguage: 'en' });
    assert.deepEqual(questionIdsOf(path), ['b']);
  });
});

describe('a survey without paths', () => {
  it('is known as such', () => {
    const { survey, questions } = surveyOf([yesNo, { type: 'CHECKBOXES', options: labels }]);
    const isBranched = (of: SurveyWithQuestions) => compilePaths(pathDefinitionOf(of)).isBranched;
    const [first, boxes] = questions as [Question, Question];
    assert.equal(isBranched({ ...survey, isShuffled: true, sections: [sectionOf(0)] }), false);
    assert.equal(isBranched(withFields(survey, boxes.id, { visibleIf: saysYes(first) })), true);
    assert.equal(isBranched(withFields(survey, first.id, { skips: [{ if: saysYes(first), to: 'END' }] })), true);
    assert.equal(isBranched({ ...survey, sections: [sectionOf(0, { visibleIf: saysYes(first) })] }), true);
    const options = boxes.options.map((item) => ({ ...item, visibleIf: saysYes(first) }));
    assert.equal(isBranched(withFields(survey, boxes.id, { options })), true);
  });
});
