import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFormerVersions, type JudgingSurvey } from '../../../src/actors/former-versions.ts';
import type { CachedSurvey } from '../../../src/actors/survey-cache.ts';
import { askedSurvey, createStatusReader } from '../../../src/domain/analytics/asked.ts';
import { withNotedVersions } from '../../../src/domain/not-asked.ts';
import type { AnswerRow, GivenAnswer } from '../../../src/domain/questions/contract.ts';
import { settleChange } from '../../../src/domain/settle-change.ts';
import { checkAnswers, compileSurvey, readAnswers } from '../../../src/domain/submission/answers.ts';
import type { Question, SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { addQuestion, editQuestion } from '../../../src/domain/survey-edits.ts';
import type { SurveyDefinition } from '../../../src/stores/postgres/survey-versions.ts';
import { labels, sectionOf, surveyOf } from '../../support/path-surveys.ts';
import { blankSurvey, nextId } from '../../support/questions.ts';

const day = 24 * 3600 * 1000;

it('a former version is gone thirty days after it was replaced, also if it was loaded before', async () => {
  const survey = { ...blankSurvey(), version: 3 };
  let [nowMs, loads] = [29 * day, 0];
  const { forSubmission: judgedBy } = createFormerVersions({
    versions: {
      find: async () => {
        loads += 1;
        return { definition: survey, createdAt: new Date(0), replacedAt: new Date(0) };
      },
    },
    now: () => nowMs,
  });
  const cached = { survey } as CachedSurvey;
  assert.equal(typeof (await judgedBy(cached, 2)), 'object');
  nowMs = 30 * day;
  assert.equal(typeof (await judgedBy(cached, 2)), 'object');
  nowMs += 1;
  assert.deepEqual([await judgedBy(cached, 2), loads], ['gone', 1]);
  assert.equal(await judgedBy(cached, 4), 'never was');
});

it('a former version is gone once it is more than twenty versions back', async () => {
  const survey = { ...blankSurvey(), version: 30 };
  const { forSubmission: judgedBy } = createFormerVersions({
    versions: { find: async () => ({ definition: survey, createdAt: new Date(0), replacedAt: new Date(0) }) },
    now: () => day,
  });
  const cached = { survey } as CachedSurvey;
  assert.equal(typeof (await judgedBy(cached, 10)), 'object');
  assert.equal(await judgedBy(cached, 9), 'gone');
});

it('a response that is continued may be for thirty days from its last save', async () => {
  const survey = { ...blankSurvey(), version: 3 };
  const { forSubmission: judgedBy } = createFormerVersions({
    versions: {
      find: async (_, version) => ({
        definition: survey,
        createdAt: new Date(0),
        replacedAt: version === 2 ? new Date(50 * day) : null,
      }),
    },
    now: () => 90 * day,
  });
  const cached = { survey } as CachedSurvey;
  assert.equal(await judgedBy(cached, 2), 'gone');
  assert.equal(typeof (await judgedBy(cached, 2, 61 * day)), 'object');
  assert.equal(await judgedBy(cached, 2, 59 * day), 'gone');
  // A version that nothing has replaced is as good as the present one.
  assert.equal(typeof (await judgedBy(cached, 1, 1 * day)), 'object');
});

it('a removed question is found as the last version with it asks it, while that one may be submitted to', async () => {
  const { survey } = surveyOf([{ type: 'FILE_UPLOAD' }, { type: 'YES_NO' }]);
  const [file, other] = survey.questions as [Question, Question];
  const present = { ...survey, version: 4, questions: [other, { ...file, isHidden: true }] };
  const cached = { survey: present, compiled: compileSurvey(present) };
  let nowMs = 40 * day;
  const { removedQuestion } = createFormerVersions({
    versions: {
      find: async (_, version) => ({
        definition: {
          ...survey,
          questions: version === 3 ? [other] : [{ ...file, text: `as in ${version}` }, other],
        },
        createdAt: new Date(0),
        replacedAt: new Date(version * 10 * day),
      }),
    },
    now: () => nowMs,
  });
  assert.equal((await removedQuestion(cached, file.id))?.text, 'as in 2');
  assert.equal(await removedQuestion(cached, other.id), undefined);
  nowMs = 50 * day + 1;
  assert.equal(await removedQuestion(cached, file.id), undefined);
});

describe('a response that was saved at a later version, and goes on by a former one', () => {
  const judgingOf = (survey: SurveyWithQuestions): JudgingSurvey => ({ survey, compiled: compileSurvey(survey) });
  /** The survey after an edit, as it is saved. */
  const edited = (survey: SurveyWithQuestions, after: SurveyWithQuestions): SurveyWithQuestions =>
    withNotedVersions(survey, { ...settleChange(survey, after).survey, version: survey.version + 1 });
  const changed = (survey: SurveyWithQuestions, question: Question | undefined, body: object) =>
    edited(survey, editQuestion(survey, question?.id ?? '', body, { isAnswered: false, newId: nextId }));
  /** As it is stored: without what the version does not have. */
  const definitionOf = ({ title, description, language, questions, sections, isShuffled }: SurveyWithQuestions) =>
    JSON.parse(
      JSON.stringify({ title, description, language, questions, sections, ...(isShuffled && { isShuffled }) }),
    ) as SurveyDefinition;
  /** The former version as the service judges by it. */
  const formerOf = async (former: SurveyWithQuestions, present: SurveyWithQuestions): Promise<JudgingSurvey> => {
    const found = { definition: definitionOf(former), createdAt: new Date(0), replacedAt: new Date(0) };
    const { forSubmission } = createFormerVersions({ versions: { find: async () => found }, now: () => day });
    const judging = await forSubmission(judgingOf(present), former.version);
    return typeof judging === 'object' ? judging : assert.fail(judging);
  };
  const rowOf = ({ compiled }: JudgingSurvey, answers: object[], options: object = {}): AnswerRow => {
    const checked = checkAnswers(compiled, answers, { isComplete: false, uploads: new Map(), ...options });
    return checked.ok ? checked.row : assert.fail(JSON.stringify(checked.issues));
  };
  /** What is stored of a part at the present version, and a submission by the former one after it. */
  const twice = async (
    [former, present]: readonly [SurveyWithQuestions, SurveyWithQuestions],
    first: object[],
    next: object[],
    options: object = {},
  ): Promise<AnswerRow> => {
    const previous = rowOf(judgingOf(present), first);
    return rowOf(await formerOf(former, present), next, { previous, ...options });
  };
  const chosen = (survey: SurveyWithQuestions, row: AnswerRow) =>
    readAnswers(compileSurvey(survey), row).map(({ questionId, optionId, ...rest }: GivenAnswer) => {
      const question = survey.questions.find(({ id }) => id === questionId);
      return { ...rest, value: question?.options.find(({ id }) => id === optionId)?.value };
    });
  const statusIn = (
    survey: SurveyWithQuestions,
    row: AnswerRow,
    { question, ...more }: { question: Question | undefined; outcome: 'PARTIAL' | 'COMPLETED'; surveyVersion: number },
  ) => createStatusReader(askedSurvey(survey))({ row, ...more }).of(question?.id ?? '');
  /** An option of a question by its place. */
  const nth = (survey: SurveyWithQuestions, place: number, rank?: number) => {
    const [question] = survey.questions;
    return { questionId: question?.id, optionId: question?.options[place]?.id, ...(rank && { rank }) };
  };
  const grown = (type: 'RANKING' | 'CHECKBOXES', values: readonly string[], settings: object = {}) => {
    const options = values.map((value) => ({ text: value, value }));
    const { survey, questions } = surveyOf([{ type, options: options.slice(0, -1), settings: { ...settings } }]);
    return [survey, changed(survey, questions[0], { options })] as const;
  };

  it('replaces all ranks, also of an item that came later', async () => {
    const [former, present] = grown('RANKING', ['a', 'b', 'c']);
    const first = [nth(present, 2, 1), nth(present, 0, 2)];
    const row = await twice([former, present], first, [nth(former, 1, 1), nth(former, 0, 2)]);
    assert.deepEqual(chosen(present, row), [
      { rank: 1, value: 'b' },
      { rank: 2, value: 'a' },
    ]);
  });

  it('replaces all ticks, also of an option that came later', async () => {
    const values = Array.from({ length: 17 }, (_, index) => `o${index + 1}`);
    const [former, present] = grown('CHECKBOXES', values, { maxSelections: 1 });
    const row = await twice([former, present], [nth(present, 16)], [nth(former, 0)]);
    assert.deepEqual(chosen(present, row), [{ value: 'o1' }]);
  });

  it('keeps a free text that could not be given before, and its conditions read it', async () => {
    const { survey, questions } = surveyOf([
      { type: 'MULTIPLE_CHOICE', options: labels },
      ([one]) => ({
        type: 'SHORT_TEXT',
        visibleIf: { questionId: one?.id ?? '', operator: 'isAnyOf', optionIds: [one?.options[0]?.id ?? ''] },
      }),
      { type: 'SHORT_TEXT' },
    ]);
    const present = changed(survey, questions[0], { settings: { allowOther: true } });
    const last = [{ questionId: questions[2]?.id, textValue: 'last' }];
    const other = [{ questionId: questions[0]?.id, textValue: 'another' }];
    const row = await twice([survey, present], other, last);
    assert.deepEqual(
      readAnswers(compileSurvey(present), row).map(({ textValue }) => textValue),
      ['another', 'last'],
    );
    assert.deepEqual(chosen(present, await twice([survey, present], other, [nth(survey, 0)])), [{ value: 'ant' }]);
  });

  it('may name a point of a scale that was deleted since', async () => {
    for (const type of ['LIKERT_SCALE', 'MATRIX'] as const)
      for (const isAnswered of [true, false])
        for (const deleted of [2, 0]) {
          const rows = type === 'MATRIX' ? { settings: { rows: [{ text: 'row', value: 'row' }] } } : {};
          const { survey, questions } = surveyOf([{ type, options: labels, ...rows }, { type: 'SHORT_TEXT' }]);
          const [scale = assert.fail(), text] = questions;
          const options = scale.options
            .filter((_, place) => place !== deleted)
            .map(({ id, text: label }) => ({ id, text: label }));
          const present = edited(survey, editQuestion(survey, scale.id, { options }, { isAnswered, newId: nextId }));
          const rowId = scale.rows[0] && { rowId: scale.rows[0].id };
          const named = { ...nth(survey, deleted), ...rowId };
          const first = [{ questionId: text?.id, textValue: 'first' }];
          // Without answers the other points take the place of the deleted one, and mean something else.
          const isGone = deleted === 0 && !isAnswered;
          const saved = twice([survey, present], first, [named]);
          if (isGone) await assert.rejects(saved, /gone/);
          else
            assert.deepEqual(chosen(present, await saved), [
              { ...rowId, value: labels[deleted]?.value },
              { textValue: 'first', value: undefined },
            ]);
        }
  });

  it('says nothing of what the later version did not ask', async () => {
    const { survey, questions } = surveyOf([{ type: 'YES_NO' }, { type: 'SHORT_TEXT' }]);
    const [one, other] = questions;
    const yes = one?.options[0]?.id ?? '';
    const conditional = changed(survey, other, {
      visibleIf: { questionId: one?.id, operator: 'isAnyOf', optionIds: [yes] },
    });
    // Its marks take more than one code position.
    const added = { type: 'SHORT_TEXT', text: 'Added' } as never;
    const grownTwice = Array.from({ length: 20 }).reduce<SurveyWithQuestions>(
      (after) => addQuestion(after, added, { id: nextId(), newId: nextId }),
      conditional,
    );
    const present = edited(conditional, grownTwice);
    const no = [{ questionId: one?.id, textValue: 'no' }];
    const row = await twice([survey, present], no, [], { isComplete: true });
    const asComplete = { question: other, outcome: 'COMPLETED', surveyVersion: survey.version } as const;
    assert.equal(statusIn(present, row, asComplete), 'SKIPPED');
    assert.deepEqual(row, rowOf(await formerOf(survey, present), no, { isComplete: true }), 'as if sent at once');
  });

  it('marks what it was not asked in the order of that version, which shuffled nothing', async () => {
    const sections = [0, 1].map((order) => sectionOf(order));
    const sketches = [...sections, ...sections].map(({ id }) => ({ type: 'SHORT_TEXT', sectionId: id }) as const);
    const { survey, questions } = surveyOf(sketches, sections);
    const [one, other] = questions;
    // A condition brings the marks.
    const former = changed(survey, questions[2], { visibleIf: { language: ['en'] } });
    const present = edited(former, { ...former, isShuffled: true });
    const judging = await formerOf(former, present);
    const statuses = Array.from({ length: 20 }, () => {
      const row = rowOf(judging, [{ questionId: one?.id, textValue: 'x' }], { responseId: nextId() });
      return statusIn(present, row, { question: other, outcome: 'PARTIAL', surveyVersion: former.version });
    });
    assert.deepEqual([...new Set(statuses)], ['NOT_ASKED']);
  });
});
