import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openReply } from '../../../../src/http/server/reply.ts';
import { fakeResponse } from '../../../support/fake-response.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function* pieces(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe('a reply', () => {
  it('writes its status line, headers and body inside a cork', () => {
    const { response, written } = fakeResponse();
    openReply(response).send(
      404,
      [
        ['content-type', 'text/plain'],
        ['x-a', 'b'],
      ],
      'gone',
    );
    assert.equal(written.status, '404 Not Found');
    assert.deepEqual(written.headers, [
      ['content-type', 'text/plain'],
      ['x-a', 'b'],
    ]);
    assert.equal(written.body, 'gone');
  });

  it('leaves out a header whose value could start another one, or is no Latin-1', () => {
    const { response, written } = fakeResponse();
    openReply(response).send(
      200,
      [
        ['x-a', 'b\r\nset-cookie: c=d'],
        ['x-b', 'e\nf'],
        ['x-c', 'g\u0000'],
        ['x-d', '\u0130'],
        ['x-e', 'h\u007f'],
        ['x-f', 'caf\u00e9\t!'],
      ],
      '',
    );
    assert.deepEqual(written.headers, [['x-f', 'caf\u00e9\t!']]);
  });

  it('is sent once; later writes are dropped', () => {
    const { response, written } = fakeResponse();
    const reply = openReply(response);
    reply.send(200, [], 'first');
    reply.send(500, [], 'second');
    reply.sendHead(204, []);
    assert.deepEqual(written.calls, ['status', 'end']);
    assert.equal(written.body, 'first');
    assert.equal(reply.isOver, true);
  });

  it('is not written after the client has gone, and calls the abort listeners', async () => {
    const { response, written, abort } = fakeResponse();
    const reply = openReply(response);
    let heard = 0;
    reply.onAbort(() => {
      heard += 1;
    });
    abort();
    reply.onAbort(() => {
      heard += 1;
    });
    reply.send(200, [], 'x');
    reply.sendHead(204, []);
    reply.sendAndClose(413, [], 'x');
    await reply.stream(200, [], pieces('x'));
    assert.deepEqual([heard, written.calls], [2, []]);
  });

  it('has the length of a body that it does not send', () => {
    const { response, written } = fakeResponse();
    openReply(response).sendHead(200, [], 42);
    assert.deepEqual(written.headers, [['content-length', '42']]);
    assert.deepEqual(written.calls, ['status', 'endWithoutBody']);
  });

  it('closes the connection if the body was not read', () => {
    const { response, written } = fakeResponse();
    openReply(response).sendAndClose(413, [], 'too large');
    assert.deepEqual([written.body, written.isClosedAfter], ['too large', true]);
    const head = fakeResponse();
    openReply(head.response).sendHeadAndClose(413, [], 9);
    assert.deepEqual([head.written.body, head.written.calls], ['', ['status', 'tryEnd', 'close']]);
  });

  it('is collected to close the connection up to a bound, above which the connection is cut', async () => {
    const small = fakeResponse();
    await openReply(small.response).collectAndClose(201, [], pieces('abc', 'def'));
    assert.deepEqual([small.written.body, small.written.isClosedAfter], ['abcdef', true]);
    let asked = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      const piece = Buffer.alloc(1024 * 1024);
      for (; asked < 200; asked += 1) yield piece;
    }
    const large = fakeResponse();
    await assert.rejects(openReply(large.response).collectAndClose(201, [], endless()), /larger than 134217728 bytes/);
    assert.deepEqual([asked, large.written.calls], [128, ['close']]);
  });

  it('streams chunks of unknown length, and waits while the socket is full', async () => {
    const { response, written, drain } = fakeResponse({ roomBytes: 3 });
    const done = openReply(response).stream(200, [['x-a', 'b']], pieces('abc', 'def', 'g'));
    await settled();
    assert.equal(written.body, 'abc');
    drain();
    await settled();
    assert.equal(written.body, 'abcdef');
    drain();
    await done;
    assert.equal(written.body, 'abcdefg');
    assert.equal(written.calls.at(-1), 'end');
  });

  it('streams a body of known length byte for byte, however little the socket takes', async () => {
    const { response, written, drain } = fakeResponse({ roomBytes: 2 });
    const done = openReply(response).stream(206, [], pieces('abcde', 'fg'), 7);
    for (let turn = 0; turn < 10 && written.body.length < 7; turn += 1) {
      await settled();
      drain();
    }
    await done;
    assert.equal(written.body, 'abcdefg');
    assert.ok(!written.calls.includes('end'), 'the last piece ends the reply');
  });

  it('ends an empty stream of known length', async () => {
    const { response, written } = fakeResponse();
    await openReply(response).stream(200, [], pieces(), 0);
    assert.equal(written.calls.at(-1), 'end');
  });

  it('stops reading its source when the client goes, even while it waits', async () => {
    for (const totalBytes of [undefined, 30]) {
      let asked = 0;
      let isClosed = false;
      async function* source(): AsyncIterable<Uint8Array> {
        try {
          for (; asked < 10; asked += 1) yield Buffer.from('abc');
        } finally {
          isClosed = true;
        }
      }
      const { response, abort } = fakeResponse({ roomBytes: 3 });
      const done = openReply(response).stream(200, [], source(), totalBytes);
      await settled();
      abort();
      await done;
      assert.ok(asked < 3, `${asked} pieces were asked for`);
      assert.equal(isClosed, true);
    }
  });

  it('cuts the connection if the source fails after the head was sent', async () => {
    async function* broken(): AsyncIterable<Uint8Array> {
      yield Buffer.from('abc');
      throw new Error('the disk is gone');
    }
    const { response, written } = fakeResponse();
    const reply = openReply(response);
    await assert.rejects(reply.stream(200, [], broken()), /the disk is gone/);
    assert.equal(written.calls.at(-1), 'close');
    assert.equal(reply.isOver, true);
  });
});
