import type { HttpResponse } from 'uWebSockets.js';
import { isAscii, isUtf8 } from 'node:buffer';
import { Problem, validationProblem } from '../../errors.ts';
import { type BodyDrainOptions, createBodyDrain } from './body-drain.ts';
import { type BodyBudget, createBodyPieces } from './body-pieces.ts';

/** A body that a client is still sending. */
interface Incoming {
  /** Whether a reply before the end of the body must close the connection. */
  mustClose(): boolean;
  /** Waits for the rest of a body that is too large, before the reply that closes the connection (see BodyDrain). */
  drained(): Promise<void>;
}

/** A body that is read as a whole. uWS hands out each chunk once, so reading starts before anything is awaited. */
export interface IncomingBody extends Incoming {
  /** Rejects with PAYLOAD_TOO_LARGE past the limit, and with VALIDATION_ERROR if the client breaks off. */
  whole(): Promise<Buffer>;
  /** Forgets what has come, and takes nothing more; what was handed over stays. */
  discard(): void;
}

/** A body that is read in chunks. */
export interface IncomingStream extends Incoming {
  /**
   * To be read once, with backpressure. Throws PAYLOAD_TOO_LARGE past the limit, and VALIDATION_ERROR if the client
   * breaks off.
   */
  chunks(): AsyncGenerator<Buffer>;
  /** Discards the rest. */
  discard(): void;
}

export type ReceiveOptions = BodyDrainOptions;

export interface ReceiveBodyOptions extends ReceiveOptions {
  budget: BodyBudget;
  /** The address under which the budget counts the client. */
  address: string;
}

/** Refuses a body whose Content-Length is larger than the route allows. */
export function declaredTooLarge({
  limitBytes,
  declaredBytes,
}: Pick<ReceiveOptions, 'limitBytes' | 'declaredBytes'>): Problem | undefined {
  return declaredBytes !== undefined && declaredBytes > limitBytes ? bodyTooLarge(limitBytes) : undefined;
}

/** Starts reading at once; must be called in the synchronous part of the request. */
export function receiveBody(
  res: HttpResponse,
  { limitBytes, declaredBytes, onAbort, budget, address }: ReceiveBodyOptions,
): IncomingBody {
  const drain = createBodyDrain({ limitBytes, declaredBytes, onAbort });
  const refusal = declaredTooLarge({ limitBytes, declaredBytes });
  if (refusal) {
    res.onData((chunk, isLast) => drain.received(chunk.byteLength, isLast));
    return {
      whole: () => Promise.reject(refusal),
      mustClose: () => true,
      drained: drain.drained,
      discard: () => undefined,
    };
  }
  const pieces = createBodyPieces(budget, address);
  let isLastSeen = false;
  let outcome: Buffer | Problem | undefined;
  let settle: ((outcome: Buffer | Problem) => void) | undefined;
  const finish = (result: Buffer | Problem) => {
    if (outcome !== undefined) return;
    outcome = result;
    pieces.discard();
    settle?.(result);
  };
  onAbort(() => finish(bodyAborted()));
  res.onData((chunk, isLast) => {
    isLastSeen ||= isLast;
    drain.received(chunk.byteLength, isLast);
    if (outcome !== undefined) return;
    if (pieces.length + chunk.byteLength > limitBytes) return finish(bodyTooLarge(limitBytes));
    if (isLast) return finish(pieces.endWith(chunk));
    const problem = pieces.add(chunk);
    if (problem) finish(problem);
  });
  return {
    mustClose: () => !isLastSeen && declaredBytes === undefined,
    drained: drain.drained,
    whole: () =>
      new Promise((resolve, reject) => {
        settle = (result) => (result instanceof Problem ? reject(result) : resolve(result));
        if (outcome !== undefined) settle(outcome);
      }),
    discard: () => finish(bodyAborted()),
  };
}

/** Above this the socket is paused until the reader has caught up. */
const maxBufferedBytes = 512 * 1024;

