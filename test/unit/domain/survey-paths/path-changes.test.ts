import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { brokenBy, settledPaths, withoutBroken } from '../../../../src/domain/survey-paths/path-changes.ts';
import { checkPaths } from '../../../../src/domain/survey-paths/path-checks.ts';
import { Problem } from '../../../../src/errors.ts';
import { sectionOf, surveyOf, withFields } from '../../../support/path-surveys.ts';
import { withQuestion } from '../../../support/questions.ts';

const answered = ({ id }: Question): Condition => ({ questionId: id, operator: 'answered' });
const labels = ['ant', 'bee'].map((text) => ({ text }));
const [one, two] = [sectionOf(0), sectionOf(1)];

/** A survey in which everything that can name something names the first question. */
function makeSurvey() {
  const { survey, questions } = surveyOf(
    [
      { type: 'CHECKBOXES', options: labels },
      { type: 'CHECKBOXES', options: labels, sectionId: one.id },
      { type: 'MATRIX', options: labels, settings: { rows: labels }, sectionId: two.id },
      { type: 'NPS', sectionId: two.id },
    ],
    [one, two],
  );
  const [source, boxes, grid, last] = questions as [Question, Question, Question, Question];
  const includes: Condition = {
    questionId: source.id,
    operator: 'includesAny',
    optionIds: [source.options[0]?.id ?? ''],
  };
  const placeholder = `{{question:${source.id}|it}}`;
  let full = withFields(survey, boxes.id, {
    visibleIf: includes,
    skips: [
      { if: { not: answered(boxes) }, to: last.id },
      { if: answered(source), to: 'END' },
      { if: answered(boxes), to: two.id },
    ],
    text: `Why ${placeholder} and {{metadata:key}}?`,
    options: boxes.options.map((option) => ({ ...option, visibleIf: answered(source), text: placeholder })),
  });
  full = withFields(full, grid.id, {
    optionsFrom: { questionId: source.id, which: 'selected' },
    rows: grid.rows.map((row) => ({ ...row, visibleIf: answered(source) })),
    description: placeholder,
  });
  full = { ...full, sections: [one, { ...two, visibleIf: answered(source), title: placeholder }] };
  assert.deepEqual(checkPaths(full), []);
  return { survey: full, source, boxes, grid, last };
}

const { survey, source, boxes, grid, last } = makeSurvey();
const withoutSource = withFields(survey, source.id, { isHidden: true });
const strings = { [`${grid.id}.text`]: { text: `Was {{question:${source.id}}} good?` }, title: { text: 'Titel' } };
const beside = {
  quotas: [{ id: 'quota', name: 'Ants', where: { all: [answered(source)] } }],
  translations: [{ language: 'de', strings }],
};
const pathsOf = (before: SurveyWithQuestions, after: SurveyWithQuestions): string[] =>
  brokenBy(before, after).map(({ path }) => path);

