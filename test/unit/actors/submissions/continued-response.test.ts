import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SubmissionsDeps } from '../../../../src/actors/submissions/attempt.ts';
import type { SubmissionRequest } from '../../../../src/actors/submissions/request.ts';
import type { CachedSurvey } from '../../../../src/actors/survey-cache.ts';
import { indexCollectors } from '../../../../src/domain/collectors/survey-collectors.ts';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import type { CellQuota } from '../../../../src/domain/quotas/cell-quota.ts';
import { decodeResponse } from '../../../../src/domain/response-row.ts';
import { compileSurvey, readAnswers } from '../../../../src/domain/submission/answers.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { unavailable } from '../../../../src/errors.ts';
import type { IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import {
  bareSubmissions,
  emptySubmission,
  held,
  never,
  request,
  responseId,
  surveyId,
} from '../../../support/bare-submissions.ts';
import { saysYes, surveyOf, withFields, yes, yesNo } from '../../../support/path-surveys.ts';
import { nextId } from '../../../support/questions.ts';

const row = { codes: [], numbers: [], texts: [] };
/** Of a survey without questions. */
const compiled = {
  survey: { slotCounts: { codes: 0, numbers: 0, texts: 0 } },
  byId: new Map(),
  notAskedWords: [],
  required: [],
  all: [],
  uploadIdsIn: () => [],
  collectors: indexCollectors({}),
};

describe('a response that is continued from many places at once', () => {
  it('accepts every save, each merged with the one before', async () => {
    const { survey, questions } = surveyOf(Array.from({ length: 60 }, () => ({ type: 'SHORT_TEXT' })));
    const whole = compileSurvey(survey);
    let stored = {
      version: 1,
      isComplete: false,
      surveyId,
      submittedAtMs: 0,
      savedState: JSON.stringify({ submittedAtMs: 0, language: 'ZH-hans', respondent: '', metadata: {}, row }),
    };
    const submit = bareSubmissions({
      actors: { peek: () => ({ ...held, compiled: whole }) as unknown as CachedSurvey },
      intake: {
        // As Redis does it: whoever has seen the last version is taken.
        append: async ({ observedVersion, savedState }) => {
          await Promise.resolve();
          if (observedVersion !== stored.version) return { code: 'CHANGED', remaining: 9, resetMs: 1, text: '' };
          stored = { ...stored, version: stored.version + 1, savedState };
          return { code: 'ACCEPTED', remaining: 9, resetMs: 1, text: '' };
        },
        state: async () => stored,
      },
      secrets: { resumeToken: () => 'token', isResumeToken: () => true },
    });
    const continued = ({ id: questionId }: Question): SubmissionRequest => {
      const answers = [{ questionId, textValue: 'was here' }];
      return {
        ...request(undefined),
        body: { answers },
        submission: { ...emptySubmission, answers, isComplete: false, responseId, resumeToken: 'token' },
      };
    };
    const outcomes = await Promise.all(questions.map((question) => submit(continued(question))));
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      questions.map(() => 'accepted'),
    );
    const { row: merged, language } = JSON.parse(stored.savedState);
    assert.deepEqual(
      readAnswers(whole, merged).map(({ questionId }) => questionId),
      questions.map(({ id }) => id),
    );
    assert.equal(language, 'zh-Hans', 'the form that languages have now');
  });
});

