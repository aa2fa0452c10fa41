import type { HttpResponse } from 'uWebSockets.js';

/** The calls that a reply has made on its connection. */
export interface Written {
  status: string;
  /** The lines of the head as a client would read them. */
  readonly headers: [string, string][];
  body: string;
  /** Calls in order, headers aside: `status`, `write`, `end`, `endWithoutBody`, `tryEnd`, `close`. */
  calls: string[];
  isClosedAfter: boolean;
}

export interface FakeResponseOptions {
  /** How many bytes the socket takes before it asks to wait; it takes as many again at each `drain`. */
  roomBytes?: number;
}

/**
 * Stands for uWS' response: keeps what is written, refuses writing outside a cork after the first turn, and can be
 * aborted, filled and drained.
 */
export function fakeResponse({ roomBytes = Number.POSITIVE_INFINITY }: FakeResponseOptions = {}) {
  let head = '';
  const written: Written = {
    status: '',
    body: '',
    calls: [],
    isClosedAfter: false,
    get headers() {
      return head
        .split('\r\n')
        .filter((line) => line !== '')
        .map((line): [string, string] => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]);
    },
  };
  let [isOver, corked, room, taken] = [false, 0, roomBytes, 0];
  let onAborted: (() => void) | undefined;
  let onWritable: ((offset: number) => boolean) | undefined;
  let onData: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined;
  const bytesOf = (piece: string | Uint8Array): string =>
    typeof piece === 'string' ? piece : Buffer.from(piece).toString('latin1');
  const touch = (call: string) => {
    if (isOver) throw new Error(`${call} after the end: uWS would crash`);
    if (corked === 0) throw new Error(`${call} outside a cork`);
    if (call !== 'header') written.calls.push(call);
  };
  const take = (text: string): string => {
    const piece = text.slice(0, room);
    room -= piece.length;
    taken += piece.length;
    written.body += piece;
    return piece;
  };
  const response = {
    onAborted: (listener: () => void) => {
      onAborted = listener;
      return onAborted;
    },
    onData: (listener: typeof onData) => {
      onData = listener;
      return onData;
    },
    onWritable: (listener: typeof onWritable) => {
      onWritable = listener;
      return onWritable;
    },
    cork(work: () => void) {
      corked += 1;
      work();
      corked -= 1;
    },
    writeStatus(status: string) {
      touch('status');
      const [line = '', ...headers] = status.split('\r\n');
      written.status = line;
      head += headers.map((header) => `${header}\r\n`).join('');
    },
    writeHeader(name: string, value: string) {
      touch('header');
      head += `${name}: ${value}\r\n`;
    },
    write(piece: Uint8Array) {
      touch('write');
      // uWS keeps what the socket does not take: all of it counts as written.
      const text = bytesOf(piece);
      written.body += text;
      room -= text.length;
      return room > 0;
    },
    tryEnd(piece: string | Uint8Array, totalBytes: number): [boolean, boolean] {
      touch('tryEnd');
      const isWhole = take(bytesOf(piece)).length === piece.length;
      if (taken === totalBytes) isOver = true;
      return [isWhole, taken === totalBytes];
    },
    getWriteOffset: () => taken,
    end(body?: string | Uint8Array, shouldClose = false) {
      touch('end');
      if (body !== undefined) written.body += bytesOf(body);
      [isOver, written.isClosedAfter] = [true, shouldClose];
    },
    endWithoutBody() {
      touch('endWithoutBody');
      isOver = true;
    },
    close() {
      written.calls.push('close');
      isOver = true;
      onAborted?.();
    },
  };
  return {
    response: response as unknown as HttpResponse,
    written,
    abort() {
      isOver = true;
      onAborted?.();
    },
    /** The socket has room again. */
    drain() {
      room = roomBytes;
      onWritable?.(taken);
    },
    /** Hands in a piece of the body in memory that is taken back at once, as uWS does. */
    receive(text: string | Buffer, isLast: boolean) {
      const memory = new Uint8Array(Buffer.from(text));
      onData?.(memory.buffer, isLast);
      memory.fill(0);
    },
  };
}
