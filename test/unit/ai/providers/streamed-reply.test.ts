import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';

const moduleAt = (path: string): string =>
  JSON.stringify(new URL(`../../../../src/ai/providers/${path}`, import.meta.url).href);

/**
 * Says how a call ends whose reply stops after its first event, where memory is collected meanwhile. On a thread, whose
 * memory is looked through at once.
 */
const stalling = (file: string, make: string): URL =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  import { parentPort } from 'node:worker_threads';
  import { ${make} as make } from ${moduleAt(file)};
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  let [pulls, isCollected] = [0, false];
  const collectAll = () => {
    collect();
    isCollected = true;
  };
  const pull = (stream) => {
    pulls += 1;
    if (pulls === 1) stream.enqueue(new TextEncoder().encode('event: ping\\ndata: {"type":"ping"}\\n\\n'));
    else setImmediate(collectAll);
  };
  const fetch = async (_url, { signal }) => {
    const start = (stream) => signal.addEventListener('abort', () => stream.error(signal.reason));
    return new Response(new ReadableStream({ start, pull }), { headers: { 'content-type': 'text/event-stream' } });
  };
  const caller = new AbortController();
  const limit = setTimeout(() => caller.abort(new Error('the call went on')), 10_000);
  const request = {
    model: 'm', system: 's', turns: [], schemaName: 'n', schema: { type: 'object' }, maxOutputTokens: 9,
    signal: caller.signal, onText() {},
  };
  const provider = make({ apiKey: 'key', models: { high: 'm', low: 'm' }, timeoutMs: 500, fetch });
  const error = await provider.complete(request).catch((error) => error);
  clearTimeout(limit);
  parentPort.postMessage([isCollected, error.code, error.message]);`)}`,
  );

describe('a streamed reply', () => {
  it('that stops is ended by the time limit of a call although memory is collected meanwhile', async () => {
    for (const [file, make] of [
      ['openai.js', 'createOpenAi'],
      ['anthropic.js', 'createAnthropic'],
    ] as const) {
      const [outcome] = await once(new Worker(stalling(file, make)), 'message');
      assert.deepEqual(outcome, [true, 'AI_PROVIDER_ERROR', 'The AI provider did not answer in time'], make);
    }
  });
});