describe('the continuation of an evicted response', () => {
  const continued: SubmissionRequest = {
    ...request(undefined),
    body: { more: true },
    submission: {
      answers: [],
      isComplete: false,
      responseId,
      resumeToken: 'token',
      startedAtMs: undefined,
      respondent: undefined,
      metadata: { more: 'yes' },
      language: undefined,
      surveyToken: undefined,
      surveyVersion: undefined,
      isStrict: false,
    },
  };
  const saved = {
    submittedAtMs: 5,
    startedAtMs: 2,
    language: 'de',
    respondent: 'me',
    metadata: { first: 'yes' },
    row,
  };

  function submitWith(
    known: Pick<SubmissionsDeps, 'restore'> &
      Partial<Pick<SubmissionsDeps, 'findRecords'>> &
      Partial<SubmissionsDeps['intake']>,
  ) {
    const appended: IntakeSubmission[] = [];
    const submit = bareSubmissions({
      actors: {
        peek: () =>
          ({
            ...held,
            survey: { ...held.survey, slotCounts: compiled.survey.slotCounts, version: 1 },
            compiled,
          }) as unknown as CachedSurvey,
      },
      intake: {
        append: async (appendix) => {
          appended.push(appendix);
          return { code: appendix.mustRefuse ? 'REFUSED' : 'ACCEPTED', remaining: 7, resetMs: 1000, text: '' };
        },
        state: async () => ({ version: 4, isComplete: false, surveyId, submittedAtMs: 5, savedState: '' }),
        ...known,
      },
      restore: known.restore,
      findRecords: known.findRecords ?? (async () => []),
      secrets: { resumeToken: () => 'token', isResumeToken: () => true },
      now: () => 9,
    });
    return { submit, appended };
  }

  it('is merged with the version that the intake names', async () => {
    const { submit, appended } = submitWith({
      restore: async ({ known, codePositions }) => {
        assert.deepEqual([known, codePositions], [{ observedVersion: 4, submittedAtMs: 5 }, 0]);
        return { observedVersion: 4, isComplete: false, saved };
      },
    });
    assert.equal((await submit(continued)).kind, 'accepted');
    assert.deepEqual(
      appended.map(({ mustRefuse, observedVersion, caller }) => [mustRefuse, observedVersion, caller]),
      [
        [true, 4, 'here'],
        [false, 4, ''],
      ],
    );
    assert.deepEqual(JSON.parse(appended[1]?.savedState ?? ''), {
      ...saved,
      metadata: { first: 'yes', more: 'yes' },
      surveyVersion: 1,
      savedAtMs: 9,
    });
    assert.equal(decodeResponse(appended[1]?.row ?? '').head.version, 5);
  });

  it('has at most 20 pairs of metadata beside those of its invitation, the newest first', async () => {
    const pairs = (name: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, name]));
    let metadata: Record<string, string> = { 'invitation:team': 'red', ...pairs('a', 10) };
    const { submit, appended } = submitWith({
      restore: async () => ({ observedVersion: 4, isComplete: false, saved: { ...saved, metadata } }),
    });
    const save = async (given: Record<string, string>): Promise<string[]> => {
      const submission = { ...emptySubmission, isComplete: false, responseId, resumeToken: 'token', metadata: given };
      assert.equal((await submit({ ...continued, submission })).kind, 'accepted');
      ({ metadata } = JSON.parse(appended.at(-1)?.savedState ?? ''));
      assert.deepEqual(decodeResponse(appended.at(-1)?.row ?? '').head.metadata, metadata);
      return Object.keys(metadata);
    };
    const [a, b, c] = ['a', 'b', 'c'].map((name) => Object.keys(pairs(name, 10))) as [string[], string[], string[]];
    assert.deepEqual(await save(pairs('b', 10)), ['invitation:team', ...a, ...b]);
    // A value that is given again is new.
    assert.deepEqual(await save({ a0: 'again' }), ['invitation:team', ...a.slice(1), ...b, 'a0']);
    assert.deepEqual(await save(pairs('c', 10)), ['invitation:team', ...b.slice(1), 'a0', ...c]);
    assert.equal(metadata['a0'], 'again');
    // Objects list keys that are whole numbers first, so these count as the oldest.
    assert.deepEqual(await save({ 7: 'a number' }), ['7', 'invitation:team', ...b.slice(2), 'a0', ...c]);
    assert.deepEqual(await save({ d: 'late' }), ['invitation:team', ...b.slice(2), 'a0', ...c, 'd']);
  });

  it('is not found if it is deleted between the lookup and the submission', async () => {
    let asked = 0;
    const { submit } = submitWith({
      state: async () => undefined,
      restore: async () => (++asked === 1 ? { observedVersion: 4, isComplete: false, saved } : undefined),
      append: async ({ mustRefuse }) => ({
        code: mustRefuse ? 'REFUSED' : 'CHANGED',
        remaining: 7,
        resetMs: 1000,
        text: '',
      }),
    });
    const outcome = await submit(continued);
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.problem.code, asked], ['NOT_FOUND', 2]);
  });

  it('ends soon if the intake never accepts the restored version', async () => {
    let appended = 0;
    const { submit } = submitWith({
      state: async () => undefined,
      restore: async () => ({ observedVersion: 4, isComplete: false, saved }),
      append: async ({ mustRefuse }) => {
        appended += 1;
        return { code: mustRefuse ? 'REFUSED' : 'CHANGED', remaining: 7, resetMs: 1000, text: '' };
      },
    });
    const outcome = await submit(continued);
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual(
      [outcome.problem.code, outcome.problem.message],
      ['SERVICE_UNAVAILABLE', 'The response is being changed too often right now'],
    );
    assert.ok(appended <= 16, `tried ${appended} times`);
  });

  it('counts against the limit before the response store is asked, and is refused while that is away', async () => {
    const { submit, appended } = submitWith({
      restore: async () => {
        throw unavailable('The response store is away', 5);
      },
    });
    const outcome = await submit(continued);
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual(
      [outcome.problem.code, outcome.problem.retryAfterSeconds, outcome.rateLimit?.remaining, appended.length],
      ['SERVICE_UNAVAILABLE', 5, 7, 1],
    );
    const limited = submitWith({
      restore: never,
      findRecords: never,
      append: async () => ({ code: 'LIMITED', remaining: 0, resetMs: 1000, text: '' }),
    });
    const second = await limited.submit(continued);
    assert.ok(second.kind === 'refused' && second.problem.code === 'RATE_LIMITED');
  });

  it('is refused if no store has the response, or if it is complete', async () => {
    const state = async () => undefined;
    const reasonOf = async (restore: SubmissionsDeps['restore']) => {
      const outcome = await submitWith({ restore, state }).submit(continued);
      assert.ok(outcome.kind === 'refused');
      return outcome.problem.details && 'reason' in outcome.problem.details
        ? outcome.problem.details.reason
        : outcome.problem.code;
    };
    assert.equal(await reasonOf(async () => undefined), 'RESPONSE_NOT_FOUND');
    assert.equal(await reasonOf(async () => ({ observedVersion: 3, isComplete: true, saved })), 'ALREADY_COMPLETE');
  });
});

