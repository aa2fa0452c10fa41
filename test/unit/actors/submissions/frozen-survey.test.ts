import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createFrozenSubmissions } from '../../../../src/actors/submissions/frozen-submissions.ts';
import type { SubmissionRequest } from '../../../../src/actors/submissions/request.ts';
import { compileSurvey } from '../../../../src/domain/submission/answers.ts';
import { unavailable } from '../../../../src/errors.ts';
import type { AppendResult } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { bareSubmissions, held, request, surveyId } from '../../../support/bare-submissions.ts';
import { eventually } from '../../../support/eventually.ts';
import { blankSurvey } from '../../../support/questions.ts';

describe('submissions to a frozen survey', () => {
  const whole = (): SubmissionRequest => request(undefined);
  const result = (code: AppendResult['code']): AppendResult => ({ code, remaining: 9, resetMs: 1, text: '' });

  function setUp(isHeld: () => Promise<boolean>) {
    const asked = { appends: 0, looks: 0 };
    const survey = { ...blankSurvey(), id: surveyId };
    const submit = bareSubmissions({
      actors: { peek: () => ({ ...held, survey, compiled: compileSurvey(survey) }) },
      intake: {
        append: async () => {
          asked.appends += 1;
          return result((await isHeld()) ? 'FROZEN' : 'ACCEPTED');
        },
        isFrozen: async () => {
          asked.looks += 1;
          return isHeld();
        },
      },
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
