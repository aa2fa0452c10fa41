import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createBoundedFetch } from '../../../../src/ai/providers/bounded-fetch.ts';
import { createGuard } from '../../../../src/webhooks/guard.ts';

describe('the address of an AI provider that was entered in-app', () => {
  let calls = 0;
  const inside = createServer((_, reply) => {
    calls += 1;
    reply.end('{}');
  });
  let port: number;
  before(async () => {
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
    port = (inside.address() as AddressInfo).port;
  });
  after(() => inside.close());

  it('is checked again when it is called: neither a written-out address nor a name leads inside', async () => {
    const guard = createGuard({ isPrivateAllowed: false, resolve: async () => ['127.0.0.1'] });
    const guarded = createBoundedFetch({ maxReplyBytes: 1000, timeoutMs: 10_000, guard });
    for (const url of [
      `http://127.0.0.1:${port}/v1/chat`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      'http://2130706433/',
      'http://api.example.com/v1/chat',
    ])
      await assert.rejects(guarded(url, { method: 'POST', body: '{}' }), url);
    assert.equal(calls, 0);
  });

  it('is called where the environment names it, wherever that is', async () => {
    const reply = await createBoundedFetch({ maxReplyBytes: 1000, timeoutMs: 10_000 })(`http://127.0.0.1:${port}/`);
    assert.deepEqual([reply.status, calls], [200, 1]);
  });
});
