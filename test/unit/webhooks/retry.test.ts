import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AttemptContext, evaluateAttempt, nextAttemptAtMs, retryAfterMs } from '../../../src/webhooks/retry.ts';
import type { SendResult } from '../../../src/webhooks/send.ts';

/** The default of WEBHOOK_RETRY_SCHEDULE_SECONDS. */
const contractSchedule = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
const startMs = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;

describe('the retry schedule of webhooks', () => {
  it('retries after the pauses of the schedule, ± 20 %, and ends after the last one', () => {
    for (const random of [0, 0.5, 0.999_999]) {
      for (const [index, seconds] of contractSchedule.entries()) {
        const at = nextAttemptAtMs({ tries: index + 1, scheduleSeconds: contractSchedule, nowMs: startMs, random });
        const share = ((at ?? 0) - startMs) / (seconds * 1000);
        assert.ok(Math.abs(share - (0.8 + 0.4 * random)) < 1e-3, `attempt ${index + 2}: ${share} of ${seconds} s`);
      }
    }
    assert.equal(
      nextAttemptAtMs({
        tries: contractSchedule.length + 1,
        scheduleSeconds: contractSchedule,
        nowMs: startMs,
        random: 0,
      }),
      undefined,
    );
  });

  it('waits as long as Retry-After asks, in seconds or until a date, but at most a day', () => {
    const after = (retryAfter: string) =>
      (nextAttemptAtMs({ tries: 1, scheduleSeconds: [5], retryAfter, nowMs: startMs, random: 0.5 }) ?? 0) - startMs;
    assert.equal(after('120'), 120_000);
    assert.equal(after('1'), 5000, 'never sooner than the schedule');
    assert.equal(after(new Date(startMs + 60_000).toUTCString()), 60_000);
    assert.equal(after('999999999'), dayMs);
    for (const nonsense of ['', 'soon', '-5', '0', '1e9', new Date(startMs - 1000).toUTCString()])
      assert.equal(after(nonsense), 5000, nonsense);
    assert.equal(retryAfterMs(undefined, startMs), undefined);
  });

  it('takes each form of an HTTP date in UTC, whatever the time zone of the host', () => {
    const nowMs = Date.UTC(1994, 10, 6, 8, 48, 37);
    const { TZ: zone } = process.env;
    try {
      for (const host of ['America/New_York', 'Asia/Tokyo']) {
        process.env['TZ'] = host;
        for (const date of [
          'Sun, 06 Nov 1994 08:49:37 GMT',
          'Sunday, 06-Nov-94 08:49:37 GMT',
          'Sun Nov  6 08:49:37 1994',
        ])
          assert.equal(retryAfterMs(date, nowMs), 60_000, `${date} in ${host}`);
      }
    } finally {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    }
  });
});

describe('the outcome of a webhook attempt', () => {
  const context: AttemptContext = {
    startedAtMs: startMs,
    nowMs: startMs + 20,
    tries: 0,
    scheduleSeconds: contractSchedule,
    random: 0.5,
    failingSince: null,
  };
  const reply = (status: number, retryAfter?: string): SendResult => ({
    kind: 'replied',
    status,
    response: 'x',
    retryAfter,
    latencyMs: 20,
  });

  it('is success for a status of 2xx only', () => {
    for (const status of [200, 201, 204, 299])
      assert.equal(evaluateAttempt(reply(status), context).status, 'DELIVERED', String(status));
    for (const status of [301, 302, 307, 308, 400, 401, 404, 429, 500, 502, 503]) {
      const outcome = evaluateAttempt(reply(status), context);
      assert.deepEqual(
        [outcome.status, outcome.tries, outcome.nextAttemptAtMs],
        ['PENDING', 1, startMs + 20 + 5000],
        String(status),
      );
      assert.equal(outcome.attempt.httpStatus, status);
    }
    assert.equal(
      evaluateAttempt(
        { kind: 'failed', cause: 'timeout', error: 'late', status: 200, response: 'dri', latencyMs: 15_000 },
        context,
      ).status,
      'PENDING',
    );
  });

  it('disables the endpoint on 410 and plans no retry', () => {
    const outcome = evaluateAttempt(reply(410), context);
    assert.deepEqual([outcome.status, outcome.nextAttemptAtMs, outcome.result], ['FAILED', undefined, 'gone']);
    assert.match(outcome.disableReason ?? '', /410/);
  });

  it('disables the endpoint after five days without a success, not before', () => {
    const at = (days: number) =>
      evaluateAttempt(reply(500), { ...context, failingSince: new Date(startMs - days * dayMs) }).disableReason;
    assert.equal(at(4.99), undefined);
    assert.match(at(5) ?? '', /five days/);
    assert.equal(evaluateAttempt(reply(200), { ...context, failingSince: new Date(0) }).disableReason, undefined);
  });

  it('is FAILED after the last attempt of the schedule', () => {
    assert.equal(evaluateAttempt(reply(500), { ...context, tries: contractSchedule.length - 1 }).status, 'PENDING');
    assert.equal(evaluateAttempt(reply(500), { ...context, tries: contractSchedule.length }).status, 'FAILED');
  });

  it('pauses the endpoint for the time that Retry-After asks', () => {
    assert.equal(evaluateAttempt(reply(429, '60'), context).pauseUntilMs, startMs + 20 + 60_000);
    assert.equal(evaluateAttempt(reply(429), context).pauseUntilMs, undefined);
  });
});
