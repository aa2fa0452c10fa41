import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';

export type Header = readonly [string, string];

export type Pieces = AsyncIterable<Uint8Array> | readonly Uint8Array[];

/** The output of one request: a reply is written once, and never after an abort. */
export interface ReplyChannel {
  readonly isOver: boolean;
  onAbort(listener: () => void): void;
  /** Sends a whole reply. What the socket does not take at once is lost if the server closes. */
  send(status: number, headers: readonly Header[], body: string | Uint8Array): void;
  /** Sends headers only: 204, 304, and HEAD (with the length that GET would have). */
  sendHead(status: number, headers: readonly Header[], contentLength?: number): void;
  /**
   * Sends a body in chunks with backpressure; with Content-Length if `totalBytes` is given, otherwise with chunked
   * encoding.
   */
  stream(status: number, headers: readonly Header[], source: Pieces, totalBytes?: number): Promise<void>;
  /** Sends the reply and closes the connection, for requests whose body was not read to its end. */
  sendAndClose(status: number, headers: readonly Header[], body: string | Uint8Array): void;
  /** As `sendAndClose` for HEAD; `contentLength` is not 0. */
  sendHeadAndClose(status: number, headers: readonly Header[], contentLength: number): void;
  /**
   * Sends the pieces as a whole and closes the connection: the engine cannot close it after a body that went out in
   * pieces. Cuts the connection where they are more than `maxCollectedBytes`.
   */
  collectAndClose(status: number, headers: readonly Header[], source: Pieces): Promise<void>;
  /** Cuts the connection unless the reply is complete. */
  cut(): void;
  /** Sends the headers and keeps the body open; undefined if the client has gone. */
  open(status: number, headers: readonly Header[]): StreamingBody | undefined;
}

/** A body that stays open, for events. */
export interface StreamingBody {
  readonly isOver: boolean;
  /** False if the socket has not taken all of it: wait for `onWritable` before writing much more. */
  write(text: string): boolean;
  onWritable(listener: () => void): void;
  onEnd(listener: () => void): void;
  end(): void;
  /** Cuts the connection. */
  close(): void;
}

