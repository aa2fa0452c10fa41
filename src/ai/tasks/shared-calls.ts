import { Problem, type ProblemCode } from '../../errors.ts';
import type { ReplyCache } from '../providers/provider.ts';
import { withScopedSignal } from '../providers/scoped-signal.ts';

/** What is not the caller's own affair, so that others would meet it too. */
const sharedFailures: readonly ProblemCode[] = [
  'AI_KEY_INVALID',
  'AI_MODEL_UNAVAILABLE',
  'AI_PROVIDER_ERROR',
  'AI_RATE_LIMITED',
];

const pendingCalls = new WeakMap<ReplyCache, Map<string, Promise<unknown>>>();

const pendingCallsOf = (kept: ReplyCache): Map<string, Promise<unknown>> => {
  const known = pendingCalls.get(kept) ?? new Map<string, Promise<unknown>>();
  pendingCalls.set(kept, known);
  return known;
};

/** An equal call went out before this one. */
export class DuplicateCall extends Error {}

interface SharedCallOptions<T> {
  /** Is to `announce` itself no sooner than it goes out: others would wait for what may never be sent. That throws Overtaken. */
  call(announce: () => void): Promise<T>;
  isKept(given: T): Promise<unknown>;
  /** Of who makes the call, whose own time limit is no fault of the provider. */
  signal: AbortSignal;
}

/** Makes a call that others of this process, who ask for the same meanwhile, wait for: until `isKept` has what it gives. */
export async function shareCall<T>(
  kept: ReplyCache,
  key: string,
  { call, isKept, signal }: SharedCallOptions<T>,
): Promise<T> {
  const calls = pendingCallsOf(kept);
  let settle = (_: Promise<unknown>): void => undefined;
  const ended = new Promise<unknown>((resolve) => (settle = resolve));
  const announce = (): void => {
    const other = calls.get(key);
    if (other && other !== ended) throw new DuplicateCall('An equal call is under way');
    calls.set(key, ended);
  };
  const given = call(announce);
  settle(
    given.then(isKept).catch((error: unknown) => {
      if (!signal.aborted && error instanceof Problem && sharedFailures.includes(error.code)) throw error;
    }),
  );
  ended.catch(() => undefined).finally(() => calls.get(key) === ended && calls.delete(key));
  return given;
}

/** The equal call that is under way; to be asked for in the same turn in which one is announced. */
export const findSharedCall = (kept: ReplyCache, key: string): Promise<unknown> | undefined =>
  pendingCallsOf(kept).get(key);

/** Resolves when another's call has ended. Fails as it does where the provider is at fault. */
export function waitForSharedCall(other: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return withScopedSignal(signal, async (own) => {
    own.throwIfAborted();
    const aborted = new Promise<never>((_, reject) =>
      own.addEventListener('abort', () => reject(own.reason), { once: true }),
    );
    await Promise.race([aborted, other]);
  });
}
