import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Problem } from '../../../../src/errors.ts';
import { createJobReply } from '../../../../src/http/routing/ai-job-reply.ts';
import { accepted } from '../../../../src/http/routing/route.ts';
import type { AiJob, AiJobView } from '../../../../src/stores/postgres/ai/jobs.ts';

const findOrCreate = async () => ({ id: 'job', openBefore: 0 });

describe('AI work that a request waits for', () => {
  it('replies 202 as soon as it waits for the limits of a provider', async () => {
    const looks = [false, true].map(
      (isWaiting) => ({ status: 'RUNNING', progress: 0.5, error: null, isWaiting }) as AiJobView,
    );
    const reply = await createJobReply({
      store: { findOrCreate, find: async () => looks.shift() },
      jobs: { add: async () => undefined },
    })({ request: {} } as never, async () => assert.fail('it is not over'));
    assert.deepEqual([reply, looks], [accepted({ id: 'job', jobId: 'job', status: 'RUNNING', progress: 0.5 }), []]);
  });

  it('replies with the problem of the failed job, with Retry-After where a retry helps', async () => {
    const waitAfter = async (error: NonNullable<AiJob['error']>) => {
      const store = { findOrCreate, find: async () => ({ status: 'FAILED', error }) as AiJobView };
      const reply = createJobReply({ store, jobs: { add: async () => undefined } });
      const problem: Problem = await reply({ request: {} } as never, async () => accepted({})).then(
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

  it('is read from the database once for all who wait for it', async () => {
    let looks = 0;
    const find = async () => {
      looks += 1;
      return { id: 'job', status: looks > 3 ? 'COMPLETED' : 'RUNNING', error: null, isWaiting: false } as AiJobView;
    };
    const reply = createJobReply({ store: { findOrCreate, find }, jobs: { add: async () => undefined } });
    const ask = () => reply({ request: {} } as never, async (job) => accepted({ status: job.status }));
    const replies = await Promise.all(Array.from({ length: 50 }, ask));
    assert.deepEqual(
      replies,
      replies.map(() => accepted({ status: 'COMPLETED' })),
    );
    assert.ok(looks <= 5, `${looks} looks`);
  });
});
