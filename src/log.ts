import fs from 'node:fs';
import { destination, type Logger, pino, stdSerializers } from 'pino';

export type Log = Logger;

/** Fields that may carry personal data or a secret; their values never reach the log. */
const redacted = [
  'password',
  'currentPassword',
  'newPassword',
  'accessToken',
  'refreshToken',
  'resumeToken',
  'surveyToken',
  'apiKey',
  'secret',
  'authorization',
  'respondent',
  'answers',
  'metadata',
  'textValue',
  'email',
  'remoteAddress',
];

/** Nothing deeper is written, as pino itself writes no more than this. */
const maxErrorDepth = 5;
/**
 * Stores repeat their input in the messages of their errors: Redis the arguments of a command that it does not know,
 * ClickHouse the statement or the function, with the values in it, during which something failed.
 */
const repeatedInput = /, with args beginning with:.*|(?<![ .:])[ .:]+(?:in scope|while executing) .*/gi;

/** Why none of several addresses was reached: the error that holds these reasons has no message of its own. */
function reasonsOfAttempts(error: Error, depth = maxErrorDepth): string {
  const isOfAttempts = error instanceof AggregateError && error.message === '';
  if (isOfAttempts) return error.errors.map((attempt: Error) => attempt.message).join('; ');
  return depth > 0 && error.cause instanceof Error ? reasonsOfAttempts(error.cause, depth - 1) : '';
}

/**
 * An error as it is logged: without the arguments of commands and the values of statements, at any depth, since they
 * hold passwords (`AUTH`) and answers. The name of the command stays.
 */
export function loggedError(error: unknown): unknown {
  const parents = new Set<object>();
  const copy = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(repeatedInput, '');
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Date) return value;
    if (parents.has(value)) return '[Circular]';
    if (parents.size === maxErrorDepth) return '[Object]';
    parents.add(value);
    const copied = Array.isArray(value) ? value.map(copy) : copyOfFields(value);
    parents.delete(value);
    return copied;
  };
  const copyOfFields = (value: object) =>
    Object.fromEntries(
      Object.entries(value)
        .filter(([field]) => field !== 'args')
        .map(([field, inner]) => [field, copy(inner)]),
    );
  if (!(error instanceof Error)) return copy(error);
  const logged = stdSerializers.err(error);
  return copy({ ...logged, message: logged.message + reasonsOfAttempts(error) });
}

/**
 * Creates the process's logger: JSON lines on standard error (standard output is for people). Child loggers carry
 * `part`.
 */
export function createLog(level: string, bindings: Record<string, unknown> = {}): Log {
  const options = {
    level,
    base: { pid: process.pid, ...bindings },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: loggedError },
    redact: { paths: redacted.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
  };
  const stream = destination({ fd: 2, sync: false });
  const flushSync = stream.flushSync.bind(stream);
  stream.flushSync = () => droppingUnreadLines(flushSync);
  return pino(options, stream);
}

/**
 * Runs the flush of what is buffered at the exit. The stream repeats a failed write for ever, so where the reader of
 * the log is gone (EPIPE) the process would never end: such a write counts as done.
 */
function droppingUnreadLines(flush: () => void): void {
  const { writeSync } = fs;
  const write = (fd: number, text: string): number => {
    try {
      return writeSync(fd, text);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPIPE') return Buffer.byteLength(text);
      throw error;
    }
  };
  fs.writeSync = write as typeof writeSync;
  try {
    flush();
  } finally {
    fs.writeSync = writeSync;
  }
}
