import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnswerTest, Condition } from '../../../../src/domain/path/definition.ts';
import { questionTypeNames } from '../../../../src/domain/questions/type-names.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { checkPaths, placeholderIssue, surveyLeavesAtMost } from '../../../../src/domain/survey-paths/path-checks.ts';
import type { TypeName } from '../../../support/every-type.ts';
import { sectionOf, surveyOf, withFields } from '../../../support/path-surveys.ts';
import { fullSurvey, withQuestion } from '../../../support/questions.ts';

const issuesOf = (survey: SurveyWithQuestions, beside = {}): string[] =>
  checkPaths(survey, beside).map(({ path, message }) => `${path}: ${message}`);

const full = fullSurvey();
const last = withQuestion(full.survey, { type: 'NPS', text: 'The last one' });
/** The issues of a condition of the last question about another one, without the path of the question. */
function conditionIssues(visibleIf: Condition): string[] {
  return issuesOf(withFields(last.survey, last.question.id, { visibleIf })).map((issue) =>
    issue.replace(`questions.${last.question.id}.`, ''),
  );
}
const about = (type: TypeName, test: AnswerTest & { rowId?: string }): string[] =>
  conditionIssues({ questionId: full.questions[type].id, ...test } as Condition);
const optionOf = (type: TypeName, index = 0): string => full.questions[type].options[index]?.id ?? '';
const row = full.questions.MATRIX.rows[0]?.id ?? '';

