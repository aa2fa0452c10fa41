import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closedProblem, intakeRefusal, isInvited } from '../../../../src/actors/submissions/refusals.ts';
import type { Problem } from '../../../../src/errors.ts';
import { blankSurvey } from '../../../support/questions.ts';

const shown = ({ status, code, details, retryAfterSeconds }: Problem) => [status, code, details, retryAfterSeconds];

describe('the table of refusals', () => {
  it('gives the refusal of each intake code that ends a submission', () => {
    assert.deepEqual(
      (['QUOTA', 'COMPLETE', 'MISMATCH', 'FULL', 'NEWER', 'FROZEN'] as const).map((code) =>
        shown(intakeRefusal(code, 0)),
      ),
      [
        [409, 'CONFLICT', { reason: 'QUOTA_REACHED' }, undefined],
        [409, 'CONFLICT', { reason: 'ALREADY_COMPLETE' }, undefined],
        [409, 'CONFLICT', { reason: 'IDEMPOTENCY_MISMATCH' }, undefined],
        [503, 'SERVICE_UNAVAILABLE', undefined, 5],
        [503, 'SERVICE_UNAVAILABLE', undefined, 10],
        [503, 'SERVICE_UNAVAILABLE', undefined, 1],
      ],
    );
  });

  it('names the end of the window to a caller over the submission limit, in whole seconds and one at least', () => {
    assert.deepEqual(
      [0, 1, 1001, 60_000].map((resetMs) => shown(intakeRefusal('LIMITED', resetMs))),
      [1, 1, 2, 60].map((seconds) => [429, 'RATE_LIMITED', undefined, seconds]),
    );
  });

  it('says why a survey is not open', () => {
    const reasonOf = (fields: object) => closedProblem({ ...blankSurvey(), ...fields }, 1000)?.details;
    assert.deepEqual(
      [
        reasonOf({ status: 'ACTIVE' }),
        reasonOf({ status: 'DRAFT' }),
        reasonOf({ status: 'PAUSED' }),
        reasonOf({ status: 'CLOSED' }),
        reasonOf({ status: 'ACTIVE', startsAt: new Date(2000) }),
        reasonOf({ status: 'ACTIVE', endsAt: new Date(1000) }),
        reasonOf({ status: 'CLOSED', closedReason: 'QUOTA' }),
      ],
      [
        undefined,
        { reason: 'SURVEY_NOT_ACTIVE', state: 'DRAFT' },
        { reason: 'SURVEY_NOT_ACTIVE', state: 'PAUSED' },
        { reason: 'SURVEY_NOT_ACTIVE', state: 'CLOSED' },
        { reason: 'SURVEY_NOT_OPEN_YET' },
        { reason: 'SURVEY_ENDED' },
        { reason: 'QUOTA_REACHED' },
      ],
    );
  });

  it('opens a PRIVATE survey to its token alone', () => {
    const invited = (visibility: 'PUBLIC' | 'PRIVATE', accessToken: string | null, token?: string) =>
      isInvited({ visibility, accessToken }, token);
    assert.deepEqual(
      [
        invited('PUBLIC', null),
        invited('PRIVATE', 'one', 'one'),
        invited('PRIVATE', 'one', 'two'),
        invited('PRIVATE', 'one'),
        invited('PRIVATE', null, ''),
      ],
      [true, true, false, false, false],
    );
  });
});
