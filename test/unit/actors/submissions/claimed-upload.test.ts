import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import type { AppendResult, IntakeSubmission } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { hashOfKey } from '../../../../src/stores/redis/intake/idempotency.ts';
import { bareSubmissions, request, surveyId } from '../../../support/bare-submissions.ts';

/** Submissions whose uploads cannot be had right now; `known` is what the intake says of each. */
function submitWithout(known: (appendix: IntakeSubmission) => AppendResult) {
  return bareSubmissions({
    intake: { append: async (appendix) => known(appendix) },
    uploads: {
      reserve: async () => {
        throw unavailable('Another submission with this upload is under way', 5);
      },
    },
  });
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
