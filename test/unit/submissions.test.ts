import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SubmissionRequest } from '../../src/actors/submission-plan.ts';
import { createSubmissions, type SubmissionsDeps } from '../../src/actors/submissions.ts';
import type { HeldSurvey } from '../../src/actors/surveys.ts';
import { unavailable } from '../../src/errors.ts';
import type { Appendix, AppendResult } from '../../src/stores/redis/appendix.ts';

const surveyId = '01900000-0000-7000-8000-000000000001';

/** A survey that is open and whose one question takes the upload `file`. */
const held = {
  survey: { id: surveyId, revision: 1, visibility: 'PUBLIC', status: 'ACTIVE', startsAt: null, endsAt: null, submissionRateLimit: null },
  actor: { getSnapshot: () => ({ hasTag: () => true }) },
  compiled: { uploadIdsIn: () => ['file'] },
} as unknown as HeldSurvey;

/** Submissions whose uploads cannot be had right now; `known` is what the intake says of each. */
function submitWithout(known: (appendix: Appendix) => AppendResult) {
  const never = (): never => assert.fail('not to be asked');
  const deps: SubmissionsDeps = {
    actors: { peek: () => held, lookUp: never, sync: never, announce: never, quotaFilled: never },
    intake: { append: async (appendix) => known(appendix), state: never }, findStored: never,
    uploads: { reserve: async () => { throw unavailable('Another submission with this upload is under way', 5); }, release: never },
    secrets: { resumeToken: never, isResumeToken: never, disguise: (address) => address },
    submitLimit: 60, pressure: () => undefined, now: () => 0, newId: () => '01900000-0000-7000-8000-00000000000a', onBackgroundError: never,
  };
  return createSubmissions(deps);
}

function request(idempotencyKey: string | undefined): SubmissionRequest {
  const submission = {
    answers: [], isComplete: true, responseId: undefined, resumeToken: undefined, startedAtMs: undefined, respondent: undefined, metadata: undefined, language: undefined, surveyToken: undefined,
  };
  return { surveyId, submission, problem: undefined, findings: [], body: { answers: [] }, idempotencyKey, surveyToken: undefined, address: 'here' };
}

describe('a submission whose upload is held by another', () => {
  it('gets the first reply again if it is a repeat', async () => {
    const submit = submitWithout(({ idempotencyKey, refusal }) => {
      assert.deepEqual([idempotencyKey, refusal], ['one', 'x']);
      return { code: 'REPLAY', remaining: 1, resetMs: 1000, text: '{"first":true}' };
    });
    const outcome = await submit(request('one'));
    assert.deepEqual([outcome.kind, outcome.kind === 'accepted' && [outcome.isReplay, outcome.replyText]], ['accepted', [true, '{"first":true}']]);
  });

  it('is refused for now if it is none, and counted', async () => {
    const submit = submitWithout(({ caller }) => {
      assert.equal(caller, 'here');
      return { code: 'REFUSED', remaining: 4, resetMs: 1000, text: 'x' };
    });
    const outcome = await submit(request(undefined));
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.problem.code, outcome.standing?.remaining], ['SERVICE_UNAVAILABLE', 4]);
  });
});

describe('a response that is continued from many places at once', () => {
  const responseId = '01900000-0000-7000-8000-00000000000b';
  const row = { codes: [], numbers: [], texts: [] };

  it('takes every one of them, each upon the one before', async () => {
    let stored = { seen: 1, isDone: false, surveyId, data: JSON.stringify({ submittedAtMs: 0, language: 'ZH-hans', respondent: '', metadata: {}, row }) };
    const never = (): never => assert.fail('not to be asked');
    const compiled = { survey: { slotCounts: { codes: 0, numbers: 0, texts: 0 } }, byId: new Map(), required: [], all: [], uploadIdsIn: () => [] };
    const deps: SubmissionsDeps = {
      actors: { peek: () => ({ ...held, compiled }) as unknown as HeldSurvey, lookUp: never, sync: never, announce: never, quotaFilled: never },
      intake: {
        // As Redis does it: whoever has seen the last version is taken.
        append: async ({ seen, state }) => {
          await Promise.resolve();
          if (seen !== stored.seen) return { code: 'CHANGED', remaining: 9, resetMs: 1, text: '' };
          stored = { ...stored, seen: stored.seen + 1, data: state };
          return { code: 'ACCEPTED', remaining: 9, resetMs: 1, text: '' };
        },
        state: async () => stored,
      },
      findStored: never, uploads: { reserve: never, release: never },
      secrets: { resumeToken: () => 'token', isResumeToken: () => true, disguise: (address) => address },
      submitLimit: 60, pressure: () => undefined, now: () => 0, newId: () => responseId, onBackgroundError: never,
    };
    const submit = createSubmissions(deps);
    const places = Array.from({ length: 60 }, (_, place) => `p${place}`);
    const continued = (place: string): SubmissionRequest => ({
      ...request(undefined), body: { place },
      submission: { answers: [], isComplete: false, responseId, resumeToken: 'token', startedAtMs: undefined, respondent: undefined, metadata: { [place]: 'was here' }, language: undefined, surveyToken: undefined },
    });
    const outcomes = await Promise.all(places.map((place) => submit(continued(place))));
    assert.deepEqual(outcomes.map(({ kind }) => kind), places.map(() => 'accepted'));
    assert.deepEqual(Object.keys(JSON.parse(stored.data).metadata).sort(), [...places].sort());
    assert.equal(JSON.parse(stored.data).language, 'zh-Hans', 'the form that languages have now');
  });
});
