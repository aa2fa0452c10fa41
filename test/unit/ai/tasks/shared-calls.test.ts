import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { Completion, Provider, ReplyCache } from '../../../../src/ai/providers/provider.ts';
import { problemOf } from '../../../../src/ai/providers/provider-errors.ts';
import { ask, type Task } from '../../../../src/ai/tasks/ask.ts';
import { Problem, type ProblemCode } from '../../../../src/errors.ts';

const taskOf = (data: unknown): Task<unknown> => ({
  name: 'task',
  version: 1,
  tier: 'low',
  system: 's',
  data,
  schema: z.object({}),
  read: (value) => ({ value }),
  maxOutputTokens: 10,
});

/** A provider whose calls end when the test replies to them. */
function scene({ isCacheAway = false } = {}) {
  const stored = new Map<string, string>();
  const replyCache: ReplyCache = {
    async get(key) {
      await turn();
      return stored.get(key);
    },
    async set(key, text) {
      await turn();
      if (!isCacheAway) stored.set(key, text);
    },
  };
  const calls: { reply(text: string): void; fail(error: unknown): void }[] = [];
  const complete = (): Promise<Completion> =>
    new Promise((resolve, reject) =>
      calls.push({ reply: (text) => resolve({ text, inputTokens: 5, outputTokens: 7 }), fail: reject }),
    );
  const models = { high: 'h', low: 'l' };
  const provider: Provider = { name: 'openai', models, complete, replyCache };
  const { signal } = new AbortController();
  return {
    calls,
    asked: (data: unknown, own = signal, account = 'ours') => ask({ ...provider, account }, taskOf(data), own),
  };
}

async function turns(count = 20): Promise<void> {
  for (let turned = 0; turned < count; turned += 1) await turn();
}

describe('equal calls at once', () => {
  for (const isCacheAway of [false, true])
    it(`are made once, and different questions are asked each by itself, ${isCacheAway ? 'while the cache is away' : 'with a cache'}`, async () => {
      const { calls, asked } = scene({ isCacheAway });
      const all = [asked('a'), asked('a'), asked('b'), asked('a')];
      await turns();
      assert.equal(calls.length, 2);
      for (const call of calls) call.reply('{"x":1}');
      assert.deepEqual(
        (await Promise.all(all)).map(({ value, inputTokens }) => [value, inputTokens]),
        [
          [{ x: 1 }, 5],
          [{ x: 1 }, 0],
          [{ x: 1 }, 5],
          [{ x: 1 }, 0],
        ],
      );
      assert.equal(calls.length, 2);
    });

  for (const [code, sent] of [
    ['AI_PROVIDER_ERROR', 1],
    ['AI_KEY_INVALID', 1],
    ['AI_RATE_LIMITED', 1],
    ['AI_MODEL_UNAVAILABLE', 1],
    ['AI_DISABLED', 2],
  ] as [ProblemCode, number][])
    it(`fail together where the provider is at fault, and alone otherwise: ${code}`, async () => {
      const { calls, asked } = scene();
      const [one, other] = [asked('a'), asked('a')];
      const outcome = assert.rejects(one, { code });
      await turns();
      calls[0]?.fail(new Problem(code));
      await outcome;
      if (sent === 1) return void (await assert.rejects(other, { code }));
      await turns();
      assert.equal(calls.length, 2);
      calls[1]?.reply('{}');
      assert.deepEqual((await other).value, {});
    });

  it('go on when the first caller aborts, and let a waiting caller abort', async () => {
    const { calls, asked } = scene();
    const [first, second] = [new AbortController(), new AbortController()];
    const one = assert.rejects(asked('a', first.signal), /gone/);
    const two = assert.rejects(asked('a', second.signal), /tired/);
    const three = asked('a');
    await turns();
    second.abort(new Error('tired'));
    await two;
    first.abort(new Error('gone'));
    calls[0]?.fail(new Error('gone'));
    await one;
    await turns();
    assert.equal(calls.length, 2);
    calls[1]?.reply('{}');
    assert.deepEqual((await three).value, {});
  });

  it('do not fail with the time limit of the first caller', async () => {
    const { calls, asked } = scene();
    const limited = new AbortController();
    const one = assert.rejects(asked('a', limited.signal), { code: 'AI_PROVIDER_ERROR' });
    const other = asked('a');
    await turns();
    const late = new DOMException('too late', 'TimeoutError');
    limited.abort(late);
    calls[0]?.fail(problemOf(late));
    await one;
    await turns();
    assert.equal(calls.length, 2);
    calls[1]?.reply('{}');
    assert.deepEqual((await other).value, {});
  });

  it('fail as ones that were not answered in time where their own time ends while they wait for each other', async () => {
    const { calls, asked } = scene();
    const one = asked('a');
    const limited = new AbortController();
    const other = assert.rejects(asked('a', limited.signal), { code: 'AI_PROVIDER_ERROR' });
    await turns();
    limited.abort(new DOMException('too late', 'TimeoutError'));
    await other;
    calls[0]?.reply('{}');
    assert.deepEqual((await one).value, {});
  });

  it('do not wait for a call with another API key', async () => {
    const { calls, asked } = scene();
    const bad = assert.rejects(asked('a', undefined, 'replaced'), { code: 'AI_KEY_INVALID' });
    const good = asked('a');
    await turns();
    assert.equal(calls.length, 2);
    calls[0]?.fail(new Problem('AI_KEY_INVALID'));
    calls[1]?.reply('{}');
    await bad;
    assert.deepEqual((await good).value, {});
  });
});
