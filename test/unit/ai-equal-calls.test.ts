import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { Completion, CompletionRequest, KeptReplies, Provider } from '../../src/ai/provider.ts';
import { ask, type Task } from '../../src/ai/structured.ts';
import { Problem, type ProblemCode } from '../../src/errors.ts';

const taskOf = (data: unknown): Task<unknown> => ({ name: 'task', version: 1, tier: 'low', system: 's', data, schema: z.object({}), read: (value) => ({ value }), maxOutputTokens: 10 });

/** A provider whose calls end one by one, as they are told. */
function scene() {
  const stored = new Map<string, string>();
  const kept: KeptReplies = {
    get: async (key) => (await turn(), stored.get(key)),
    async set(key, text) {
      await turn();
      stored.set(key, text);
    },
  };
  const calls: { reply(text: string): void; fail(error: unknown): void }[] = [];
  const complete = (_: CompletionRequest): Promise<Completion> =>
    new Promise((resolve, reject) => calls.push({ reply: (text) => resolve({ text, inputTokens: 5, outputTokens: 7 }), fail: reject }));
  const provider: Provider = { name: 'openai', models: { high: 'h', low: 'l' }, kept, complete };
  const { signal } = new AbortController();
  return { calls, provider, asked: (data: unknown, own = signal) => ask(provider, taskOf(data), own) };
}

async function turns(count = 20): Promise<void> {
  for (let turned = 0; turned < count; turned += 1) await turn();
}

describe('equal calls at once', () => {
  it('are one, which is paid for once, and others are their own', async () => {
    const { calls, asked } = scene();
    const all = [asked('a'), asked('a'), asked('b'), asked('a')];
    await turns();
    assert.equal(calls.length, 2);
    for (const call of calls) call.reply('{"x":1}');
    assert.deepEqual((await Promise.all(all)).map(({ value, inputTokens }) => [value, inputTokens]), [[{ x: 1 }, 5], [{ x: 1 }, 0], [{ x: 1 }, 5], [{ x: 1 }, 0]]);
    assert.equal(calls.length, 2);
  });

  for (const [code, sent] of [['AI_PROVIDER_ERROR', 1], ['AI_KEY_INVALID', 1], ['AI_RATE_LIMITED', 1], ['AI_MODEL_UNAVAILABLE', 1], ['AI_DISABLED', 2]] as [ProblemCode, number][])
    it(`fail together where it is the provider’s fault, and else only who met it: ${code}`, async () => {
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

  it('outlast that who asked first breaks off, and let go of who does not want to wait', async () => {
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
});