describe('a change', () => {
  it('breaks all that names a deleted question, each with its place', () => {
    const broken = brokenBy(survey, withoutSource, beside);
    assert.deepEqual(
      broken.map(({ kind, path }) => `${kind} ${path}`),
      [
        `visibleIf sections.${two.id}.visibleIf.questionId`,
        `text sections.${two.id}.title`,
        `visibleIf questions.${boxes.id}.visibleIf.questionId`,
        `skip questions.${boxes.id}.skips.1.if.questionId`,
        `text questions.${boxes.id}.text`,
        `visibleIf questions.${boxes.id}.options.0.visibleIf.questionId`,
        `text questions.${boxes.id}.options.0.text`,
        `visibleIf questions.${boxes.id}.options.1.visibleIf.questionId`,
        `text questions.${boxes.id}.options.1.text`,
        `text questions.${grid.id}.description`,
        `visibleIf questions.${grid.id}.settings.rows.0.visibleIf.questionId`,
        `visibleIf questions.${grid.id}.settings.rows.1.visibleIf.questionId`,
        `optionsFrom questions.${grid.id}.optionsFrom.questionId`,
        `text translations.de.${grid.id}.text`,
        'quota quotas.quota.where.all.0.questionId',
      ],
    );
    const byPlace = (part: object) =>
      broken.filter((item) => Object.entries(part).every(([key, value]) => (item as never)[key] === value)).length;
    assert.equal(byPlace({ questionId: boxes.id, optionId: boxes.options[1]?.id }), 2);
    assert.equal(byPlace({ questionId: grid.id, rowId: grid.rows[0]?.id }), 1);
    assert.equal(byPlace({ sectionId: two.id }), 2);
    assert.equal(byPlace({ language: 'de', questionId: grid.id }), 1);
    assert.equal(byPlace({ quotaId: 'quota', quotaName: 'Ants' }), 1);
  });

  it('without consequences breaks nothing', () => {
    assert.deepEqual(brokenBy(survey, survey, beside), []);
    assert.deepEqual(pathsOf(survey, withFields(survey, source.id, { text: 'Another text' })), []);
    assert.deepEqual(pathsOf(survey, withFields(survey, last.id, { type: 'SHORT_TEXT', settings: {} })), []);
    assert.equal(settledPaths(survey, survey, { removeConditions: false }), survey);
  });

  it('breaks what names a deleted option, or a type or scale that is no longer there', () => {
    const option = withFields(survey, source.id, {
      options: source.options.map((item, index) => ({ ...item, isHidden: index === 0 })),
    });
    assert.deepEqual(pathsOf(survey, option), [`questions.${boxes.id}.visibleIf.optionIds.0`]);
    const retyped = withFields(survey, source.id, { type: 'DROPDOWN', settings: { allowOther: false } });
    assert.deepEqual(pathsOf(survey, retyped), [`questions.${boxes.id}.visibleIf.operator`]);
    const { survey: rated, questions } = surveyOf([
      { type: 'RATING_SCALE' },
      ([first]) => ({ type: 'NPS', visibleIf: { questionId: first?.id ?? '', operator: 'equals', value: 5 } }),
    ]);
    const [scale, asked] = questions as [Question, Question];
    const shorter = withFields(rated, scale.id, { settings: { min: 1, max: 4, step: 1 } });
    assert.deepEqual(pathsOf(rated, shorter), [`questions.${asked.id}.visibleIf.value`]);
  });

  it('breaks what is moved behind its source or before it, or shuffled with it', () => {
    const moved = {
      ...survey,
      questions: [boxes, grid, last, source].map(
        ({ id }) => survey.questions.find((item) => item.id === id) as Question,
      ),
    };
    // Sections come in their order, so that the source stays before them.
    assert.deepEqual(pathsOf(survey, moved), []);
    assert.ok(pathsOf(survey, withFields(moved, source.id, { sectionId: two.id })).length > 10);
    const sections = [
      { ...two, order: 0, visibleIf: answered(source), title: '' },
      { ...one, order: 1 },
    ];
    assert.deepEqual(pathsOf(survey, { ...survey, sections }), [
      `questions.${boxes.id}.skips.0.to`,
      `questions.${boxes.id}.skips.2.to`,
    ]);
    assert.deepEqual(pathsOf(survey, { ...survey, isShuffled: true }), [
      `questions.${boxes.id}.skips.0.to`,
      `questions.${boxes.id}.skips.2.to`,
    ]);
    const gone = withFields({ ...survey, sections: [one] }, grid.id, {});
    assert.ok(pathsOf(survey, gone).includes(`questions.${boxes.id}.skips.2.to`));
  });

  it('does not break what did not work before', () => {
    const wrong = withFields(survey, last.id, { visibleIf: { questionId: 'gone', operator: 'answered' } });
    assert.deepEqual(pathsOf(wrong, withFields(wrong, source.id, { text: 'Another text' })), []);
  });
});

