import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { SubmissionsDeps } from '../../../../src/actors/submissions/attempt.ts';
import { createFrozenSubmissions } from '../../../../src/actors/submissions/frozen-submissions.ts';
import { bodyDigest } from '../../../../src/actors/submissions/repeats.ts';
import type { SubmissionRequest } from '../../../../src/actors/submissions/request.ts';
import { createSubmissions } from '../../../../src/actors/submissions/submit.ts';
import type { CachedSurvey } from '../../../../src/actors/survey-cache.ts';
import { indexCollectors } from '../../../../src/domain/collectors/survey-collectors.ts';
import { decodeResponse } from '../../../../src/domain/response-row.ts';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { canonicalBody } from '../../../../src/domain/submission/canonical-body.ts';
import { createFastSubmissionReader } from '../../../../src/domain/submission/fast-submission-reader.ts';
import type { SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { unavailable } from '../../../../src/errors.ts';
import { readSubmissionRequest } from '../../../../src/http/submit/submit-route.ts';
import type { AppendResult, IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { encodeMoment } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { hashOfKey } from '../../../../src/stores/redis/intake/idempotency.ts';
import { eventually } from '../../../support/eventually.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const surveyId = '01900000-0000-7000-8000-000000000001';

/** A survey that is open and whose one question takes the upload `file`. */
const held = {
  survey: {
    id: surveyId,
    revision: 1,
    visibility: 'PUBLIC',
    status: 'ACTIVE',
    startsAt: null,
    endsAt: null,
    submissionRateLimit: null,
  },
  actor: { getSnapshot: () => ({ hasTag: () => true }) },
  compiled: { uploadIdsIn: () => ['file'], collectors: indexCollectors({}) },
} as unknown as CachedSurvey;

/** Submissions whose uploads cannot be had right now; `known` is what the intake says of each. */
function submitWithout(known: (appendix: IntakeSubmission) => AppendResult) {
  const never = (): never => assert.fail('not to be asked');
  const deps: SubmissionsDeps = {
    actors: { peek: () => held, lookUp: never, renew: never, announce: never, quotaFilled: never },
    intake: { append: async (appendix) => known(appendix), state: never, isFrozen: never },
    findStored: never,
    restore: never,
    findRecords: never,
    uploads: {
      reserve: async () => {
        throw unavailable('Another submission with this upload is under way', 5);
      },
      release: never,
    },
    secrets: { resumeToken: never, isResumeToken: never, keyedHash: (address) => address },
    submitLimit: 60,
    pressure: () => undefined,
    quotaCounts: async () => new Map(),
    formerVersions: { forSubmission: async () => 'gone', ofResponse: async (present) => present },
    mayHaveLegacyKeys: () => false,
    now: () => 0,
    newId: () => '01900000-0000-7000-8000-00000000000a',
    onBackgroundError: never,
  };
  return createSubmissions(deps);
}

function request(idempotencyKey: string | undefined): SubmissionRequest {
  const submission = {
    answers: [],
    isComplete: true,
    responseId: undefined,
    resumeToken: undefined,
    startedAtMs: undefined,
    respondent: undefined,
    metadata: undefined,
    language: undefined,
    surveyToken: undefined,
    surveyVersion: undefined,
    isStrict: false,
  };
  return {
    surveyId,
    submission,
    problem: undefined,
    issues: [],
    body: { answers: [] },
    idempotencyKey,
    surveyToken: undefined,
    address: 'here',
  };
}

describe('a submission whose upload is claimed by another', () => {
  it('gets the first reply if it is a repeat', async () => {
    const submit = submitWithout(({ keyHash, mustRefuse }) => {
      assert.deepEqual([keyHash, mustRefuse], [hashOfKey(surveyId, 'one'), true]);
      return { code: 'REPLAY', remaining: 1, resetMs: 1000, text: '{"first":true}' };
    });
    const outcome = await submit(request('one'));
    assert.deepEqual(
      [outcome.kind, outcome.kind === 'accepted' && [outcome.isReplay, outcome.replyText]],
      ['accepted', [true, '{"first":true}']],
    );
  });

  it('is refused with Retry-After if it is not, and counts against the limit', async () => {
    const submit = submitWithout(({ caller }) => {
      assert.equal(caller, 'here');
      return { code: 'REFUSED', remaining: 4, resetMs: 1000, text: 'x' };
    });
    const outcome = await submit(request(undefined));
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.problem.code, outcome.rateLimit?.remaining], ['SERVICE_UNAVAILABLE', 4]);
  });
});

