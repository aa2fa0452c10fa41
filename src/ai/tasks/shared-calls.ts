import { Problem, type ProblemCode } from '../../errors.ts';
import { rejectOnAbort } from '../../platform/scoped-signal.ts';
import type { ReplyCache } from '../providers/provider.ts';

/** Failures of the provider, which every equal call would meet. */
const sharedFailures: readonly ProblemCode[] = [
  'AI_KEY_INVALID',
  'AI_MODEL_UNAVAILABLE',
  'AI_PROVIDER_ERROR',
  'AI_RATE_LIMITED',
];

const callsByCache = new WeakMap<ReplyCache, Map<string, Promise<void>>>();

function callsOf(cache: ReplyCache): Map<string, Promise<void>> {
  const calls = callsByCache.get(cache) ?? new Map<string, Promise<void>>();
  callsByCache.set(cache, calls);
  return calls;
}

/** The equal call that this process is making, if there is one. */
export const findSharedCall = (cache: ReplyCache, key: string): Promise<void> | undefined => callsOf(cache).get(key);

/**
 * Makes a call for which equal calls of this process wait; `signal` is that of the caller, whose time limit is no fault
 * of the provider.
 */
export function shareCall<T>(
  cache: ReplyCache,
  key: string,
  { call, signal }: { call: () => Promise<T>; signal: AbortSignal },
): Promise<T> {
  const calls = callsOf(cache);
  const made = call();
  const ended = made.then(
    () => undefined,
    (error: unknown) => {
      if (!signal.aborted && error instanceof Problem && sharedFailures.includes(error.code)) throw error;
    },
  );
  calls.set(key, ended);
  ended.catch(() => undefined).finally(() => calls.delete(key));
  return made;
}

/** Resolves when another's call has ended; rejects with its failure where the provider is at fault. */
export const waitForSharedCall = (other: Promise<void>, signal: AbortSignal): Promise<void> =>
  rejectOnAbort(other, signal);
