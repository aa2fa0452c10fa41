import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import { compilePaths, givenAnswers, pathOf } from '../../../../src/domain/path/path.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { pathDefinitionOf } from '../../../../src/domain/survey-paths/path-definition.ts';
import { pathIn, questionIdsOf, sectionOf, surveyOf, walkIn, withFields } from '../../../support/path-surveys.ts';

const labels = ['ant', 'bee', 'cat'].map((text) => ({ text, value: text }));
const yes = ({ id }: Question) => ({ questionId: id, textValue: 'yes' });
const no = ({ id }: Question) => ({ questionId: id, textValue: 'no' });
const option = ({ id, options }: Question, value: string) => ({
  questionId: id,
  optionId: options.find((item) => item.value === value)?.id,
});
const is = ({ id, options }: Question, value: string): Condition => ({
  questionId: id,
  operator: 'isAnyOf',
  optionIds: options.filter((item) => item.value === value).map((item) => item.id),
});
const saysYes = (question: Question | undefined): Condition => is(question as Question, 'yes');
const yesNo = { type: 'YES_NO' } as const;
const idsOf = (questions: readonly (Question | undefined)[]) => questions.map((question) => question?.id);
const optionsShown = (survey: SurveyWithQuestions, answers: readonly unknown[], { id, options, rows }: Question) => {
  const step = pathIn(survey, answers)
    .sections.flatMap(({ questions }) => questions)
    .find((shown) => shown.id === id);
  const storedValue = (itemId: string) => [...options, ...rows].find((item) => item.id === itemId)?.value;
  return step && { options: step.optionIds.map(storedValue), rows: step.rowIds.map(storedValue) };
};

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

describe('hidden options and rows', () => {
  const { survey, questions } = surveyOf([
    yesNo,
    { type: 'CHECKBOXES', options: labels },
    ([, boxes]) => ({ ...yesNo, visibleIf: includes(boxes as Question, 'bee') }),
  ]);
  function includes({ id, options }: Question, value: string): Condition {
    const optionIds = options.filter((item) => item.value === value).map((item) => item.id);
    return { questionId: id, operator: 'includesAny', optionIds };
  }
  const [first, boxes, last] = questions as [Question, Question, Question];
  const hiding = (...values: string[]) =>
    withFields(survey, boxes.id, {
      options: boxes.options.map((item) => ({
        ...item,
        ...(values.includes(item.value) && { visibleIf: saysYes(first) }),
      })),
    });

  it('are not offered, and an answer that names them does not exist', () => {
    const hidden = hiding('bee');
    assert.deepEqual(optionsShown(hidden, [], boxes)?.options, ['ant', 'cat']);
    assert.deepEqual(optionsShown(hidden, [yes(first)], boxes)?.options, ['ant', 'bee', 'cat']);
    assert.deepEqual(questionIdsOf(pathIn(hidden, [option(boxes, 'bee')])), idsOf([first, boxes]));
    assert.deepEqual(questionIdsOf(pathIn(hidden, [yes(first), option(boxes, 'bee')])), idsOf([first, boxes, last]));
    const required = withFields(hidden, boxes.id, { isRequired: true });
    assert.equal(pathIn(required, [no(first), option(boxes, 'bee')]).outcome, 'OPEN');
    assert.equal(pathIn(required, [no(first), option(boxes, 'ant')]).outcome, 'COMPLETE');
  });

  it('take the question off the path if none is left', () => {
    const path = pathIn(hiding('ant', 'bee', 'cat'), [no(first)]);
    assert.deepEqual(questionIdsOf(path), [first.id]);
  });

  it('of a MATRIX are not offered, and none of its questions is left without rows or columns', () => {
    const { survey: grids, questions: both } = surveyOf([
      yesNo,
      { type: 'MATRIX', options: labels, settings: { rows: labels } },
    ]);
    const [key, grid] = both as [Question, Question];
    const hide = (part: 'options' | 'rows', ...values: string[]) =>
      withFields(grids, grid.id, {
        [part]: grid[part].map((item) => ({
          ...item,
          ...(values.includes(item.value) && { visibleIf: saysYes(key) }),
        })),
      });
    assert.deepEqual(optionsShown(hide('rows', 'ant'), [], grid)?.rows, ['bee', 'cat']);
    assert.deepEqual(optionsShown(hide('options', 'ant'), [], grid)?.options, ['bee', 'cat']);
    assert.equal(optionsShown(hide('rows', 'ant', 'bee', 'cat'), [], grid), undefined);
    assert.equal(optionsShown(hide('options', 'ant', 'bee', 'cat'), [], grid), undefined);
  });

  it('keep the free "other" answer', () => {
    const { survey: choices, questions: both } = surveyOf([
      { type: 'MULTIPLE_CHOICE', options: labels, settings: { allowOther: true }, isRequired: true },
    ]);
    const [choice] = both as [Question];
    const hidden = withFields(choices, choice.id, {
      options: choice.options.map((item, index) => ({
        ...item,
        ...(index === 0 && { visibleIf: { metadata: 'key', operator: 'answered' } as const }),
      })),
    });
    assert.equal(pathIn(hidden, [{ questionId: choice.id, textValue: 'Else' }]).outcome, 'COMPLETE');
    assert.equal(pathIn(hidden, [option(choice, 'ant')]).outcome, 'OPEN');
  });
});