describe('a leaf', () => {
  /** Operators that each type takes, besides answered and notAnswered. */
  const fitting: Record<TypeName, AnswerTest['operator'][]> = {
    MULTIPLE_CHOICE: ['isAnyOf', 'isNoneOf'],
    CHECKBOXES: ['includesAny', 'includesAll', 'includesNone', 'countBetween'],
    DROPDOWN: ['isAnyOf', 'isNoneOf'],
    RATING_SCALE: ['between', 'equals', 'notEquals'],
    NPS: ['between', 'equals', 'notEquals'],
    MATRIX: ['isAnyOf', 'isNoneOf'],
    RANKING: ['rankedAtMost'],
    SHORT_TEXT: ['equalsText', 'containsText', 'startsWithText'],
    LONG_TEXT: ['equalsText', 'containsText', 'startsWithText'],
    EMAIL: ['equalsText', 'containsText', 'startsWithText'],
    NUMBER: ['between', 'equals', 'notEquals'],
    DATE: ['between', 'equals', 'notEquals'],
    TIME: ['between', 'equals', 'notEquals'],
    FILE_UPLOAD: [],
    SLIDER: ['between', 'equals', 'notEquals'],
    YES_NO: ['isAnyOf', 'isNoneOf'],
    LIKERT_SCALE: ['isAnyOf', 'isNoneOf', 'between', 'equals', 'notEquals'],
  };
  const valueOfType = (type: TypeName): number | string =>
    type === 'DATE' ? '2024-02-29' : type === 'TIME' ? '08:30' : 3;
  const tests = (type: TypeName): AnswerTest[] => [
    { operator: 'answered' },
    { operator: 'notAnswered' },
    { operator: 'isAnyOf', optionIds: [optionOf(type)] },
    { operator: 'isNoneOf', optionIds: [optionOf(type)] },
    { operator: 'includesAny', optionIds: [optionOf(type)] },
    { operator: 'includesAll', optionIds: [optionOf(type)] },
    { operator: 'includesNone', optionIds: [optionOf(type)] },
    { operator: 'countBetween', min: 1 },
    { operator: 'rankedAtMost', optionId: optionOf(type), rank: 1 },
    { operator: 'between', min: valueOfType(type) },
    { operator: 'equals', value: valueOfType(type) },
    { operator: 'notEquals', value: valueOfType(type) },
    { operator: 'equalsText', value: 'a' },
    { operator: 'containsText', value: 'a' },
    { operator: 'startsWithText', value: 'a' },
  ];

  for (const type of questionTypeNames)
    it(`about ${type} takes the operators that fit it, and no others`, () => {
      const rowId = type === 'MATRIX' ? { rowId: row } : {};
      for (const test of tests(type)) {
        const fits = ['answered', 'notAnswered', ...fitting[type]].includes(test.operator);
        const issues = about(type, { ...test, ...rowId });
        if (fits) assert.deepEqual(issues, [], test.operator);
        else assert.match(issues.join(), /^visibleIf\.operator: does not fit that question: answered, notAnswered/);
      }
    });

  it('takes several columns of a MATRIX with multiple only', () => {
    const survey = withFields(last.survey, full.questions.MATRIX.id, { settings: { multiple: true } });
    const with_ = (test: AnswerTest) =>
      issuesOf(
        withFields(survey, last.question.id, {
          visibleIf: { questionId: full.questions.MATRIX.id, rowId: row, ...test } as Condition,
        }),
      );
    assert.deepEqual(with_({ operator: 'includesAll', optionIds: [optionOf('MATRIX')] }), []);
    assert.match(with_({ operator: 'isAnyOf', optionIds: [optionOf('MATRIX')] }).join(), /does not fit/);
  });

  it('names rows of a MATRIX, which choices need', () => {
    assert.deepEqual(about('MATRIX', { operator: 'answered', rowId: row }), []);
    assert.deepEqual(about('MATRIX', { operator: 'answered', rowId: 'x' }), [
      'visibleIf.rowId: is not a row of that question',
    ]);
    assert.deepEqual(about('NPS', { operator: 'answered', rowId: row }), [
      'visibleIf.rowId: that question has no rows',
    ]);
    assert.deepEqual(about('MATRIX', { operator: 'isAnyOf', optionIds: [optionOf('MATRIX')] }), [
      'visibleIf.rowId: is needed: which row is meant?',
    ]);
  });

  it('names options that exist, and "other" where it may be answered', () => {
    assert.deepEqual(
      about('DROPDOWN', { operator: 'isAnyOf', optionIds: [optionOf('DROPDOWN'), optionOf('YES_NO')] }),
      ['visibleIf.optionIds.1: is not an option of that question'],
    );
    assert.deepEqual(about('RANKING', { operator: 'rankedAtMost', optionId: 'x', rank: 1 }), [
      'visibleIf.optionId: is not an option of that question',
    ]);
    assert.deepEqual(about('MULTIPLE_CHOICE', { operator: 'isAnyOf', optionIds: ['other'] }), []);
    assert.equal(about('DROPDOWN', { operator: 'isAnyOf', optionIds: ['other'] }).length, 1);
    const deleted = withFields(last.survey, full.questions.DROPDOWN.id, {
      options: full.questions.DROPDOWN.options.map((option, index) => ({ ...option, isHidden: index === 0 })),
    });
    const visibleIf: Condition = {
      questionId: full.questions.DROPDOWN.id,
      operator: 'isNoneOf',
      optionIds: [optionOf('DROPDOWN')],
    };
    assert.equal(issuesOf(withFields(deleted, last.question.id, { visibleIf })).length, 1);
  });

  it('names values of the right kind that lie on the scale', () => {
    const wrong = (type: TypeName, test: AnswerTest) => about(type, test).join();
    assert.match(wrong('RATING_SCALE', { operator: 'equals', value: 6 }), /^visibleIf\.value: is not a point/);
    assert.match(wrong('NPS', { operator: 'equals', value: 2.5 }), /not a point/);
    assert.match(wrong('LIKERT_SCALE', { operator: 'notEquals', value: 6 }), /not a point/);
    assert.match(wrong('RATING_SCALE', { operator: 'between', min: 5.5 }), /^visibleIf: holds no point/);
    assert.match(wrong('RATING_SCALE', { operator: 'between', min: 2.1, max: 2.9 }), /holds no point/);
    assert.match(wrong('LIKERT_SCALE', { operator: 'between', max: 0 }), /holds no point/);
    assert.deepEqual(about('RATING_SCALE', { operator: 'between', min: -5, max: 1 }), []);
    assert.deepEqual(about('NUMBER', { operator: 'equals', value: 1e9 }), []);
    assert.match(wrong('NPS', { operator: 'equals', value: '3' }), /value: must be a number/);
    assert.match(wrong('DATE', { operator: 'equals', value: '2023-02-29' }), /must be a date/);
    assert.match(
      wrong('DATE', { operator: 'between', min: '2024-02-02', max: '2024-02-01' }),
      /max: must not be before/,
    );
    assert.match(wrong('TIME', { operator: 'between', min: '25:00' }), /min: must be a time of day/);
    assert.match(wrong('TIME', { operator: 'between', min: '08:30:01', max: '08:30' }), /must not be before/);
    assert.match(wrong('CHECKBOXES', { operator: 'countBetween', min: 4 }), /more than there are options \(3\)/);
    const tenths = withFields(last.survey, full.questions.SLIDER.id, { settings: { min: 0, max: 1, step: 0.1 } });
    const sliderIssues = (test: AnswerTest) =>
      issuesOf(
        withFields(tenths, last.question.id, {
          visibleIf: { questionId: full.questions.SLIDER.id, ...test } as Condition,
        }),
      );
    assert.deepEqual(sliderIssues({ operator: 'equals', value: 0.1 + 0.2 }), []);
    assert.deepEqual(sliderIssues({ operator: 'between', min: 0.1 + 0.2, max: 0.3 }), []);
    assert.equal(sliderIssues({ operator: 'equals', value: 0.35 }).length, 1);
    assert.equal(sliderIssues({ operator: 'between', min: 0.31, max: 0.39 }).length, 1);
  });

  it('has the path of its place in the condition', () => {
    const [first] = full.survey.questions as [Question];
    const fine: Condition = { questionId: first.id, operator: 'answered' };
    assert.deepEqual(conditionIssues({ any: [fine, { not: { all: [{ ...fine, questionId: 'gone' }] } }] }), [
      'visibleIf.any.1.not.all.0.questionId: is not a question of this survey',
    ]);
    const empty: Condition = { questionId: full.questions.RATING_SCALE.id, operator: 'between', min: 5.5 };
    const noPoint = 'holds no point of the scale of that question';
    assert.deepEqual(conditionIssues({ all: [empty, { not: { any: [fine, empty] } }] }), [
      `visibleIf.all.0: ${noPoint}`,
      `visibleIf.all.1.not.any.1: ${noPoint}`,
    ]);
    const skipping = withFields(last.survey, last.question.id, { skips: [{ if: { all: [empty] }, to: 'END' }] });
    assert.deepEqual(issuesOf(skipping), [`questions.${last.question.id}.skips.0.if.all.0: ${noPoint}`]);
  });
});