const statusLines = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ''}`]),
);
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Status line and headers as text. A header whose value holds a line break is left out: uWS writes values as they are,
 * so it would start another header.
 */
export function headText(status: number, headers: readonly Header[]): string {
  return (
    (statusLines.get(status) ?? String(status)) + headerLines(headers.filter(([, value]) => headerValue.test(value)))
  );
}

/** Headers to append to `headText`, without its check: for values that are known to hold no line break. */
export function headerLines(headers: readonly Header[]): string {
  let lines = '';
  for (const header of headers) lines += `\r\n${header[0]}: ${header[1]}`;
  return lines;
}

/** Writes status and headers with one call, since each call into uWS costs more than the text. */
function writeHead(res: HttpResponse, status: number, headers: readonly Header[]): void {
  res.writeStatus(headText(status, headers));
}

/** Sends a reply on a response that is neither replied to nor broken off. `head`: see `headText`. */
export function sendReply(res: HttpResponse, head: string, body: string): void {
  res.cork(() => {
    res.writeStatus(head);
    res.end(body);
  });
}

/**
 * Greatest reply that is sent as a whole to close the connection. The largest one of a call with a body is that of
 * 100,000 invitations, whose references have 200 characters, which JSON writes with six bytes each at most.
 */
const maxCollectedBytes = 128 * 1024 * 1024;

/** Wraps a uWS response; must be called before the first await. */
export function openReply(res: HttpResponse): ReplyChannel {
  let isOver = false;
  let isStreaming = false;
  const listeners: (() => void)[] = [];
  res.onAborted(() => {
    isOver = true;
    for (const listener of listeners) listener();
  });
  const writeOnce = (write: () => void) => {
    if (isOver || isStreaming) return;
    isOver = true;
    try {
      res.cork(write);
    } catch (error) {
      // A head may have gone out, and the client would wait for the rest.
      res.close();
      throw error;
    }
  };
  const sendAndClose: ReplyChannel['sendAndClose'] = (status, headers, body) =>
    writeOnce(() => {
      writeHead(res, status, headers);
      res.end(body, true);
    });
  return {
    get isOver() {
      return isOver;
    },
    onAbort: (listener) => void (isOver ? listener() : listeners.push(listener)),
    send: (status, headers, body) =>
      writeOnce(() => {
        writeHead(res, status, headers);
        res.end(body);
      }),
    sendHead: (status, headers, contentLength) =>
      writeOnce(() => {
        writeHead(res, status, headers);
        if (contentLength !== undefined) res.writeHeader('content-length', String(contentLength));
        res.endWithoutBody();
      }),
    sendAndClose,
    sendHeadAndClose: (status, headers, contentLength) => {
      if (isOver || isStreaming) return;
      writeOnce(() => {
        writeHead(res, status, [...headers, ['connection', 'close']]);
        // The engine keeps the connection after a head without its body: it is closed while the body is still awaited.
        res.tryEnd('', contentLength);
      });
      res.close();
    },
    collectAndClose: async (status, headers, source) => {
      const pieces: Uint8Array[] = [];
      let bytes = 0;
      try {
        for await (const piece of source) {
          if (isOver) return;
          bytes += piece.length;
          if (bytes > maxCollectedBytes) throw new Error(`the reply is larger than ${maxCollectedBytes} bytes`);
          pieces.push(piece);
        }
      } catch (error) {
        if (!isOver) res.close();
        throw error;
      }
      sendAndClose(status, headers, Buffer.concat(pieces));
    },
    cut: () => void (isOver || res.close()),
    open: (status, headers) => {
      if (isOver || isStreaming) return undefined;
      isStreaming = true;
      res.cork(() => writeHead(res, status, headers));
      return {
        get isOver() {
          return isOver;
        },
        write: (text) => {
          let isTaken = true;
          if (!isOver)
            res.cork(() => {
              isTaken = res.write(text);
            });
          return isTaken;
        },
        onWritable: (listener) =>
          void res.onWritable(() => {
            listener();
            return true;
          }),
        onEnd: (listener) => void (isOver ? listener() : listeners.push(listener)),
        end: () => {
          if (isOver) return;
          isOver = true;
          res.cork(() => void res.end());
          for (const listener of listeners) listener();
        },
        // uWS reports this as an abort, which calls the listeners.
        close: () => void (isOver || res.close()),
      };
    },
    stream: async (status, headers, source, totalBytes) => {
      if (isOver || isStreaming) return;
      isStreaming = true;
      let resume: (offset: number) => void = () => undefined;
      listeners.push(() => resume(-1));
      // One listener for the whole reply: the engine drops a new one that is set while it calls the former.
      res.onWritable((offset) => {
        resume(offset);
        return true;
      });
      const whenWritable = () => new Promise<number>((resolve) => (resume = resolve));
      const target: StreamTarget = { res, isAborted: () => isOver, whenWritable };
      try {
        res.cork(() => writeHead(res, status, headers));
        if (totalBytes === undefined) await streamChunked(target, source);
        else await streamSized(target, source, totalBytes);
      } catch (error) {
        // The head is sent, so only a cut connection can still signal the failure.
        if (!isOver) res.close();
        throw error;
      } finally {
        isOver = true;
      }
    },
  };
}

interface StreamTarget {
  res: HttpResponse;
  isAborted(): boolean;
  /**
   * Resolves with the offset that the socket has taken, or −1 if the client has gone. Keeps nothing of earlier waits,
   * since a download may wait a million times.
   */
  whenWritable(): Promise<number>;
}

async function streamChunked(target: StreamTarget, source: Pieces): Promise<void> {
  const { res } = target;
  for await (const chunk of source) {
    if (target.isAborted()) return;
    let isRoomLeft = true;
    res.cork(() => {
      isRoomLeft = res.write(chunk);
    });
    if (!isRoomLeft) await target.whenWritable();
  }
  if (!target.isAborted()) res.cork(() => void res.end());
}

async function streamSized(target: StreamTarget, source: Pieces, totalBytes: number): Promise<void> {
  const { res } = target;
  for await (const chunk of source) {
    let rest = chunk;
    while (rest.length > 0) {
      if (target.isAborted()) return;
      const start = res.getWriteOffset();
      let isWritten = true;
      res.cork(() => {
        [isWritten] = res.tryEnd(rest, totalBytes);
      });
      if (isWritten) break;
      const offset = await target.whenWritable();
      if (offset < 0) return;
      rest = rest.subarray(offset - start);
    }
  }
  if (!target.isAborted() && totalBytes === 0) res.cork(() => void res.end());
}