describe('optionsFrom', () => {
  const own = [...labels.map(({ text, value }) => ({ text: `My ${text}`, value })), { text: 'None', value: 'none' }];
  const build = (type: 'CHECKBOXES' | 'RANKING' | 'DROPDOWN', which: 'selected' | 'notSelected', isAnchored = true) => {
    const built = surveyOf([
      { type: 'CHECKBOXES', options: [...labels, { text: 'dog' }] },
      ([source]) => ({ type, options: own, optionsFrom: { questionId: source?.id ?? '', which } }),
    ]);
    const [source, target] = built.questions as [Question, Question];
    const survey = withFields(built.survey, target.id, {
      options: target.options.map((item) => ({ ...item, ...(isAnchored && item.value === 'none' && { isAnchored }) })),
    });
    return { survey, source, target };
  };

  for (const type of ['CHECKBOXES', 'RANKING', 'DROPDOWN'] as const)
    it(`offers of a ${type} what was selected, and anchored options without a counterpart`, () => {
      const { survey, source, target } = build(type, 'selected');
      const answers = [option(source, 'ant'), option(source, 'cat'), option(source, 'dog')];
      assert.deepEqual(optionsShown(survey, answers, target)?.options, ['ant', 'cat', 'none']);
      assert.deepEqual(optionsShown(survey, [], target)?.options, ['none']);
    });

  it('offers what was shown and not selected', () => {
    const { survey, source, target } = build('CHECKBOXES', 'notSelected', false);
    assert.deepEqual(optionsShown(survey, [option(source, 'ant')], target)?.options, ['bee', 'cat']);
    const hidden = withFields(survey, source.id, {
      options: source.options.map((item) => ({
        ...item,
        ...(item.value === 'bee' && { visibleIf: { metadata: 'key', operator: 'answered' } as const }),
      })),
    });
    assert.deepEqual(optionsShown(hidden, [option(source, 'ant')], target)?.options, ['cat']);
  });

  it('takes the question off the path if nothing is left', () => {
    const { survey, target } = build('CHECKBOXES', 'selected', false);
    assert.equal(optionsShown(survey, [], target), undefined);
  });

  it('counts a source off the path as nothing shown', () => {
    for (const which of ['selected', 'notSelected'] as const) {
      const { survey, source, target } = build('CHECKBOXES', which);
      const hidden = withFields(survey, source.id, { visibleIf: { metadata: 'key', operator: 'answered' } });
      assert.deepEqual(optionsShown(hidden, [option(source, 'ant')], target)?.options, ['none'], which);
    }
  });

  it('chooses the rows of a MATRIX, and items ranked in a RANKING count as selected', () => {
    const { survey, questions } = surveyOf([
      { type: 'RANKING', options: labels },
      ([source]) => ({
        type: 'MATRIX',
        options: [{ text: 'good' }],
        settings: { rows: labels },
        optionsFrom: { questionId: source?.id ?? '', which: 'selected' },
      }),
    ]);
    const [source, grid] = questions as [Question, Question];
    const answers = [
      { ...option(source, 'cat'), rank: 1 },
      { ...option(source, 'ant'), rank: 2 },
    ];
    assert.deepEqual(optionsShown(survey, answers, grid), { options: ['good'], rows: ['ant', 'cat'] });
  });

  it('holds along a chain', () => {
    const { survey, questions } = surveyOf([
      { type: 'CHECKBOXES', options: labels },
      ([first]) => ({
        type: 'CHECKBOXES',
        options: labels,
        optionsFrom: { questionId: first?.id ?? '', which: 'selected' },
      }),
      ([, second]) => ({
        type: 'DROPDOWN',
        options: labels,
        optionsFrom: { questionId: second?.id ?? '', which: 'notSelected' },
      }),
    ]);
    const [first, second, third] = questions as [Question, Question, Question];
    const answers = [option(first, 'ant'), option(first, 'bee'), option(second, 'bee'), option(second, 'cat')];
    assert.deepEqual(optionsShown(survey, answers, third)?.options, ['ant']);
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
