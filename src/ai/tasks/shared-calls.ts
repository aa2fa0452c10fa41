import { Problem, type ProblemCode } from '../../errors.ts';
import { rejectOnAbort } from '../../platform/scoped-signal.ts';

/** Failures of the provider, which every equal call would meet. */
const sharedFailures: readonly ProblemCode[] = [
  'AI_KEY_INVALID',
  'AI_MODEL_UNAVAILABLE',
  'AI_PROVIDER_ERROR',
  'AI_RATE_LIMITED',
];

/** Calls under way; each resolves with the text of its reply, or undefined after a failure that is not shared. */
const calls = new Map<string, Promise<string | undefined>>();

/** The equal call that this process is making, if there is one. */
export const findSharedCall = (key: string): Promise<string | undefined> | undefined => calls.get(key);

/**
 * Makes a call for whose reply equal calls of this process wait, also where it could not be cached; `signal` is that of
 * the caller, whose time limit is no fault of the provider.
 */
export function shareCall<T extends { text: string }>(
  key: string,
  { call, signal }: { call: () => Promise<T>; signal: AbortSignal },
): Promise<T> {
  const made = call();
  const ended = made.then(
    ({ text }) => text,
    (error: unknown) => {
      if (!signal.aborted && error instanceof Problem && sharedFailures.includes(error.code)) throw error;
      return undefined;
    },
  );
  calls.set(key, ended);
  ended.catch(() => undefined).finally(() => calls.delete(key));
  return made;
}

/** The text of another's reply, or undefined; rejects with its failure where the provider is at fault. */
export const waitForSharedCall = (
  other: Promise<string | undefined>,
  signal: AbortSignal,
): Promise<string | undefined> => rejectOnAbort(other, signal);
