import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { Completion, Provider } from '../../../src/ai/providers/provider.ts';
import { problemOf } from '../../../src/ai/providers/provider-errors.ts';
import { waitForRateLimits } from '../../../src/ai/providers/retries.ts';
import { ask, type Task } from '../../../src/ai/tasks/ask.ts';
import { type CallPurpose, rateLimited, type UsageMeterDeps } from '../../../src/ai/usage.ts';
import { Problem } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { retryOnOutage } from '../../../src/stores/postgres/errors.ts';

const { signal } = new AbortController();
const task: Task<unknown> = {
  name: 'task',
  version: 1,
  tier: 'low',
  system: 's',
  data: {},
  schema: z.object({}),
  read: (value) => ({ value }),
  maxOutputTokens: 10,
};

/** A provider whose calls are limited and recorded as `deps` say; counts those that were sent. */
function scene(
  deps: Partial<UsageMeterDeps>,
  purpose: CallPurpose = {},
  reply: Completion | (() => Promise<Completion>) = { text: '{}', inputTokens: 1, outputTokens: 1 },
) {
  let sent = 0;
  const complete = async () => {
    sent += 1;
    return typeof reply === 'function' ? reply() : reply;
  };
  const provider: Provider = { name: 'openai', models: { high: 'h', low: 'l' }, complete };
  const budget: UsageMeterDeps['budget'] = {
    acquire: async () => 0,
    recordUsage: async () => {},
    pause: async () => {},
  };
  const metered = rateLimited(
    provider,
    { account: 'a', allowance: { requestsPerMinute: 1, tokensPerMinute: 1 }, purpose: { surveyId: 's', ...purpose } },
    {
      budget,
      usage: { record: async () => {} },
      surveys: { isEnabled: async () => true },
      maxWaitMs: Infinity,
      retryOnOutage: (step) => step(),
      newId: () => 'id',
      log: createLog('silent'),
      ...deps,
    },
  );
  return { metered, sent: () => sent };
}