describe('what is named', () => {
  const yesNo = { type: 'YES_NO' } as const;
  const answered = (question: Question | undefined): Condition => ({
    questionId: question?.id ?? '',
    operator: 'answered',
  });

  it('stands earlier, for a skip not later than its own question', () => {
    const { survey, questions } = surveyOf([yesNo, yesNo, yesNo]);
    const [first, second, third] = questions as [Question, Question, Question];
    const visible = (of: Question) => issuesOf(withFields(survey, second.id, { visibleIf: answered(of) }));
    const at = `questions.${second.id}`;
    assert.deepEqual(visible(first), []);
    assert.deepEqual(visible(second), [`${at}.visibleIf.questionId: must be an earlier question`]);
    assert.deepEqual(visible(third), [`${at}.visibleIf.questionId: must be an earlier question`]);
    const skip = (of: Question, to: string) =>
      issuesOf(withFields(survey, second.id, { skips: [{ if: answered(of), to }] }));
    assert.deepEqual(skip(second, third.id), []);
    assert.deepEqual(skip(third, 'END'), [`${at}.skips.0.if.questionId: must be an earlier question`]);
    assert.deepEqual(skip(first, second.id), [`${at}.skips.0.to: must be a later question or section`]);
    assert.deepEqual(skip(first, first.id), [`${at}.skips.0.to: must be a later question or section`]);
    assert.deepEqual(skip(first, 'x'), [`${at}.skips.0.to: is not a question or section of this survey`]);
    for (const to of ['END', 'SCREEN_OUT']) assert.deepEqual(skip(first, to), []);
    const deleted = withFields(withFields(survey, third.id, { visibleIf: answered(first) }), first.id, {
      isHidden: true,
    });
    assert.deepEqual(issuesOf(deleted), [
      `questions.${third.id}.visibleIf.questionId: is not a question of this survey`,
    ]);
  });

  it('stands before a section, and a section as a target stands later', () => {
    const [one, two] = [sectionOf(0), sectionOf(1)];
    const { survey, questions } = surveyOf(
      [yesNo, { ...yesNo, sectionId: one.id }, { ...yesNo, sectionId: two.id }],
      [one, two],
    );
    const [before, inOne, inTwo] = questions as [Question, Question, Question];
    const section = (of: Question) =>
      issuesOf({ ...survey, sections: [one, { ...two, visibleIf: answered(of) }] }).length;
    assert.deepEqual([section(before), section(inOne), section(inTwo)], [0, 0, 1]);
    const skip = (from: Question, to: string) =>
      issuesOf(withFields(survey, from.id, { skips: [{ if: answered(before), to }] })).length;
    assert.deepEqual(
      [skip(before, one.id), skip(inOne, two.id), skip(inOne, one.id), skip(inTwo, one.id)],
      [0, 0, 1, 1],
    );
  });

  it('is not shuffled with what names it', () => {
    const shuffledSection = sectionOf(0, { isShuffled: true });
    const other = sectionOf(1);
    const { survey, questions } = surveyOf(
      [
        yesNo,
        { ...yesNo, sectionId: shuffledSection.id },
        { ...yesNo, sectionId: shuffledSection.id },
        { ...yesNo, sectionId: other.id },
      ],
      [shuffledSection, other],
    );
    const [before, one, two, after] = questions as [Question, Question, Question, Question];
    const named = (own: Question, of: Question, isShuffled = false) =>
      issuesOf({ ...withFields(survey, own.id, { visibleIf: answered(of) }), isShuffled }).map(
        (issue) => issue.split(': ')[1],
      );
    assert.deepEqual(named(two, one), ['it is shuffled with this one']);
    assert.deepEqual(named(two, before), []);
    assert.deepEqual(named(after, two), []);
    assert.deepEqual(named(after, two, true), ['its section is shuffled with this one']);
    assert.deepEqual(named(after, before, true), []);
    const skip = (from: Question, to: string, isShuffled = false) =>
      issuesOf({ ...withFields(survey, from.id, { skips: [{ if: answered(from), to }] }), isShuffled }).length;
    assert.deepEqual([skip(one, two.id), skip(one, after.id), skip(one, 'END'), skip(before, two.id)], [1, 0, 0, 0]);
    assert.deepEqual([skip(one, after.id, true), skip(one, other.id, true), skip(before, other.id, true)], [1, 1, 0]);
    const section = { ...survey, sections: [shuffledSection, { ...other, visibleIf: answered(one) }] };
    assert.deepEqual([issuesOf(section).length, issuesOf({ ...section, isShuffled: true }).length], [0, 1]);
    const text = (isShuffled: boolean) =>
      issuesOf({ ...withFields(survey, after.id, { text: `{{question:${one.id}}}` }), isShuffled }).length;
    assert.deepEqual([text(false), text(true)], [0, 1]);
  });

  it('is an option of an earlier question for options and rows, too', () => {
    const { survey, questions } = surveyOf([
      yesNo,
      { type: 'MATRIX', options: [{ text: 'a' }], settings: { rows: [{ text: 'b' }, { text: 'c' }] } },
    ]);
    const [first, grid] = questions as [Question, Question];
    const [gone, own] = [{ ...answered(first), questionId: 'gone' } as Condition, answered(grid)];
    const wrong = withFields(survey, grid.id, {
      options: grid.options.map((option) => ({ ...option, visibleIf: own })),
      rows: grid.rows.map((item, index) => ({ ...item, ...(index === 1 && { visibleIf: gone }) })),
    });
    assert.deepEqual(
      checkPaths(wrong).map(({ path }) => path.replace(`questions.${grid.id}.`, '')),
      ['options.0.visibleIf.questionId', 'settings.rows.1.visibleIf.questionId'],
    );
  });

  it('is any question for a quota', () => {
    const { survey, questions } = surveyOf([yesNo, yesNo]);
    const [, second] = questions as [Question, Question];
    const quota = (where: Condition) => issuesOf(survey, { quotas: [{ id: 'q1', name: 'Q', where }] });
    assert.deepEqual(quota(answered(second)), []);
    assert.deepEqual(quota({ questionId: second.id, operator: 'rankedAtMost', optionId: 'x', rank: 1 }).length, 1);
    assert.match(quota({ questionId: 'gone', operator: 'answered' }).join(), /^quotas\.q1\.where\.questionId: is not/);
  });
});