describe('a response that is continued from many places at once', () => {
  const responseId = '01900000-0000-7000-8000-00000000000b';
  const row = { codes: [], numbers: [], texts: [] };

  it('accepts every save, each merged with the one before', async () => {
    let stored = {
      version: 1,
      isComplete: false,
      surveyId,
      submittedAtMs: 0,
      savedState: JSON.stringify({ submittedAtMs: 0, language: 'ZH-hans', respondent: '', metadata: {}, row }),
    };
    const never = (): never => assert.fail('not to be asked');
    const compiled = {
      survey: { slotCounts: { codes: 0, numbers: 0, texts: 0 } },
      byId: new Map(),
      notAskedWords: [],
      required: [],
      all: [],
      uploadIdsIn: () => [],
      collectors: indexCollectors({}),
    };
    const deps: SubmissionsDeps = {
      actors: {
        peek: () => ({ ...held, compiled }) as unknown as CachedSurvey,
        lookUp: never,
        renew: never,
        announce: never,
        quotaFilled: never,
      },
      intake: {
        // As Redis does it: whoever has seen the last version is taken.
        append: async ({ observedVersion, savedState }) => {
          await Promise.resolve();
          if (observedVersion !== stored.version) return { code: 'CHANGED', remaining: 9, resetMs: 1, text: '' };
          stored = { ...stored, version: stored.version + 1, savedState };
          return { code: 'ACCEPTED', remaining: 9, resetMs: 1, text: '' };
        },
        state: async () => stored,
        isFrozen: never,
      },
      findStored: never,
      restore: never,
      findRecords: never,
      uploads: { reserve: never, release: never },
      secrets: { resumeToken: () => 'token', isResumeToken: () => true, keyedHash: (address) => address },
      submitLimit: 60,
      pressure: () => undefined,
      quotaCounts: async () => new Map(),
      formerVersions: { forSubmission: async () => 'gone', ofResponse: async (present) => present },
      mayHaveLegacyKeys: () => false,
      now: () => 0,
      newId: () => responseId,
      onBackgroundError: never,
    };
    const submit = createSubmissions(deps);
    const places = Array.from({ length: 60 }, (_, place) => `p${place}`);
    const continued = (place: string): SubmissionRequest => ({
      ...request(undefined),
      body: { place },
      submission: {
        answers: [],
        isComplete: false,
        responseId,
        resumeToken: 'token',
        startedAtMs: undefined,
        respondent: undefined,
        metadata: { [place]: 'was here' },
        language: undefined,
        surveyToken: undefined,
        surveyVersion: undefined,
        isStrict: false,
      },
    });
    const outcomes = await Promise.all(places.map((place) => submit(continued(place))));
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      places.map(() => 'accepted'),
    );
    assert.deepEqual(Object.keys(JSON.parse(stored.savedState).metadata).sort(), [...places].sort());
    assert.equal(JSON.parse(stored.savedState).language, 'zh-Hans', 'the form that languages have now');
  });
});