describe('a call within limits', () => {
  it('is not sent where AI was switched off while it waited for the limits', async () => {
    let isOn = true;
    const takes = [5, 0];
    const acquire = async () => {
      const waitMs = takes.shift() ?? 0;
      if (waitMs === 0) isOn = false;
      return waitMs;
    };
    const settled: number[] = [];
    const { metered, sent } = scene({
      budget: { acquire, recordUsage: async (_, { tokens }) => void settled.push(tokens), pause: async () => {} },
      surveys: { isEnabled: async () => isOn },
    });
    await assert.rejects(ask(metered, task, signal), { code: 'AI_DISABLED' });
    assert.deepEqual([sent(), settled], [0, [0]], 'it returns the tokens that it had taken');
  });

  it('reports how long it still waits for the limits, and when it goes on', async () => {
    const [takes, told]: number[][] = [[6, 5, 0, 0], []];
    const { metered } = scene(
      { budget: { acquire: async () => takes?.shift() ?? 0, recordUsage: async () => {}, pause: async () => {} } },
      { waits: (ms) => told?.push(ms) },
    );
    await ask(metered, task, signal);
    await ask(metered, task, signal);
    assert.deepEqual(told, [6, 5, 0]);
    const refusals = [new Problem('AI_RATE_LIMITED', undefined, { retryAfterSeconds: 0.004 })];
    const refusing: Provider = {
      ...metered,
      complete: async (request) => (refusals.length > 0 ? Promise.reject(refusals.pop()) : metered.complete(request)),
    };
    await ask(
      waitForRateLimits(refusing, (ms) => told?.push(ms)),
      task,
      signal,
    );
    assert.deepEqual(told, [6, 5, 0, 4], 'also where the provider itself asks for a pause');
  });

  it('of a job outlasts a limit of minutes at a provider that asks for a moment each time', async () => {
    let [nowMs, limitedUntilMs] = [0, 300_000];
    const { metered } = scene({});
    const refusing: Provider = {
      ...metered,
      complete: async (request) => {
        if (nowMs >= limitedUntilMs) return metered.complete(request);
        throw new Problem('AI_RATE_LIMITED', undefined, { retryAfterSeconds: 1 });
      },
    };
    const patient = waitForRateLimits(
      refusing,
      () => {},
      async (ms) => {
        nowMs += ms;
      },
    );
    await ask(patient, task, signal);
    assert.ok(nowMs < limitedUntilMs + 31_000, `it went on after ${nowMs} ms`);
    limitedUntilMs = Infinity;
    await assert.rejects(ask(patient, task, signal), { code: 'AI_RATE_LIMITED' });
  });

  it('that the provider refuses is logged with the names of the cause, and without the words of the provider', async () => {
    const logged: unknown[] = [];
    const log = { ...createLog('silent'), warn: (...given: unknown[]) => void logged.push(given) };
    const refusal = {
      status: 400,
      code: 'unsupported_value',
      type: 'invalid_request_error',
      param: 'max tokens of sk-secret',
      requestID: 'req_1',
      message: 'sk-secret may not ask for 17,800 tokens',
    };
    const failing = (error: unknown) =>
      scene({ log: log as unknown as UsageMeterDeps['log'] }, {}, async () => Promise.reject(problemOf(error)));
    await assert.rejects(ask(failing(refusal).metered, task, signal), { code: 'AI_PROVIDER_ERROR' });
    const { code, type, requestID } = refusal;
    const call = { provider: 'openai', model: 'l', task: 'task' };
    const expected = [[{ ...call, status: 400, code, type, requestID }, 'an AI provider refused a call']];
    assert.deepEqual(logged, expected);
    await assert.rejects(ask(failing({ status: 429 }).metered, task, signal), { code: 'AI_RATE_LIMITED' });
    assert.deepEqual(logged, expected, 'limits are usual');
  });

  it('is not sent where it cannot be found out whether AI is on', async () => {
    const { metered, sent } = scene({
      surveys: {
        isEnabled: async () => {
          throw new Error('away');
        },
      },
    });
    await assert.rejects(ask(metered, task, signal), /away/);
    assert.equal(sent(), 0);
  });

  it('is sent and recorded, where it belongs to a job, although the database was away for a moment', async () => {
    const missed = new Set<string>();
    const onceAway = async (what: string) => {
      if (missed.has(what)) return true;
      missed.add(what);
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    const deps: Partial<UsageMeterDeps> = {
      surveys: { isEnabled: () => onceAway('switch') },
      usage: { record: async () => void (await onceAway('record')) },
    };
    const job = scene({ ...deps, retryOnOutage: (step) => retryOnOutage(step, [1]) });
    await ask(job.metered, task, signal);
    assert.deepEqual([job.sent(), [...missed]], [1, ['switch', 'record']]);
    missed.clear();
    const request = scene(deps);
    await assert.rejects(ask(request.metered, task, signal), { code: 'ECONNREFUSED' });
    assert.equal(request.sent(), 0);
  });

  it('is sent after the limits were asked once, however slow they are to answer', async (t) => {
    let [nowMs, takes, looks] = [0, 0, 0];
    t.mock.method(performance, 'now', () => nowMs);
    const endless = new AbortController();
    const acquire = async () => {
      for (let turns = 0; turns < 20; turns += 1) await turn();
      [nowMs, takes] = [nowMs + 1000, takes + 1];
      if (takes > 4) endless.abort(new Error('the limits are asked again and again'));
      throw new Error('Command timed out');
    };
    const { metered, sent } = scene({
      budget: { acquire, recordUsage: async () => {}, pause: async () => {} },
      surveys: {
        async isEnabled() {
          looks += 1;
          return true;
        },
      },
    });
    await ask(metered, task, endless.signal);
    assert.deepEqual([sent(), takes, looks], [1, 1, 1]);
  });

  it('asks whether AI is on after it has waited for the limits', async () => {
    const steps: string[] = [];
    const { metered } = scene({
      budget: {
        async acquire() {
          steps.push('limits');
          return 0;
        },
        recordUsage: async () => {},
        pause: async () => {},
      },
      surveys: {
        async isEnabled() {
          steps.push('switch');
          return true;
        },
      },
    });
    await ask(metered, task, signal);
    assert.deepEqual(steps, ['limits', 'switch']);
  });

  it('returns its tokens where it is aborted before it is sent', async () => {
    const settled: number[] = [];
    const aborted = new AbortController();
    const { metered, sent } = scene({
      budget: {
        acquire: async () => 0,
        recordUsage: async (_, { tokens }) => void settled.push(tokens),
        pause: async () => {},
      },
      surveys: {
        async isEnabled() {
          aborted.abort(new Error('aborted'));
          return true;
        },
      },
    });
    await assert.rejects(ask(metered, task, aborted.signal), /aborted/);
    assert.deepEqual([sent(), settled], [0, [0]]);
  });

  it('fails as one that was not answered in time where its time ends while it waits for the limits, and is otherwise ended by its caller', async () => {
    for (const [reason, expected] of [
      [new DOMException('too late', 'TimeoutError'), { code: 'AI_PROVIDER_ERROR', message: /in time/ }],
      [new Error('cancelled'), { message: 'cancelled' }],
    ] as const) {
      const caller = new AbortController();
      const budget = { recordUsage: async () => {}, pause: async () => {} };
      const acquire = async () => 60_000;
      const { metered, sent } = scene(
        { budget: { ...budget, acquire } },
        { waits: () => queueMicrotask(() => caller.abort(reason)) },
      );
      await assert.rejects(ask(metered, task, caller.signal), expected);
      assert.equal(sent(), 0);
    }
  });

  it('counts by its length in the limits, and is recorded without tokens, where its reply does not say what it used', async () => {
    const [settled, recorded]: number[][] = [[], []];
    const { metered } = scene(
      {
        budget: {
          acquire: async () => 0,
          recordUsage: async (_, { tokens }) => void settled?.push(tokens),
          pause: async () => {},
        },
        usage: {
          record: async ({ inputTokens, outputTokens }) => void recorded?.push(inputTokens, outputTokens),
        },
      },
      {},
      { text: JSON.stringify({ said: 'a'.repeat(3000) }), inputTokens: 0, outputTokens: 0 },
    );
    await ask(metered, task, signal);
    assert.deepEqual(recorded, [0, 0]);
    const [taken = 0] = settled ?? [];
    assert.ok(taken > 1000 && taken < 2000, `${taken} tokens for a reply of 3000 letters to a short request`);
  });

  it('is recorded before its reply is returned, and the reply is handed on meanwhile', async () => {
    let write = (): void => undefined;
    const written = new Promise<void>((resolve) => (write = resolve));
    const { metered } = scene({ usage: { record: () => written } });
    const replies: string[] = [];
    let isAnswered = false;
    const asked = ask(metered, task, signal, { onReply: async (text) => void replies.push(text) }).finally(
      () => (isAnswered = true),
    );
    for (let turns = 0; turns < 20; turns += 1) await turn();
    assert.deepEqual([replies, isAnswered], [['{}'], false]);
    write();
    await asked;
  });

  it('is recorded before it fails because its reply was invalid', async () => {
    let write = (): void => undefined;
    const written = new Promise<void>((resolve) => (write = resolve));
    let records = 0;
    const record = async () => {
      records += 1;
      await written;
    };
    const { metered, sent } = scene({ usage: { record } });
    let isOver = false;
    const outcome = assert
      .rejects(ask(metered, { ...task, read: () => ({ wrong: ['all of it'] }) }, signal), { code: 'AI_PROVIDER_ERROR' })
      .then(() => (isOver = true));
    for (let turns = 0; turns < 20; turns += 1) await turn();
    assert.deepEqual([sent(), isOver], [1, false]);
    write();
    await outcome;
    assert.deepEqual([sent(), records], [2, 2]);
  });
});