/** As `receiveBody`, for bodies too large for memory. */
export function receiveStream(
  res: HttpResponse,
  { limitBytes, declaredBytes, onAbort }: ReceiveOptions,
): IncomingStream {
  const drain = createBodyDrain({ limitBytes, declaredBytes, onAbort });
  const bufferedChunks: Buffer[] = [];
  let [bufferedBytes, receivedBytes] = [0, 0];
  let [isPaused, isLastSeen, isDiscarded] = [false, false, false];
  let problem = declaredTooLarge({ limitBytes, declaredBytes });
  let wake: () => void = () => undefined;
  const resume = () => {
    if (isPaused) res.resume();
    isPaused = false;
  };
  onAbort(() => {
    isPaused = false;
    if (!isLastSeen) problem ??= bodyAborted();
    wake();
  });
  res.onData((chunk, isLast) => {
    isLastSeen ||= isLast;
    drain.received(chunk.byteLength, isLast);
    receivedBytes += chunk.byteLength;
    if (receivedBytes > limitBytes) problem ??= bodyTooLarge(limitBytes);
    if (!problem && !isDiscarded && chunk.byteLength > 0) {
      // uWS takes the memory back on return, so every chunk is copied.
      const bytes = Buffer.from(chunk.slice(0));
      bufferedChunks.push(bytes);
      bufferedBytes += bytes.length;
      if (bufferedBytes > maxBufferedBytes && !isPaused && !isLast) {
        isPaused = true;
        res.pause();
      }
    }
    wake();
  });
  return {
    mustClose: () => !isLastSeen && (declaredBytes === undefined || declaredBytes > limitBytes),
    drained: drain.drained,
    async *chunks() {
      for (;;) {
        if (problem) throw problem;
        const chunk = bufferedChunks.shift();
        if (chunk) {
          bufferedBytes -= chunk.length;
          if (bufferedBytes < maxBufferedBytes / 2) resume();
          yield chunk;
        } else if (isLastSeen) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    discard() {
      isDiscarded = true;
      bufferedChunks.length = 0;
      resume();
    },
  };
}

function bodyAborted(): Problem {
  return validationProblem([{ path: '', message: 'the body was broken off' }], 'The body was broken off');
}

function bodyTooLarge(limitBytes: number): Problem {
  return new Problem('PAYLOAD_TOO_LARGE', `The body is larger than ${limitBytes} bytes`);
}

/** Blanks and tabs are written out, since `\s` would match other Unicode white space. */
const jsonType = /^application\/json[ \t]*(;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;

export function assertNotCompressed(contentEncoding: string | undefined): void {
  if (contentEncoding !== undefined && contentEncoding.trim().toLowerCase() !== 'identity')
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be sent without Content-Encoding');
}

export function assertJsonType(contentType: string | undefined, contentEncoding: string | undefined): void {
  assertNotCompressed(contentEncoding);
  if (contentType === undefined || !(contentType === 'application/json' || jsonType.test(contentType)))
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/json in UTF-8');
}

/** Greatest nesting of arrays and objects. */
const maxDepth = 16;
const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];

function isDeeperThan(bytes: Buffer, limit: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (isInString) {
      if (byte === backslash) i += 1;
      else if (byte === quote) isInString = false;
    } else if (byte === quote) isInString = true;
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
  }
  return false;
}

const tooDeep = (): Problem =>
  validationProblem([{ path: '', message: `nested deeper than ${maxDepth} levels` }], 'The body is nested too deeply');

/**
 * Parses a JSON body: strict UTF-8, at most 16 levels deep, no lone surrogates and no NUL in any string. Of duplicate
 * keys the last counts. Numbers are checked by `assertExactNumbers` or by the reader itself.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length > 64 && isDeeperThan(bytes, maxDepth)) throw tooDeep();
  return parseJsonOfAnyDepth(bytes);
}

/** As `parseJson` without the limit on nesting, for readers that do not recurse. */
export function parseJsonOfAnyDepth(bytes: Buffer): unknown {
  const text = decode(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw validationProblem([{ path: '', message: 'the body is not valid JSON' }], 'The body is not valid JSON');
  }
  // Raw bytes cannot hold a surrogate or a control character inside a JSON string; only an escape can.
  if (text.includes('\\u')) {
    if (isDeeperThan(bytes, maxDepth)) throw tooDeep();
    const path = pathOfMalformedText(value);
    if (path)
      throw validationProblem([
        { path: path.join('.'), message: 'the text holds a lone surrogate or a NUL character' },
      ]);
  }
  return value;
}

/** Most bodies are ASCII, which is the fastest to check and to copy. */
function decode(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes))
    throw validationProblem([{ path: '', message: 'the body is not valid UTF-8' }], 'The body is not valid UTF-8');
  return bytes.toString('utf8');
}

const isMalformed = (text: string): boolean => !text.isWellFormed() || text.includes('\u0000');

/**
 * Keys down to the first text that no store keeps; for a key that is one, those of its object. As
 * `pathOfInexactNumber`, makes nothing on its way.
 */
function pathOfMalformedText(value: unknown): string[] | undefined {
  if (typeof value === 'string') return isMalformed(value) ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  for (const key in fields) {
    if (isMalformed(key)) return [];
    const path = pathOfMalformedText(fields[key]);
    if (path) return [key, ...path];
  }
  return undefined;
}

/**
 * Refuses numbers that JSON cannot return exactly: non-finite ones, and whole ones past 2^53 − 1. `bytes` is the text of
 * the value: reading it takes less time than going through an object of thousands of keys.
 */
export function assertExactNumbers(value: unknown, bytes: Buffer): void {
  const path = mayHaveInexactNumber(bytes) ? pathOfInexactNumber(value) : undefined;
  if (path) throw validationProblem([{ path: path.join('.'), message: 'the number cannot be represented exactly' }]);
}

/** Shorter numbers without an exponent are exact. */
const shortestInexact = '9007199254740992'.length;
const [digitZero, digitNine, dot, lowerE, upperE] = [0x30, 0x39, 0x2e, 0x65, 0x45];

/** Whether a valid JSON text has a number outside its strings that is long, or has an exponent. */
function mayHaveInexactNumber(bytes: Buffer): boolean {
  let isInString = false;
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (isInString) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isInString = false;
    } else if ((byte >= digitZero && byte <= digitNine) || (byte === dot && length > 0)) {
      length += 1;
      if (length >= shortestInexact) return true;
    } else if (length > 0 && (byte === lowerE || byte === upperE)) return true;
    else {
      length = 0;
      if (byte === quote) isInString = true;
    }
  }
  return false;
}

/** Keys down to the first number that is not exact. Makes nothing on its way: bodies may hold 100,000 values. */
function pathOfInexactNumber(value: unknown): string[] | undefined {
  if (typeof value === 'number')
    return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)) ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  for (const key in fields) {
    const path = pathOfInexactNumber(fields[key]);
    if (path) return [key, ...path];
  }
  return undefined;
}
