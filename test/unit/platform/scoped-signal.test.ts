import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { withScopedSignal } from '../../../src/platform/scoped-signal.ts';

describe('a scoped signal', () => {
  it('follows another signal until its work has ended, with no warning about a leak', async (t) => {
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warn);
    t.after(() => process.off('warning', warn));
    const job = new AbortController();
    const calls = Array.from({ length: 32 }, () =>
      withScopedSignal(
        job.signal,
        (own) => new Promise((_, reject) => own.addEventListener('abort', () => reject(own.reason))),
      ),
    );
    const outcome = Promise.allSettled(calls);
    await turn();
    assert.deepEqual(warnings, []);
    job.abort(new Error('cancelled'));
    assert.ok((await outcome).every((call) => call.status === 'rejected' && call.reason === job.signal.reason));
    assert.deepEqual(getEventListeners(job.signal, 'abort'), []);
  });
});