describe('the continuation of an evicted response', () => {
  const responseId = '01900000-0000-7000-8000-00000000000b';
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
    row: { codes: [], numbers: [], texts: [] },
  };
  const never = (): never => assert.fail('not to be asked');
  const compiled = {
    survey: { slotCounts: { codes: 0, numbers: 0, texts: 0 } },
    byId: new Map(),
    notAskedWords: [],
    required: [],
    all: [],
    uploadIdsIn: () => [],
    collectors: indexCollectors({}),
  };

  function submitWith(
    known: Pick<SubmissionsDeps, 'restore'> &
      Partial<Pick<SubmissionsDeps, 'findRecords'>> &
      Partial<SubmissionsDeps['intake']>,
  ) {
    const appended: IntakeSubmission[] = [];
    const submit = createSubmissions({
      actors: {
        peek: () =>
          ({
            ...held,
            survey: { ...held.survey, slotCounts: compiled.survey.slotCounts, version: 1 },
            compiled,
          }) as unknown as CachedSurvey,
        lookUp: never,
        renew: never,
        announce: never,
        quotaFilled: never,
      },
      intake: {
        append: async (appendix) => {
          appended.push(appendix);
          return { code: appendix.mustRefuse ? 'REFUSED' : 'ACCEPTED', remaining: 7, resetMs: 1000, text: '' };
        },
        state: async () => ({ version: 4, isComplete: false, surveyId, submittedAtMs: 5, savedState: '' }),
        isFrozen: never,
        ...known,
      },
      findStored: never,
      restore: known.restore,
      findRecords: known.findRecords ?? (async () => []),
      uploads: { reserve: never, release: never },
      secrets: { resumeToken: () => 'token', isResumeToken: () => true, keyedHash: (address) => address },
      submitLimit: 60,
      pressure: () => undefined,
      quotaCounts: async () => new Map(),
      formerVersions: { forSubmission: async () => 'gone', ofResponse: async (present) => present },
      mayHaveLegacyKeys: () => false,
      now: () => 9,
      newId: () => responseId,
      onBackgroundError: never,
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
    assert.deepEqual(JSON.parse(appended[1]?.savedState ?? ''), { ...saved, metadata: { first: 'yes', more: 'yes' } });
    assert.equal(decodeResponse(appended[1]?.row ?? '').head.version, 5);
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
    assert.equal(await reasonOf(async () => undefined), 'NOT_FOUND');
    assert.equal(await reasonOf(async () => ({ observedVersion: 3, isComplete: true, saved })), 'ALREADY_COMPLETE');
  });
});

describe('submissions to a frozen survey', () => {
  const never = (): never => assert.fail('not to be asked');
  const whole = (): SubmissionRequest => request(undefined);
  const result = (code: AppendResult['code']): AppendResult => ({ code, remaining: 9, resetMs: 1, text: '' });

  function setUp(isHeld: () => Promise<boolean>) {
    const asked = { appends: 0, looks: 0 };
    const survey = { ...blankSurvey(), id: surveyId };
    const submit = createSubmissions({
      actors: {
        peek: () => ({ ...held, survey, compiled: compileSurvey(survey) }),
        lookUp: never,
        renew: never,
        announce: never,
        quotaFilled: never,
      },
      intake: {
        append: async () => {
          asked.appends += 1;
          return result((await isHeld()) ? 'FROZEN' : 'ACCEPTED');
        },
        state: never,
        isFrozen: async () => {
          asked.looks += 1;
          return isHeld();
        },
      },
      findStored: never,
      restore: never,
      findRecords: never,
      uploads: { reserve: never, release: never },
      secrets: { resumeToken: never, isResumeToken: never, keyedHash: (address) => address },
      submitLimit: 60,
      pressure: () => undefined,
      quotaCounts: async () => new Map(),
      formerVersions: { forSubmission: async () => 'gone', ofResponse: async (present) => present },
      mayHaveLegacyKeys: () => false,
      now: () => 0,
      newId: () => surveyId,
      onBackgroundError: never,
    });
    return { submit, asked };
  }

  it('wait until it is released, with one poll for all', async () => {
    let isHeld = true;
    const { submit, asked } = setUp(async () => isHeld);
    const outcomes = Promise.all(Array.from({ length: 300 }, () => submit(whole())));
    await eventually(() => assert.ok(asked.looks >= 10));
    assert.deepEqual(asked, { appends: 300, looks: asked.looks });
    assert.ok(asked.looks < 20, `${asked.looks} looks`);
    isHeld = false;
    assert.deepEqual(new Set((await outcomes).map(({ kind }) => kind)), new Set(['accepted']));
    assert.equal(asked.appends, 600);
  });

  it('wait again if it is frozen again', async () => {
    let looks = 0;
    const { submit } = setUp(async () => [true, false, true, false].at(looks++) ?? false);
    assert.equal((await submit(whole())).kind, 'accepted');
    assert.equal(looks, 5);
  });

  it('are refused with Retry-After when the intake goes away, and when too many wait', async () => {
    const gone = setUp(async () => {
      throw unavailable('The intake is away', 2);
    });
    await assert.rejects(gone.submit(whole()), { code: 'SERVICE_UNAVAILABLE' });
    let isHeld = true;
    const { released } = createFrozenSubmissions({
      intake: { isFrozen: async () => isHeld },
      maxWaiting: 2,
      maxWaitingChars: 30,
    });
    const wait = { timeoutMs: 60_000, chars: 10 };
    const two = [released('a', wait), released('a', wait), released('c', { ...wait, chars: 30 })];
    assert.deepEqual([await released('a', wait), await released('c', wait)], [false, false]);
    two.push(released('b', wait));
    isHeld = false;
    assert.deepEqual(await Promise.all(two), [true, true, true, true], 'another survey has places of its own');
    assert.deepEqual([await released('a', wait), await released('c', { ...wait, chars: 30 })], [true, true]);
  });

  it('wait no longer than the timeout although the survey is frozen again and again', async () => {
    const { released } = createFrozenSubmissions({ intake: { isFrozen: async () => true } });
    const waits = [released('a', { timeoutMs: 60, chars: 1 }), released('a', { timeoutMs: 1, chars: 1 })];
    assert.deepEqual(await Promise.race([Promise.all(waits), pause(10_000, 'for ever', { ref: false })]), [
      false,
      false,
    ]);
  });
});