describe('optionsFrom', () => {
  it('fits choices, MATRIX and RANKING, and names an earlier question with options', () => {
    const from = (own: TypeName, source: TypeName): string => {
      const { survey, question } = withQuestion(full.survey, {
        type: own,
        text: 'Own',
        ...(['MULTIPLE_CHOICE', 'CHECKBOXES', 'DROPDOWN', 'RANKING', 'MATRIX'].includes(own) && {
          options: [{ text: 'a' }],
        }),
        ...(own === 'MATRIX' && { settings: { rows: [{ text: 'b' }] } }),
      });
      const optionsFrom = { questionId: full.questions[source].id, which: 'selected' as const };
      return issuesOf(withFields(survey, question.id, { optionsFrom }))
        .join()
        .replace(`questions.${question.id}.`, '');
    };
    for (const own of ['MULTIPLE_CHOICE', 'CHECKBOXES', 'DROPDOWN', 'MATRIX', 'RANKING'] as const)
      for (const source of ['MULTIPLE_CHOICE', 'CHECKBOXES', 'DROPDOWN', 'RANKING', 'YES_NO', 'LIKERT_SCALE'] as const)
        assert.equal(from(own, source), '', `${own} from ${source}`);
    for (const own of ['YES_NO', 'LIKERT_SCALE', 'NPS', 'SHORT_TEXT'] as const)
      assert.match(from(own, 'CHECKBOXES'), /^optionsFrom: needs a MULTIPLE_CHOICE/);
    for (const source of ['MATRIX', 'NPS', 'SHORT_TEXT'] as const)
      assert.equal(from('CHECKBOXES', source), 'optionsFrom.questionId: must be a question with options and no rows');
    const [first] = full.survey.questions as [Question];
    const later = withFields(full.survey, first.id, {
      optionsFrom: { questionId: full.questions.DROPDOWN.id, which: 'selected' },
    });
    assert.match(issuesOf(later).join(), /optionsFrom\.questionId: must be an earlier question$/);
  });
});

