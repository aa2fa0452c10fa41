import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { questionWithNewIds } from '../../../src/domain/new-ids.ts';
import {
  hasHadPaths,
  hasPathFeatures,
  notAskedPlace,
  withNotAskedBits,
  withNotedVersions,
} from '../../../src/domain/not-asked.ts';
import { maxCodePositions } from '../../../src/domain/questions/slot-allocation.ts';
import type { CellQuota } from '../../../src/domain/quotas/cell-quota.ts';
import { compileSurvey } from '../../../src/domain/submission/answers.ts';
import type { Question, SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { Problem } from '../../../src/errors.ts';
import { blankSurvey, nextId, withQuestion } from '../../support/questions.ts';

const answered = (questionId: string) => ({ questionId, operator: 'answered' }) as const;

function surveyOf(count: number): SurveyWithQuestions {
  let survey = blankSurvey();
  for (let n = 0; n < count; n += 1) survey = withQuestion(survey, { type: 'YES_NO', text: `Question ${n}?` }).survey;
  return survey;
}

/** The survey with one question changed. */
function changed(survey: SurveyWithQuestions, index: number, change: (question: Question) => Partial<Question>) {
  const questions = survey.questions.map((question, place) =>
    place === index ? { ...question, ...change(question) } : question,
  );
  return { ...survey, questions };
}

const conditional = (survey: SurveyWithQuestions) =>
  changed(survey, 1, () => ({ visibleIf: answered(survey.questions[0]?.id ?? '') }));
const bitsOf = ({ questions }: SurveyWithQuestions) =>
  questions.flatMap(({ notAsked = {} }) => Object.values(notAsked));

describe('where a response says what was not asked', () => {
  it('takes nothing from a survey that asks everybody the same in the same order', () => {
    const survey = surveyOf(3);
    assert.equal(hasPathFeatures(survey), false);
    assert.equal(withNotAskedBits(survey), survey);
    const divided = { ...survey, sections: [{ ...section, visibleIf: null }] };
    assert.equal(withNotAskedBits(divided), divided);
    assert.equal(bitsOf(withNotAskedBits({ ...divided, isShuffled: true })).length, 3);
    const within = { ...divided, sections: [{ ...section, visibleIf: null, isShuffled: true }] };
    assert.equal(bitsOf(withNotAskedBits(within)).length, 3);
  });

  it('takes bits for a quota that may end a response with a part, as far as there is room', () => {
    const bare = surveyOf(3);
    const quota: CellQuota = {
      id: nextId(),
      code: 1,
      name: 'Yes',
      limit: 1,
      where: answered(bare.questions[0]?.id ?? ''),
      counts: 'STARTED',
      whenFull: 'OVER_QUOTA',
      isActive: true,
      version: 1,
    };
    const withQuota = (fields: Partial<CellQuota>, survey = bare) =>
      withNotAskedBits({ ...survey, quotas: [{ ...quota, ...fields }] });
    const limited = withQuota({});
    assert.equal(bitsOf(limited).length, 3);
    for (const fields of [{ isActive: false }, { counts: 'COMPLETED' }, { whenFull: 'CLOSE' }] as const)
      assert.deepEqual(bitsOf(withQuota(fields)), []);
    const full = { ...bare, slotCounts: { ...bare.slotCounts, codes: maxCodePositions } };
    assert.deepEqual(bitsOf(withQuota({}, full)), []);
    const sixteen = withNotAskedBits({ ...surveyOf(16), quotas: [quota] });
    const { survey: seventeen } = withQuestion(
      { ...sixteen, slotCounts: { ...sixteen.slotCounts, codes: maxCodePositions - 1 } },
      { type: 'YES_NO', text: 'One more?' },
    );
    assert.equal(bitsOf(withNotAskedBits(seventeen)).length, 16);
    // By which version a response goes on is a matter of paths.
    const later = withNotedVersions(limited, { ...limited, version: limited.version + 1 });
    assert.deepEqual([later.partialsMarkedFrom, hasHadPaths(later)], [undefined, false]);
    const first = withNotedVersions(later, { ...conditional(later), version: later.version + 1 });
    assert.equal(first.partialsMarkedFrom, first.version);
    const without = withNotedVersions(first, {
      ...later,
      partialsMarkedFrom: first.version,
      version: first.version + 1,
    });
    assert.ok(hasHadPaths(without));
  });

  it('is a bit for each question, sixteen to a code position', () => {
    const survey = withNotAskedBits(conditional(surveyOf(20)));
    assert.equal(survey.slotCounts.codes, 22);
    assert.deepEqual(
      bitsOf(survey).map(notAskedPlace),
      Array.from({ length: 20 }, (_, n) => ({ position: n < 16 ? 20 : 21, mask: 1 << (n % 16) })),
    );
  });

  it('goes on in the last word, and never uses a bit again', () => {
    const first = withNotAskedBits(conditional(surveyOf(15)));
    const deleted = changed(first, 14, () => ({ isHidden: true }));
    const grown = withNotAskedBits(
      withQuestion(withQuestion(deleted, { type: 'YES_NO', text: 'A?' }).survey, { type: 'YES_NO', text: 'B?' }).survey,
    );
    const bits = bitsOf(grown);
    assert.equal(new Set(bits).size, 17);
    assert.deepEqual(notAskedPlace(bits[15] ?? 0), { position: 15, mask: 1 << 15 });
    // Positions 16 and 17 went to the two questions.
    assert.deepEqual(notAskedPlace(bits[16] ?? 0), { position: 18, mask: 1 });
    assert.equal(withNotAskedBits(grown), grown, 'a second look changes nothing');
  });

  it('stays when the last condition goes', () => {
    const before = withNotAskedBits(conditional(surveyOf(2)));
    const { visibleIf: _, ...rest } = before.questions[1] as Question;
    const after = { ...before, questions: [before.questions[0] as Question, rest] };
    assert.equal(hasPathFeatures(after), false);
    assert.equal(withNotAskedBits(after), after);
    assert.equal(withNotAskedBits(conditional(after)).slotCounts.codes, before.slotCounts.codes);
    const grown = withNotAskedBits(withQuestion(after, { type: 'YES_NO', text: 'New?' }).survey);
    assert.equal(bitsOf(grown).length, 3, 'a new question gets its own, since partial responses go on to mark');
  });

  it('has a bit for each row that can be hidden alone', () => {
    const { survey, question } = withQuestion(surveyOf(1), {
      type: 'MATRIX',
      text: 'How are these?',
      options: [{ text: 'good' }, { text: 'bad' }],
      settings: { rows: [{ text: 'Bed' }, { text: 'Bath' }, { text: 'Bar' }] },
    });
    const [bed, bath, bar] = question.rows;
    const questionId = survey.questions[0]?.id ?? '';
    const one = withNotAskedBits(
      changed(survey, 1, ({ rows }) => ({
        rows: rows.map((row) => (row.id === bath?.id ? { ...row, visibleIf: answered(questionId) } : row)),
      })),
    );
    assert.deepEqual(Object.keys(one.questions[1]?.notAsked ?? {}), ['', bath?.id]);
    const all = withNotAskedBits(changed(one, 1, () => ({ optionsFrom: { questionId, which: 'selected' } })));
    assert.deepEqual(Object.keys(all.questions[1]?.notAsked ?? {}), ['', bath?.id, bed?.id, bar?.id]);
    assert.equal(new Set(bitsOf(all)).size, 5);
  });

  it('is no answer', () => {
    const survey = withNotAskedBits(conditional(surveyOf(2)));
    const { all, emptyRow } = compileSurvey(survey);
    assert.deepEqual(
      all.flatMap(({ codes }) => codes),
      [0, 1],
    );
    assert.equal(emptyRow.codes.length, 3);
  });

  it('is refused where the survey has no position left', () => {
    const full = { ...conditional(surveyOf(2)), slotCounts: { codes: maxCodePositions, numbers: 0, texts: 0 } };
    assert.throws(
      () => withNotAskedBits(full),
      (error) => error instanceof Problem && error.code === 'VALIDATION_ERROR',
    );
  });
});

const section = {
  id: '00000000-0000-7000-8000-0000000000aa',
  title: 'A page',
  description: null,
  order: 0,
  isShuffled: false,
};

describe('the first version of a question', () => {
  const matrix = (survey: SurveyWithQuestions) =>
    withQuestion(survey, {
      type: 'MATRIX',
      text: 'How are these?',
      options: [{ text: 'good' }, { text: 'bad' }],
      settings: { rows: [{ text: 'Bed' }, { text: 'Bath' }] },
    }).survey;
  const versionsIn = ({ questions }: SurveyWithQuestions) =>
    questions.map(({ firstVersion, rows }) => [firstVersion, ...rows.map((row) => row.firstVersion)]);

  it('is noted in what is added to a published survey, and stays', () => {
    const published = { ...matrix(blankSurvey()), publishedAt: new Date(), version: 4 };
    assert.deepEqual(versionsIn(withNotedVersions(published, published)), [[undefined, undefined, undefined]]);
    const more = { ...withQuestion(published, { type: 'YES_NO', text: 'More?' }).survey, version: 5 };
    const grown = withNotedVersions(published, more);
    assert.deepEqual(versionsIn(grown), [[undefined, undefined, undefined], [5]]);
    const withRow = changed({ ...grown, version: 6 }, 0, ({ rows }) => ({
      rows: [...rows, { id: 'bar', text: 'Bar', value: 'bar', code: 3, isHidden: false }],
    }));
    assert.deepEqual(versionsIn(withNotedVersions(grown, withRow)), [[undefined, undefined, undefined, 6], [5]]);
  });

  it('is none in a draft, nor in a copy', () => {
    const draft = { ...blankSurvey(), publishedAt: null };
    assert.deepEqual(versionsIn(withNotedVersions(draft, matrix(draft))), [[undefined, undefined, undefined]]);
    const [question] = matrix(draft).questions as [Question];
    const rows = question.rows.map((row) => ({ ...row, firstVersion: 3 }));
    const copy = questionWithNewIds({ ...question, rows, firstVersion: 2 }, { ids: new Map(), points: new Map() });
    assert.deepEqual(versionsIn({ ...draft, questions: [copy] }), [[undefined, undefined, undefined]]);
  });

  it('has its counterpart in the versions that do not have a question or a row any more', () => {
    const absences = ({ questions }: SurveyWithQuestions) =>
      questions.map(({ absentIn, rows }) => [absentIn, ...rows.map((row) => row.absentIn)]);
    const hide = (survey: SurveyWithQuestions, version: number, isHidden: boolean) =>
      withNotedVersions(
        survey,
        changed({ ...survey, version }, 0, ({ rows }) => ({
          rows: rows.map((row, index) => (index === 1 ? { ...row, isHidden } : row)),
        })),
      );
    const published = { ...matrix(blankSurvey()), publishedAt: new Date(), version: 4 };
    const without = hide(published, 5, true);
    assert.deepEqual(absences(without), [[undefined, undefined, [{ from: 5 }]]]);
    assert.deepEqual(absences(hide(without, 6, true)), [[undefined, undefined, [{ from: 5 }]]]);
    const again = hide(without, 7, false);
    assert.deepEqual(absences(again), [[undefined, undefined, [{ from: 5, to: 7 }]]]);
    assert.deepEqual(absences(hide(again, 8, true)), [[undefined, undefined, [{ from: 5, to: 7 }, { from: 8 }]]]);
    const removed = changed({ ...again, version: 9 }, 0, () => ({ isHidden: true }));
    const noted = withNotedVersions(again, removed);
    assert.deepEqual(absences(noted), [[[{ from: 9 }], undefined, [{ from: 5, to: 7 }]]]);
    const [question] = noted.questions as [Question];
    const copy = questionWithNewIds(question, { ids: new Map(), points: new Map() });
    assert.deepEqual(absences({ ...noted, questions: [copy] }), [[undefined, undefined, undefined]]);
    const draft = { ...matrix(blankSurvey()), publishedAt: null, version: 3 };
    assert.deepEqual(absences(hide(draft, 3, true)), [[undefined, undefined, [{ from: 3 }]]]);
    assert.deepEqual(absences(hide(hide(draft, 3, true), 3, false)), [[undefined, undefined, []]]);
    const [given] = hide(without, 6, false).questions as [Question];
    const rows = given.rows.map((row, index) => (index === 1 ? { ...row, absentIn: [{ from: 5 }] } : row));
    const hiddenAgain = hide({ ...without, questions: [{ ...given, rows }] }, 9, true);
    assert.deepEqual(absences(hiddenAgain)[0]?.[2], [{ from: 9 }], 'a former version of the service gave it again');
    let often: SurveyWithQuestions = published;
    for (let version = 5; version < 105; version += 1) often = hide(often, version, version % 2 === 1);
    const spans = absences(hide(often, 105, true))[0]?.[2] ?? [];
    assert.equal(spans.length, 20);
    assert.deepEqual([spans[0], spans.at(-1)], [{ from: 5, to: 68 }, { from: 105 }], 'the oldest are one');
  });

  it('is noted of the marks of partial responses: a draft, or the next version', () => {
    const bare = surveyOf(2);
    const draft = { ...withNotAskedBits(conditional(bare)), publishedAt: null, version: 3 };
    assert.equal(withNotedVersions(draft, draft).partialsMarkedFrom, 3);
    assert.equal(withNotedVersions({ ...bare, publishedAt: null }, bare).partialsMarkedFrom, undefined);
    const published = { ...draft, publishedAt: new Date() };
    assert.equal(withNotedVersions(published, published).partialsMarkedFrom, undefined, 'no new version');
    const changedLater = withNotedVersions(published, { ...published, version: 4 });
    assert.equal(changedLater.partialsMarkedFrom, 4);
    assert.equal(withNotedVersions(changedLater, { ...changedLater, version: 5 }).partialsMarkedFrom, 4);
  });
});
