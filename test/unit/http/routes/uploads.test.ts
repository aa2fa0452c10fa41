import type { HttpResponse } from 'uWebSockets.js';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Problem } from '../../../../src/errors.ts';
import { readFileName } from '../../../../src/http/routes/uploads.ts';
import { receiveStream } from '../../../../src/http/server/request-body.ts';
import { inspectContent, isAcceptedType } from '../../../../src/stores/uploads/media-type.ts';

/** A connection that says whether it was asked to wait. */
function connection(limitBytes: number, declaredBytes?: number) {
  let onData: (chunk: ArrayBuffer, isLast: boolean) => void = () => undefined;
  let abort: () => void = () => undefined;
  const state = { isPaused: false };
  const response = {
    onData: (listener: typeof onData) => {
      onData = listener;
      return onData;
    },
    pause: () => {
      state.isPaused = true;
      return state.isPaused;
    },
    resume: () => {
      state.isPaused = false;
      return state.isPaused;
    },
  };
  const stream = receiveStream(response as unknown as HttpResponse, {
    limitBytes,
    declaredBytes,
    onAbort: (listener) => {
      abort = listener;
    },
  });
  const receive = (text: string, isLast = false) => {
    const memory = new Uint8Array(Buffer.from(text));
    onData(memory.buffer, isLast);
    memory.fill(0);
  };
  return { stream, state, receive, abort: () => abort() };
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

const refusal = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

describe('a body that streams', () => {
  it('yields copies of its chunks in order, whether they arrive before or after they are awaited', async () => {
    const { stream, receive } = connection(100);
    receive('one ');
    const whole = collect(stream.chunks());
    await turn();
    receive('two ');
    await turn();
    receive('', false);
    receive('three', true);
    assert.equal(await whole, 'one two three');
  });

  it('pauses the socket while nobody reads, and resumes it', async () => {
    const { stream, state, receive } = connection(1e9);
    const piece = 'x'.repeat(100_000);
    let sent = 0;
    while (!state.isPaused && sent < 100) {
      receive(piece);
      sent += 1;
    }
    assert.ok(sent * piece.length < 1024 * 1024, `took ${sent * piece.length} bytes before it asked to wait`);
    const pieces = stream.chunks();
    for (let read = 0; read < sent; read += 1) await pieces.next();
    assert.equal(state.isPaused, false);
  });

  it('is refused past its limit, declared or not, and if the client breaks off', async () => {
    await assert.rejects(collect(connection(8, 9).stream.chunks()), refusal('PAYLOAD_TOO_LARGE'));
    const over = connection(8);
    over.receive('12345678');
    over.receive('9', true);
    await assert.rejects(collect(over.stream.chunks()), refusal('PAYLOAD_TOO_LARGE'));
    const broken = connection(8);
    const reading = collect(broken.stream.chunks());
    await turn();
    broken.abort();
    await assert.rejects(reading, refusal('VALIDATION_ERROR'));
  });

  it('is discarded if it is not read, so that the sender does not wait for ever', () => {
    const { stream, state, receive } = connection(1e9);
    while (!state.isPaused) receive('x'.repeat(100_000));
    stream.discard();
    assert.equal(state.isPaused, false);
    for (let n = 0; n < 20; n += 1) receive('x'.repeat(100_000));
    assert.equal(state.isPaused, false);
  });
});

describe('the content of a file', () => {
  const inspect = async (bytes: Buffer, options: { declared?: string; taken?: string[]; pieceBytes?: number } = {}) => {
    const { pieceBytes = 1000 } = options;
    const pieces = (async function* () {
      for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
    })();
    const inspected = await inspectContent(pieces, { declared: options.declared, acceptedTypes: options.taken });
    const passed = await collect(inspected.bytes);
    assert.equal(passed, bytes.toString());
    return inspected.mimeType();
  };

  it('determines its type, however small the chunks', async () => {
    for (const pieceBytes of [1, 7, 100_000]) {
      assert.equal(await inspect(Buffer.from('GIF89a\u0001\0\u0001\0\0\0\0;', 'latin1'), { pieceBytes }), 'image/gif');
      assert.equal(
        await inspect(Buffer.from('Grüße, 你好 😀'), { pieceBytes }),
        'text/plain',
        'characters are cut anywhere',
      );
      assert.equal(
        await inspect(Buffer.from('cut: \xe4\xbd', 'latin1'), { pieceBytes }),
        'application/octet-stream',
        'half a character at the end',
      );
    }
  });

  it('is HTML or SVG if it starts like one, whatever is declared', async () => {
    assert.equal(await inspect(Buffer.from('\uFEFF  <!-- x --><HTML><body>'), { declared: 'text/plain' }), 'text/html');
    assert.equal(await inspect(Buffer.from('<svg onload="alert(1)"/>'), { declared: 'image/png' }), 'image/svg+xml');
    await assert.rejects(inspect(Buffer.from('<svg/>'), { taken: ['image/png'] }), refusal('UNSUPPORTED_MEDIA_TYPE'));
  });

  it('is plain text of the declared or accepted kind', async () => {
    assert.equal(await inspect(Buffer.from('a;b'), { declared: 'text/csv; charset=utf-8' }), 'text/csv');
    assert.equal(
      await inspect(Buffer.from('a;b'), { declared: 'application/vnd.ms-excel', taken: ['text/csv'] }),
      'text/csv',
    );
    assert.equal(await inspect(Buffer.from('a;b'), { declared: 'image/png' }), 'text/plain');
    await assert.rejects(inspect(Buffer.alloc(0)), refusal('VALIDATION_ERROR'));
  });

  it('is text in a single-byte encoding where the question names text/csv or text/plain', async () => {
    const typeOf = async (text: string, taken: string[] | undefined, pieceBytes = 1000): Promise<string> => {
      const bytes = Buffer.from(text, 'latin1');
      const pieces = (async function* () {
        for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
      })();
      const inspected = await inspectContent(pieces, { declared: 'application/vnd.ms-excel', acceptedTypes: taken });
      for await (const _ of inspected.bytes);
      return inspected.mimeType();
    };
    const late = `Name;Preis\r\n${'a;1\r\n'.repeat(20_000)}`;
    for (const pieceBytes of [1, 1000])
      for (const text of ['M\xfcller;5 \x80\r\n', 'Stra\xdfe', `${late}M\xfcller`, `${late}\xfc`]) {
        assert.equal(await typeOf(text, ['text/csv'], pieceBytes), 'text/csv');
        assert.equal(await typeOf(text, ['image/png', 'text/plain'], pieceBytes), 'text/plain');
        assert.equal(await typeOf(text, undefined, pieceBytes), 'application/octet-stream');
      }
    for (const text of ['\xfc\0', '\xfc\x1b[1m', 'a\x0cb\xfc', `\xfc${late}\x7f`, `${late}\x1b\xfc`])
      await assert.rejects(typeOf(text, ['text/csv']), refusal('UNSUPPORTED_MEDIA_TYPE'));
    for (const taken of [['text/*'], ['text/markdown'], ['application/json']])
      await assert.rejects(typeOf('\xfc', taken), refusal('UNSUPPORTED_MEDIA_TYPE'));
    await assert.rejects(typeOf('<html>\xfc', ['text/csv', 'text/plain']), refusal('UNSUPPORTED_MEDIA_TYPE'));
  });

  it('is accepted by type or family; archives by type only', () => {
    assert.ok(
      isAcceptedType('image/webp', ['image/*']) &&
        isAcceptedType('application/zip', ['application/zip']) &&
        isAcceptedType('application/pdf', undefined),
    );
    assert.ok(
      !isAcceptedType('application/zip', undefined) &&
        !isAcceptedType('text/plain', ['image/*']) &&
        !isAcceptedType('imagery/x', ['image/*']),
    );
  });
});

describe('the name of a file', () => {
  it('is the last part of the path, without misleading characters', () => {
    const names = [
      ['photo.jpg', 'photo.jpg'],
      ['..%2F..%2Fetc%2Fpasswd', 'passwd'],
      ['C%3A%5CUsers%5Cme%5Ca.txt', 'a.txt'],
      ['..', 'upload'],
      ['%00%0d%0aa%0D.txt', 'a.txt'],
      ['gpj.%E2%80%AEexe', 'gpj.exe'],
      ['.htaccess', 'htaccess'],
      ['%E4%BD%A0.pdf', '你.pdf'],
      ['', 'upload'],
      [undefined, 'upload'],
    ] as const;
    for (const [given, wanted] of names) assert.equal(readFileName(given), wanted, given);
    assert.equal([...readFileName(`${'a'.repeat(500)}.png`)].length, 200);
    for (const wrong of ['%E4', 'ü.txt', `${'a'.repeat(2001)}`])
      assert.throws(() => readFileName(wrong), refusal('VALIDATION_ERROR'), wrong);
  });
});
