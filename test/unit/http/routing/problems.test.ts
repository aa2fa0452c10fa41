import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toProblem } from '../../../../src/http/routing/dispatch.ts';
import { createLog } from '../../../../src/log.ts';

/** A log, and the messages that it has written. */
function recorded() {
  const messages: string[] = [];
  const log = createLog('silent');
  log.warn = (_fields: unknown, message?: string) => void messages.push(message ?? '');
  log.error = log.warn;
  return { log, messages };
}
const request = { requestId: 'request', route: '/surveys' };

describe('errors of handlers', () => {
  it('are refusals that fill no log while Redis is away', () => {
    const { log, messages } = recorded();
    const problems = Array.from({ length: 50 }, () => toProblem(new Error('Command timed out'), log, request));
    assert.deepEqual([...new Set(problems.map(({ code }) => code))], ['SERVICE_UNAVAILABLE']);
    // Three lines in ten seconds, of which these calls may touch the end of one and the beginning of the next.
    assert.ok(messages.length >= 1 && messages.length <= 6, `${messages.length} warnings`);
  });

  it('are each written where nobody expected them', () => {
    const { log, messages } = recorded();
    for (let count = 0; count < 5; count += 1)
      assert.equal(toProblem(new Error('unexpected'), log, request).code, 'INTERNAL_ERROR');
    assert.deepEqual(
      messages,
      Array.from({ length: 5 }, () => 'a handler failed'),
    );
  });
});
