/** A call to PostgreSQL. Once it is refused, nothing is sent for it any more, and its transaction is not committed. */
export interface RefusableCall {
  refusal?: Error;
}

let current: RefusableCall | undefined;

/** The call whose step runs now. Read by the client for each query and transaction when it is made. */
export const currentCall = (): RefusableCall | undefined => current;

/** Runs a step: the queries and transactions that it makes before it first waits are part of the call. */
export function runInCall<T>(call: RefusableCall | undefined, step: () => T): T {
  const before = current;
  current = call;
  try {
    return step();
  } finally {
    current = before;
  }
}

/**
 * The step as part of the call that runs now, for a step that is taken after a wait. An AsyncLocalStorage would make
 * this needless, but it makes each promise of the process several times as expensive.
 */
export function partOfCall<T>(step: () => T): () => T {
  const call = current;
  return () => runInCall(call, step);
}