describe('the survey after a change', () => {
  const refusal = (after: SurveyWithQuestions, before = survey): Problem => {
    try {
      settledPaths(before, after, { removeConditions: false, beside });
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
    throw new Error('the change was taken');
  };

  it('is refused with VALIDATION_ERROR if what is given anew is wrong, with paths as in the body', () => {
    const wrong: Condition = { any: [answered(source), { questionId: last.id, operator: 'equals', value: 99 }] };
    const problem = refusal(withFields(survey, boxes.id, { visibleIf: wrong }));
    assert.equal(problem.code, 'VALIDATION_ERROR');
    assert.deepEqual(problem.details, [{ path: 'visibleIf.any.1.questionId', message: 'must be an earlier question' }]);
    const added = withQuestion(survey, { type: 'NPS', text: 'New {{question:gone}}' });
    assert.deepEqual(refusal(added.survey).details, [
      { path: 'text', message: '{{question:gone}} is not a question of this survey' },
    ]);
    const both = withFields(withFields(survey, boxes.id, { visibleIf: wrong }), grid.id, { visibleIf: answered(last) });
    assert.deepEqual(
      (refusal(both).details as readonly { path: string }[]).map(({ path }) => path),
      [`questions.${boxes.id}.visibleIf.any.1.questionId`, `questions.${grid.id}.visibleIf.questionId`],
    );
  });

  it('does not name a value of the invitation by its stored key, unless it did before', () => {
    const stored: Condition = { metadata: 'invitation:group', operator: 'answered' };
    const text = 'Dear {{metadata:invitation:name|guest}}';
    const former = withFields(survey, last.id, { visibleIf: stored, text });
    assert.deepEqual(
      (refusal(former).details as readonly { path: string; message: string }[]).map(({ path, message }) => [
        path,
        message,
      ]),
      [
        ['visibleIf.metadata', 'is a value of the invitation: name it as invitation, group'],
        ['text', '{{metadata:invitation:name|guest}} is a value of the invitation: name it as invitation, name'],
      ],
    );
    const edited = withFields(former, last.id, { isRequired: true });
    assert.equal(settledPaths(former, edited, { removeConditions: false, beside }), edited);
  });

  it('is refused with CONDITION_BROKEN if what stays no longer works', () => {
    const problem = refusal(withoutSource);
    assert.deepEqual([problem.code, problem.status], ['CONFLICT', 409]);
    const { reason, broken } = problem.details as { reason: string; broken: object[] };
    assert.deepEqual([reason, broken.length], ['CONDITION_BROKEN', 15]);
    assert.deepEqual(broken, JSON.parse(JSON.stringify(broken)));
    assert.match(problem.message, new RegExp(`would break sections.${two.id}.visibleIf.questionId and 14 more`));
  });

  it('tells a skip that is given anew from those that only moved in their list', () => {
    const skips = survey.questions.find(({ id }) => id === boxes.id)?.skips ?? [];
    const after = withFields(withoutSource, boxes.id, {
      ...withoutSource.questions[1],
      skips: [{ if: answered(source), to: two.id }, ...skips],
    });
    assert.deepEqual(refusal(after).details, [
      { path: 'skips.0.if.questionId', message: 'is not a question of this survey' },
    ]);
  });

  it('loses with removeConditions what the change breaks, and nothing else', () => {
    const settled = settledPaths(survey, withoutSource, { removeConditions: true, beside });
    assert.deepEqual(checkPaths(settled), []);
    const [, , repairedGrid, repairedLast] = settled.questions as [Question, Question, Question, Question];
    const repaired = settled.questions[1] as Question;
    assert.equal('visibleIf' in repaired, false);
    assert.deepEqual(repaired.skips, [
      { if: { not: answered(boxes) }, to: last.id },
      { if: answered(boxes), to: two.id },
    ]);
    assert.equal(repaired.text, 'Why it and {{metadata:key}}?');
    assert.deepEqual(
      repaired.options.map(({ text, visibleIf }) => [text, visibleIf]),
      [
        ['it', undefined],
        ['it', undefined],
      ],
    );
    assert.equal('optionsFrom' in repairedGrid, false);
    assert.ok(repairedGrid.rows.every((row) => !('visibleIf' in row)));
    assert.equal(repairedGrid.description, 'it');
    assert.equal(repairedLast, withoutSource.questions[3]);
    assert.deepEqual(settled.sections, [one, { ...two, visibleIf: null, title: 'it' }]);
  });

  it('has no empty text where a placeholder was all there was', () => {
    const [first] = survey.questions as [Question];
    const bare = withFields(survey, last.id, { text: `{{question:${first.id}}}` });
    const after = withFields(bare, source.id, { isHidden: true });
    assert.equal(withoutBroken(after, brokenBy(bare, after)).questions[3]?.text, '…');
  });

  it('may have no more than 2,000 leaves unless it has fewer than before', () => {
    const leaf: Condition = { metadata: 'key', operator: 'answered' };
    const skips = (count: number) => Array.from({ length: count }, () => ({ if: leaf, to: 'END' }));
    const large = withFields(survey, last.id, { skips: skips(2001) });
    assert.match(refusal(large).message, /2000 leaves together/);
    assert.ok(settledPaths(withFields(survey, last.id, { skips: skips(2002) }), large, { removeConditions: false }));
  });
});