describe('a response that a former version saved and the present one completes', () => {
  it('is counted once by the present one', async () => {
    const { survey, questions } = surveyOf([yesNo]);
    const [asked] = questions as [Question];
    const quota: CellQuota = {
      id: nextId(),
      code: 1,
      name: 'Cell',
      limit: 2,
      where: saysYes(asked),
      counts: 'STARTED',
      whenFull: 'OVER_QUOTA',
      isActive: true,
      version: 1,
    };
    const present = { ...held.survey, ...survey, id: surveyId, version: 2, quotas: [quota] };
    const whole = compileSurvey(present);
    const { paths } = whole;
    assert.ok(paths);
    const counts: string[] = [];
    const countedPaths: typeof paths = {
      ...paths,
      judge: (...given) => {
        counts.push('judged');
        return paths.judge(...given);
      },
      cells: (answers, context, { isStarted }) => {
        counts.push(isStarted ? 'held' : 'counted');
        return paths.cells(answers, context, { isStarted });
      },
    };
    const saved = {
      submittedAtMs: 0,
      language: 'en',
      respondent: '',
      metadata: {},
      row: { codes: whole.all.map(() => 0), numbers: [], texts: [] },
      surveyVersion: 1,
      savedAtMs: 0,
    };
    const appended: IntakeSubmission[] = [];
    const submit = bareSubmissions({
      actors: {
        peek: () =>
          ({ ...held, survey: present, compiled: { ...whole, paths: countedPaths } }) as unknown as CachedSurvey,
      },
      intake: {
        append: async (appendix) => {
          appended.push(appendix);
          return { code: 'ACCEPTED', remaining: 9, resetMs: 1, text: '' };
        },
        state: async () => ({
          version: 1,
          isComplete: false,
          surveyId,
          submittedAtMs: 0,
          savedState: JSON.stringify(saved),
        }),
      },
      secrets: { resumeToken: () => 'token', isResumeToken: () => true },
    });
    const answered: SubmissionRequest = {
      ...request(undefined),
      submission: {
        ...emptySubmission,
        answers: [yes(asked)],
        responseId,
        resumeToken: 'token',
        surveyVersion: 2,
      },
    };
    assert.equal((await submit(answered)).kind, 'accepted');
    assert.deepEqual(counts, ['judged', 'held']);
    assert.deepEqual(appended[0]?.cells, [1]);
  });
});

describe('a part of a response whose former version had no paths', () => {
  /** The row of another part, by the version that the last save saw. */
  const rowWith = async (visibleIf: ((before: readonly Question[]) => Condition) | undefined) => {
    const { survey: former } = surveyOf([yesNo, yesNo]);
    const [, second = assert.fail()] = former.questions;
    const shown = visibleIf ? withFields(former, second.id, { visibleIf: visibleIf(former.questions) }) : former;
    const judging = (survey: SurveyWithQuestions, version: number) => {
      const whole = { ...held.survey, ...survey, id: surveyId, version };
      return { survey: whole, compiled: compileSurvey(whole) };
    };
    const [seen, present] = [judging(former, 1), judging(shown, 2)];
    const saved = {
      submittedAtMs: 0,
      language: 'en',
      respondent: '',
      metadata: {},
      row: seen.compiled.emptyRow,
      surveyVersion: 1,
    };
    const rows: string[] = [];
    const submit = bareSubmissions({
      actors: { peek: () => ({ ...held, ...present }) },
      intake: {
        append: async ({ row: stored }) => {
          rows.push(stored);
          return { code: 'ACCEPTED', remaining: 9, resetMs: 1, text: '' };
        },
        state: async () => ({
          version: 1,
          isComplete: false,
          surveyId,
          submittedAtMs: 0,
          savedState: JSON.stringify(saved),
        }),
      },
      formerVersions: { forSubmission: async () => seen, ofResponse: async () => seen },
      secrets: { resumeToken: () => 'token', isResumeToken: () => true },
      now: () => 9,
    });
    const submission = { ...emptySubmission, isComplete: false, responseId, resumeToken: 'token' };
    assert.equal((await submit({ ...request(undefined), submission })).kind, 'accepted');
    return decodeResponse(rows[0] ?? '').head;
  };

  it('says in its row when it was saved where the present one has some', async () => {
    const { surveyVersion, savedAtMs } = await rowWith(([first]) => saysYes(first));
    assert.deepEqual([surveyVersion, savedAtMs], [1, 9]);
    const plain = await rowWith(undefined);
    assert.deepEqual([plain.surveyVersion, plain.savedAtMs], [2, undefined]);
  });
});
