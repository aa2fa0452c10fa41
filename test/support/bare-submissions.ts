import assert from 'node:assert/strict';
import type { SubmissionsDeps } from '../../src/actors/submissions/attempt.ts';
import type { SubmissionRequest } from '../../src/actors/submissions/request.ts';
import { createSubmissions } from '../../src/actors/submissions/submit.ts';
import type { CachedSurvey } from '../../src/actors/survey-cache.ts';
import { indexCollectors } from '../../src/domain/collectors/survey-collectors.ts';

export const surveyId = '01900000-0000-7000-8000-000000000001';
export const responseId = '01900000-0000-7000-8000-00000000000b';

export const never = (): never => assert.fail('not to be asked');

/** A survey that is open and whose one question takes the upload `file`. */
export const held = {
  survey: {
    id: surveyId,
    revision: 1,
    visibility: 'PUBLIC',
    status: 'ACTIVE',
    startsAt: null,
    endsAt: null,
    submissionRateLimit: null,
    questions: [],
  },
  actor: { getSnapshot: () => ({ hasTag: () => true }) },
  compiled: { uploadIdsIn: () => ['file'], collectors: indexCollectors({}) },
} as unknown as CachedSurvey;

type Nested = 'actors' | 'intake' | 'uploads' | 'secrets';
type BareDeps = Partial<Omit<SubmissionsDeps, Nested>> & { [name in Nested]?: Partial<SubmissionsDeps[name]> };

/** Submissions to `held` with nothing behind them but what is given: other stores must not be asked. */
export function bareSubmissions({ actors, intake, uploads, secrets, ...rest }: BareDeps) {
  return createSubmissions({
    actors: { peek: () => held, lookUp: never, renew: never, announce: never, quotaFilled: never, ...actors },
    intake: {
      append: never,
      state: never,
      observe: async (id) => ({ state: await (intake?.state ?? never)(id), generation: 0 }),
      isFrozen: never,
      ...intake,
    },
    findStored: never,
    restore: never,
    findRecords: never,
    uploads: { reserve: never, release: never, ...uploads },
    secrets: { resumeToken: never, isResumeToken: never, keyedHash: (_surveyId, address) => address, ...secrets },
    submitLimit: 60,
    pressure: () => undefined,
    quotaCounts: async () => new Map(),
    formerVersions: { forSubmission: async () => 'gone', ofResponse: async (present) => present },
    mayHaveLegacyKeys: () => false,
    now: () => 0,
    newId: () => responseId,
    onBackgroundError: never,
    ...rest,
  });
}

/** A complete submission without answers. */
export const emptySubmission = {
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

export function request(idempotencyKey: string | undefined): SubmissionRequest {
  return {
    surveyId,
    submission: emptySubmission,
    problem: undefined,
    issues: [],
    body: { answers: [] },
    idempotencyKey,
    surveyToken: undefined,
    address: 'here',
  };
}
