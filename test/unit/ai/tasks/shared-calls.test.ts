import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import type { Completion, CompletionRequest, Provider, ReplyCache } from '../../../../src/ai/providers/provider.ts';
import { InvalidReply } from '../../../../src/ai/providers/provider.ts';
import { problemOf } from '../../../../src/ai/providers/provider-errors.ts';
import { ask, askDeferred, type Task } from '../../../../src/ai/tasks/ask.ts';
import { Problem, type ProblemCode } from '../../../../src/errors.ts';
import { askWithBisection } from '../../../../src/pipelines/ai/analysis/ask-with-bisection.ts';
import { type OverlappedCall, overlapCalls } from '../../../../src/pipelines/ai/analysis/overlapped-calls.ts';

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

/** A provider whose calls end one by one, as they are told. */
function scene() {
  const stored = new Map<string, string>();
  const replyCache: ReplyCache = {
    get: async (key) => {
      await turn();
      return stored.get(key);
    },
    async set(key, text) {
      await turn();
      stored.set(key, text);
    },
  };
  const calls: { reply(text: string): void; fail(error: unknown): void }[] = [];
  const complete = async ({ begin }: CompletionRequest): Promise<Completion> => {
    await begin?.();
    return new Promise((resolve, reject) =>
      calls.push({ reply: (text) => resolve({ text, inputTokens: 5, outputTokens: 7 }), fail: reject }),
    );
  };
  const provider: Provider = { name: 'openai', models: { high: 'h', low: 'l' }, replyCache, complete };
  const { signal } = new AbortController();
  return {
    calls,
    provider,
    asked: (data: unknown, own = signal, account = 'ours') => ask({ ...provider, account }, taskOf(data), own),
    askedAhead: (data: unknown, begin: () => Promise<void>) =>
      askDeferred({ ...provider, account: 'ours' }, taskOf(data), { signal, begin }),
  };
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

  it('do not fail with the time limit of who asked first', async () => {
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

  it('do not wait for one with another key', async () => {
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

  it('wait for none that is only made ready, and fail with no reason of one that never began', async () => {
    const { calls, asked, askedAhead } = scene();
    let refuse = (_: unknown): void => undefined;
    const ready = askedAhead(
      'a',
      () =>
        new Promise((_, reject) => {
          refuse = reject;
        }),
    );
    const outcome = assert.rejects(ready, InvalidReply);
    await turns();
    const other = asked('a');
    await turns();
    assert.equal(calls.length, 1);
    refuse(new InvalidReply());
    await outcome;
    calls[0]?.reply('{}');
    assert.deepEqual((await other).value, {});
  });

  it('are one where several are made ready before one of them begins', async () => {
    const { calls, asked, askedAhead } = scene();
    const begins: (() => void)[] = [];
    const begin = (): Promise<void> => new Promise((resolve) => begins.push(resolve));
    const ready = [askedAhead('a', begin), askedAhead('a', begin)];
    await turns();
    for (const leave of begins) leave();
    const late = asked('a');
    await turns();
    assert.equal(calls.length, 1);
    calls[0]?.reply('{"x":1}');
    const values = await Promise.all([...ready, late]);
    assert.deepEqual(
      [values.map(({ value }) => value), values.reduce((sum, { inputTokens }) => sum + inputTokens, 0)],
      [[{ x: 1 }, { x: 1 }, { x: 1 }], 5],
    );
    assert.equal(calls.length, 1);
  });

  it('let an analysis go on that halves a batch into what the next one is', { timeout: 2000 }, async () => {
    const { provider } = scene();
    const sent: string[][] = [];
    const complete = async ({ begin, turns: [question] }: CompletionRequest): Promise<Completion> => {
      await begin?.();
      const answers: string[] = JSON.parse(question?.text ?? '[]');
      sent.push(answers);
      await turns(3);
      if (answers.includes('bad')) throw new InvalidReply();
      return { text: JSON.stringify(answers), inputTokens: 1, outputTokens: 1 };
    };
    const judged: string[] = [];
    const call = (batch: string[], flight: OverlappedCall) =>
      askWithBisection(
        batch,
        async (some) => (await askDeferred({ ...provider, complete }, taskOf(some), flight)).value,
      );
    async function* batches(): AsyncGenerator<string[]> {
      yield* [['A', 'A2', 'bad', 'No'], ['No']];
    }
    await overlapCalls(
      batches,
      { atOnce: 1, delayMs: 0, signal: new AbortController().signal },
      {
        call,
        store: async () => undefined,
        finish: async (parts) =>
          void judged.push(...parts.flatMap(({ value }) => (Array.isArray(value) ? value : ['refused']))),
      },
    );
    assert.deepEqual(judged, ['A', 'A2', 'refused', 'No', 'No']);
    assert.equal(sent.filter((answers) => answers.length === 1 && answers[0] === 'No').length, 1);
  });
});
