import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../../src/errors.ts';
import { replyWithJobResult } from '../../../../src/http/routing/ai-job-reply.ts';
import { accepted } from '../../../../src/http/routing/route.ts';
import type { AiJob, AiJobView } from '../../../../src/stores/postgres/ai/jobs.ts';

describe('AI work that a request waits for', () => {
  it('replies 202 as soon as it waits for the limits of a provider', async () => {
    const looks = [false, true].map(
      (isWaiting) => ({ status: 'RUNNING', progress: 0.5, error: null, isWaiting }) as AiJobView,
    );
    const reply = await replyWithJobResult(
      {
        store: { findOrCreate: async () => ({ id: 'job', openBefore: 0 }), find: async () => looks.shift() },
        jobs: { add: async () => undefined },
      },
      { request: {} } as never,
      async () => assert.fail('it is not over'),
    );
    assert.deepEqual([reply, looks], [accepted({ id: 'job', jobId: 'job', status: 'RUNNING', progress: 0.5 }), []]);
  });

  it('replies with the problem of the failed job, with Retry-After where a retry helps', async () => {
    const waitAfter = async (error: NonNullable<AiJob['error']>) => {
      const store = {
        findOrCreate: async () => ({ id: 'job', openBefore: 0 }),
        find: async () => ({ status: 'FAILED', error }) as AiJobView,
      };
      const problem: Problem = await replyWithJobResult(
        { store, jobs: { add: async () => undefined } },
        { request: {} } as never,
        async () => accepted({}),
      ).then(
        () => assert.fail('nothing was refused'),
        (reason) => reason,
      );
      assert.equal(problem.code, error.code);
      return problem.retryAfterSeconds;
    };
    assert.equal(await waitAfter({ code: 'SERVICE_UNAVAILABLE', message: 'The database is away' }), 2);
    assert.equal(
      await waitAfter({ code: 'SERVICE_UNAVAILABLE', message: 'The database is away', retryAfterSeconds: 7 }),
      7,
    );
    assert.equal(await waitAfter({ code: 'AI_RATE_LIMITED', message: 'Too much' }), 60);
    assert.equal(await waitAfter({ code: 'AI_KEY_INVALID', message: 'No' }), undefined);
  });
});