describe('placeholders', () => {
  const { survey, questions } = surveyOf([
    { type: 'YES_NO' },
    { type: 'MATRIX', options: [{ text: 'a' }], settings: { rows: [{ text: 'b' }] } },
    { type: 'FILE_UPLOAD' },
    { type: 'CHECKBOXES', options: [{ text: 'a' }] },
  ]);
  const [yesNo, grid, upload, own] = questions as [Question, Question, Question, Question];
  const issues = (text: string) =>
    issuesOf(withFields(survey, own.id, { text })).map((issue) => issue.split('.text: ')[1]);

  it('name earlier questions, rows of a MATRIX, metadata and the invitation', () => {
    for (const text of [
      `{{question:${yesNo.id}}}`,
      `{{ question: ${yesNo.id} |fallback}}`,
      `{{question:${grid.id}:row:${grid.rows[0]?.id}|none}} {{metadata:any key}} {{invitation:name|}}`,
      'plain {{name}} {{}} {{other:x}}',
    ])
      assert.deepEqual(issues(text), [], text);
    assert.deepEqual(issues('{{question:gone}}'), ['{{question:gone}} is not a question of this survey']);
    assert.deepEqual(issues(`a {{question:${own.id}|b}}`), [`{{question:${own.id}|b}} must be an earlier question`]);
    assert.match(issues(`{{question:${grid.id}}}`).join(), /is a MATRIX: name one of its rows as well$/);
    assert.match(issues(`{{question:${grid.id}:row:x}}`).join(), /has no such row$/);
    assert.match(issues(`{{question:${yesNo.id}:row:x}}`).join(), /has no rows$/);
    assert.match(issues(`{{question:${upload.id}}}`).join(), /is an upload/);
    for (const text of ['{{question:}}', '{{metadata: |a}}', `{{question:${yesNo.id}:column:x}}`])
      assert.match(issues(text).join(), /is not a placeholder$/, text);
  });

  it('are checked in every text, also of translations', () => {
    const wrong = '{{question:gone}}';
    const everywhere = withFields(
      { ...survey, title: wrong, description: wrong, sections: [sectionOf(0, { title: wrong, description: wrong })] },
      own.id,
      { text: wrong, description: wrong, options: own.options.map((option) => ({ ...option, text: wrong })) },
    );
    assert.equal(checkPaths(everywhere).length, 7);
    const strings = {
      title: { text: wrong },
      [`${own.id}.text`]: { text: `{{question:${yesNo.id}}}` },
      [`${yesNo.id}.text`]: { text: `{{question:${own.id}}}` },
      [own.options[0]?.id ?? '']: { text: wrong },
      'gone.text': { text: wrong },
    };
    assert.deepEqual(
      checkPaths(survey, { translations: [{ language: 'de', strings }] }).map(({ path }) => path),
      ['translations.de.title', `translations.de.${yesNo.id}.text`, `translations.de.${own.options[0]?.id}`],
    );
    assert.equal(placeholderIssue(survey, { kind: 'text', questionId: own.id }, `{{question:${yesNo.id}}}`), undefined);
    assert.match(
      placeholderIssue(survey, { kind: 'text' }, `{{question:${yesNo.id}}}`) ?? '',
      /must be an earlier question$/,
    );
  });
});

describe('a survey', () => {
  it('has at most 2,000 leaves in its conditions together', () => {
    const leaf: Condition = { metadata: 'key', operator: 'answered' };
    const { survey, questions } = surveyOf([{ type: 'YES_NO' }]);
    const [only] = questions as [Question];
    const skips = (count: number) =>
      Array.from({ length: count / 50 }, () => ({ if: { all: Array.from({ length: 50 }, () => leaf) }, to: 'END' }));
    assert.deepEqual(issuesOf(withFields(survey, only.id, { skips: skips(surveyLeavesAtMost) })), []);
    const over = withFields(survey, only.id, { skips: skips(surveyLeavesAtMost), visibleIf: leaf });
    assert.deepEqual(issuesOf(over), [': the conditions of a survey may have 2000 leaves together']);
  });
});
