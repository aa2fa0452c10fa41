import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { standInKey } from '../../test/support/ai-provider.ts';
import { medianOf } from './timing.ts';

export interface BareCallsOptions {
  url: string;
  /** Number of timed calls, `atOnce` at a time. */
  calls: number;
  atOnce: number;
  /** Answers that each is about. */
  batchSize: number;
}

/**
 * What a call for the sentiment of so many answers takes a client that does nothing else, over connections that stay
 * open: median, in ms.
 */
export async function timeBareCalls({ url, calls, atOnce, batchSize }: BareCallsOptions): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const body = bodyOf(batchSize);
  const times: number[] = [];
  const lane = async () => {
    while (times.length < calls) {
      const startedAt = performance.now();
      await call(`${url}/v1/chat/completions`, body, agent);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  agent.destroy();
  return Number(medianOf(times).toFixed(1));
}

function call(url: string, body: string, agent: Agent): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${standInKey}`, 'content-type': 'application/json' };
    request(url, { method: 'POST', agent, headers }, (reply) => {
      text(reply).then((reply) => resolve(JSON.parse(reply)), reject);
    })
      .on('error', reject)
      .end(body);
  });
}

function bodyOf(batchSize: number): string {
  const answers = Array.from({ length: batchSize }, (_, index) => ({
    n: index + 1,
    question: 'What should we change?',
    text: 'the queue at the counter is far too long and the soup is cold, table bcdfgh',
  }));
  const item = {
    type: 'object',
    properties: { n: { type: 'integer' }, sentiment: { type: 'string' } },
    required: ['n', 'sentiment'],
    additionalProperties: false,
  };
  const schema = {
    type: 'object',
    properties: { answers: { type: 'array', items: item } },
    required: ['answers'],
    additionalProperties: false,
  };
  return JSON.stringify({
    model: 'bare',
    max_completion_tokens: 3500,
    response_format: { type: 'json_schema', json_schema: { name: 'sentiment', schema, strict: true } },
    messages: [
      { role: 'system', content: 'Say of each answer whether it is positive, negative, neutral or mixed.' },
      { role: 'user', content: JSON.stringify({ answers }) },
    ],
  });
}