describe('a submission on the fast path', () => {
  const never = (): never => assert.fail('not to be asked');
  const { survey, question } = withQuestion(blankSurvey(), { type: 'NPS', text: 'Score' });
  const heldAs = (revision: number, settings: Partial<SurveyWithQuestions> = {}): CachedSurvey => {
    const compiled = compileSurvey({ ...survey, ...settings, revision, questions: [question] });
    return { ...held, survey: compiled.survey, compiled, readFast: createFastSubmissionReader(compiled) };
  };

  /** Submits a body; `meets` are what the intake says of each attempt, upon which the survey is `changed`. */
  async function submit(
    answers: object[],
    meets: AppendResult['code'][],
    changed = heldAs(2),
    {
      begins = heldAs(1),
      beside = {},
      around = {},
      idempotencyKey,
      mayHaveLegacyKeys = false,
    }: {
      begins?: CachedSurvey;
      beside?: object;
      around?: object;
      idempotencyKey?: string;
      mayHaveLegacyKeys?: boolean;
    } = {},
  ) {
    let [present, readings] = [begins, 0];
    const appended: IntakeSubmission[] = [];
    const append = async (appendix: IntakeSubmission): Promise<AppendResult> => {
      const code = meets[appended.push(appendix) - 1] ?? 'ACCEPTED';
      if (code === 'STALE') present = changed;
      return { code, remaining: 9, resetMs: 1, text: code === 'REPLAY' ? `1 ${encodeMoment(0)}` : '' };
    };
    const send = createSubmissions({
      actors: {
        peek: () => present,
        lookUp: never,
        renew: async () => present,
        announce: never,
        quotaFilled: async () => survey,
      },
      intake: { append, state: never, isFrozen: never },
      findStored: never,
      restore: never,
      findRecords: never,
      uploads: { reserve: never, release: never },
      secrets: { resumeToken: never, isResumeToken: never, keyedHash: (address) => address },
      submitLimit: 60,
      pressure: () => undefined,
      quotaCounts: async () => new Map(),
      formerVersions: { forSubmission: async () => 'gone', ofResponse: async (present) => present },
      mayHaveLegacyKeys: () => mayHaveLegacyKeys,
      now: () => 0,
      newId: () => surveyId,
      onBackgroundError: never,
    });
    const call = { surveyId: survey.id, idempotencyKey, surveyToken: undefined, address: 'here' };
    const bytes = Buffer.from(JSON.stringify({ ...around, answers, ...beside }));
    const read = (given: Buffer) => {
      readings += 1;
      return readSubmissionRequest({ ...call, contentType: 'application/json', contentEncoding: undefined }, given);
    };
    const coming = send({ ...call, bytes, read });
    // The bytes were only lent.
    bytes.fill(0);
    return { outcome: await coming, appended, readings };
  }

  const given = [{ questionId: question.id, numberValue: 7 }];
  const rowsOf = (appended: readonly IntakeSubmission[]) =>
    appended.map(({ row, revision }) => ({ revision, codes: row && decodeResponse(row).row.codes }));

  it('is accepted without being parsed', async () => {
    for (const code of ['ACCEPTED', 'FILLED'] as const) {
      const { outcome, appended, readings } = await submit(given, [code]);
      assert.deepEqual(
        [outcome.kind, rowsOf(appended), readings],
        ['accepted', [{ revision: 1, codes: [8] }], code === 'ACCEPTED' ? 0 : 1],
      );
    }
  });

  it('is accepted without being parsed when it has other fields than answers', async () => {
    const beside = {
      startedAt: new Date(-5000).toISOString(),
      respondent: 'Anna',
      metadata: { source: 'post' },
      language: 'DE',
      surveyToken: 'right',
    };
    const begins = heldAs(1, { visibility: 'PRIVATE', accessToken: 'right' });
    const { outcome, appended, readings } = await submit(given, [], begins, { begins, beside });
    const { durationMs, respondent, metadata, language } = decodeResponse(appended[0]?.row ?? '').head;
    assert.deepEqual(
      [outcome.kind, durationMs, respondent, metadata, language, readings],
      ['accepted', 5000, 'Anna', { source: 'post' }, 'de', 0],
    );
    const wrong = await submit(given, ['REFUSED'], begins, { begins, beside: { ...beside, surveyToken: 'wrong' } });
    assert.ok(wrong.outcome.kind === 'refused');
    assert.equal(wrong.outcome.problem.code, 'FORBIDDEN');
  });

  it('is accepted without being parsed when it has a key, with the digest that a differently written repeat has', async () => {
    const beside = { respondent: 'Anna' };
    const keyed = { begins: heldAs(1), beside, idempotencyKey: 'one' };
    const first = await submit(given, [], undefined, keyed);
    const again = await submit(given, ['REPLAY'], undefined, { ...keyed, beside: {}, around: beside });
    assert.deepEqual([first.outcome.kind, first.readings, again.readings], ['accepted', 0, 1]);
    const [taken, repeated] = [first.appended[0], again.appended[0]];
    assert.deepEqual(
      [taken?.keyHash, taken?.digest, repeated?.keyHash, repeated?.digest],
      [
        hashOfKey(survey.id, 'one'),
        bodyDigest(canonicalBody({ answers: given, ...beside })),
        taken?.keyHash,
        taken?.digest,
      ],
    );
    const other = await submit(given, [], undefined, { ...keyed, beside: {} });
    assert.notEqual(other.appended[0]?.digest, taken?.digest);
    assert.equal(
      (await submit(given, [], undefined, { ...keyed, mayHaveLegacyKeys: true })).appended[0]?.legacy?.key,
      'one',
    );
  });

  it('is refused if it names a respondent in an anonymous survey', async () => {
    const begins = heldAs(1, { isAnonymous: true });
    const { outcome } = await submit(given, ['REFUSED'], begins, { begins, beside: { respondent: 'Anna' } });
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual(outcome.problem.details, [{ path: 'respondent', message: 'is not taken by an anonymous survey' }]);
  });

  it('is parsed if its form is unusual, and gets all validation issues', async () => {
    const { outcome, readings, appended } = await submit([{ numberValue: 7, questionId: question.id }], []);
    assert.deepEqual([outcome.kind, rowsOf(appended), readings], ['accepted', [{ revision: 1, codes: [8] }], 1]);
    const refused = await submit([{ questionId: question.id, numberValue: 11 }], ['REFUSED']);
    assert.ok(refused.outcome.kind === 'refused');
    assert.deepEqual(
      [refused.outcome.problem.code, refused.appended.map(({ mustRefuse }) => mustRefuse)],
      ['VALIDATION_ERROR', [true]],
    );
  });

  it('is checked again when the survey has changed meanwhile', async () => {
    const { outcome, appended } = await submit(given, ['STALE']);
    assert.deepEqual(
      [outcome.kind, rowsOf(appended)],
      [
        'accepted',
        [
          { revision: 1, codes: [8] },
          { revision: 2, codes: [8] },
        ],
      ],
    );
    const hidden = compileSurvey({ ...survey, revision: 2, questions: [{ ...question, isHidden: true }] });
    const gone = await submit(given, ['STALE', 'REFUSED'], {
      ...held,
      survey: hidden.survey,
      compiled: hidden,
      readFast: createFastSubmissionReader(hidden),
    });
    assert.ok(gone.outcome.kind === 'refused');
    assert.deepEqual(gone.outcome.problem.details, [
      { path: 'answers.0.questionId', message: 'is not a question of this survey' },
    ]);
  });

  it('counts against the limit once', async () => {
    const { outcome, appended } = await submit(given, ['LIMITED']);
    assert.deepEqual(
      [outcome.kind === 'refused' && outcome.problem.code, appended.map(({ caller }) => caller)],
      ['RATE_LIMITED', ['here']],
    );
    assert.deepEqual(
      (await submit(given, ['STALE'])).appended.map(({ caller }) => caller),
      ['here', ''],
    );
  });
});
