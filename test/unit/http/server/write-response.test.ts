import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ReplyChannel } from '../../../../src/http/server/reply.ts';
import { writeResponse } from '../../../../src/http/server/write-response.ts';

it('a text whose characters take several bytes is waited for like any other of its size', async () => {
  const ways: string[] = [];
  const reply = {
    send: () => void ways.push('not waited for'),
    stream: async () => void ways.push('waited for'),
  } as Partial<ReplyChannel> as ReplyChannel;
  const write = (text: string) =>
    writeResponse(reply, { kind: 'text', status: 200, mediaType: 'text/plain', text, headers: [] }, [], {
      isHead: false,
      requestId: 'one',
    });
  for (const text of ['a'.repeat(65_536), 'a'.repeat(65_537), '漢'.repeat(21_845), '漢'.repeat(21_846)])
    await write(text);
  assert.deepEqual(ways, ['not waited for', 'waited for', 'not waited for', 'waited for']);
});
