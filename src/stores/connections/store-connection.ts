import { unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** What one attempt to reach a store gets. */
export interface Attempt {
  /** Aborted when the attempt is over, however it ended: closes what was opened for it. */
  signal: AbortSignal;
  /** The server has answered and its schema is brought up to date, which has no bound of time. */
  serverAnswered(): void;
}

export interface StoreConnectionOptions {
  /** As operators call it: `PostgreSQL`. */
  name: string;
  /** Its setting and place, without a password: `DATABASE_URL 127.0.0.1:5432/survey`. */
  place: string;
  /** As clients know it: `The control plane`. */
  publicName: string;
  /** Reaches the store, checks it and brings its schema up to date. A rejection ends the attempt. */
  connect(attempt: Attempt): Promise<void>;
  /** Whether a rejection says that the store is away; otherwise it refuses to be used as it is set. */
  isUnreachable(error: unknown): boolean;
  /** A rejection in words of one line, without a password. */
  describeError(error: unknown): string;
  log: Log;
  /** Bound of an attempt until the server has answered. */
  attemptMs?: number;
  /** From an attempt that found nobody to the next. */
  retryMs?: number;
  /** From an attempt that was refused to the next. */
  refusedRetryMs?: number;
}

/** The first contact of this process with a store. What needs the store waits for it, or is refused. */
export interface StoreConnection {
  readonly name: string;
  readonly state: 'waiting' | 'reached';
  readonly isReady: boolean;
  /** The server has answered; its schema is brought up to date. */
  readonly isMigrating: boolean;
  /** Resolves when the store can be used; never rejects. */
  readonly ready: Promise<void>;
  /**
   * Resolves with the first refusal: a password, a version, a configuration that no retry can mend. Who hears of it
   * tells the operator.
   */
  readonly refused: Promise<unknown>;
  /** What keeps the store from being used, for the operator. */
  describeProblem(): string;
  /** Throws SERVICE_UNAVAILABLE until the store is reached. */
  assertReady(): void;
  /** Tries no more; an attempt that is under way is given up. */
  stop(): void;
}

const defaultAttemptMs = 5000;
const defaultRetryMs = 2000;
const firstRetryMs = 100;
const defaultRefusedRetryMs = 10_000;

/** No answer came within the bound of an attempt. */
export class NoAnswerError extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'NoAnswer';
  }
}

/** Tries to reach a store, from now on and in the background, until it is reached or the contact is stopped. */
export function createStoreConnection(options: StoreConnectionOptions): StoreConnection {
  const { name, place, publicName, connect, isUnreachable, describeError, log } = options;
  const { attemptMs = defaultAttemptMs, retryMs = defaultRetryMs, refusedRetryMs = defaultRefusedRetryMs } = options;
  let [isReached, isPreparing, isRefused, isStopped] = [false, false, false, false];
  let reason = 'no answer yet';
  let abort: () => void = () => undefined;
  let resolveReady: () => void = () => undefined;
  let resolveRefused: (error: unknown) => void = () => undefined;
  const ready = new Promise<void>((resolve) => (resolveReady = resolve));
  const refused = new Promise<unknown>((resolve) => (resolveRefused = resolve));

  const attempt = async (): Promise<void> => {
    const controller = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new NoAnswerError(attemptMs)), attemptMs);
      abort = () => reject(new Error('the contact was stopped'));
    });
    const serverAnswered = (): void => {
      clearTimeout(timer);
      isPreparing = true;
    };
    try {
      await Promise.race([connect({ signal: controller.signal, serverAnswered }), over]);
    } finally {
      clearTimeout(timer);
      isPreparing = false;
      controller.abort();
    }
  };

  const recordFailure = (error: unknown): void => {
    const words = describeError(error);
    const isNew = reason !== words;
    reason = words;
    const wasRefused = isRefused;
    isRefused = !isUnreachable(error);
    if (isRefused) resolveRefused(error);
    if (isNew && !isRefused) log.warn({ err: error, store: name }, 'a store is not reached yet');
    const isOther = isNew && isRefused && wasRefused;
    if (isOther) log.error({ err: error, store: name }, 'a store refuses to be used for another reason');
  };

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      abort = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const run = async (): Promise<void> => {
    for (let tries = 0; !isStopped; tries += 1)
      try {
        await attempt();
        if (isStopped) return;
        isReached = true;
        if (tries > 0) log.info({ store: name }, 'a store is reached');
        return resolveReady();
      } catch (error) {
        if (isStopped) return;
        recordFailure(error);
        await pause(isUnreachable(error) ? Math.min(retryMs, firstRetryMs * 2 ** Math.min(tries, 10)) : refusedRetryMs);
      }
  };
  void run();

  return {
    name,
    ready,
    refused,
    get state() {
      return isReached ? ('reached' as const) : ('waiting' as const);
    },
    get isReady() {
      return isReached;
    },
    get isMigrating() {
      return isPreparing;
    },
    describeProblem: () =>
      isPreparing
        ? `${name} is being brought up to date (${place})`
        : `${name} cannot be ${isRefused ? 'used' : 'reached'} (${place}: ${reason})`,
    assertReady: () => {
      if (!isReached) throw unavailable(`${publicName} cannot be reached`);
    },
    stop: () => {
      isStopped = true;
      abort();
    },
  };
}

export interface StartDeadlines {
  /** For the first answer of every store. */
  answerMs?: number;
  /** While a store that has answered is brought up to date. */
  prepareMs?: number;
}

const defaultDeadlines = { answerMs: 5000, prepareMs: 30_000 };
const pollMs = 50;

/** Waits until all stores are reached, or until patience ends; rejects with the first refusal. */
export async function waitForStores(
  contacts: readonly StoreConnection[],
  patience: StartDeadlines = {},
): Promise<void> {
  const { answerMs, prepareMs } = { ...defaultDeadlines, ...patience };
  const beganAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const deadlinePassed = new Promise<void>((resolve) => {
    const poll = (): void => {
      const mostMs = contacts.some(({ isMigrating }) => isMigrating) ? Math.max(answerMs, prepareMs) : answerMs;
      if (performance.now() - beganAt >= mostMs) resolve();
      else timer = setTimeout(poll, pollMs);
    };
    poll();
  });
  const refused = Promise.race(contacts.map((contact) => contact.refused)).then((error) => Promise.reject(error));
  const allReached = Promise.all(contacts.map(({ ready }) => ready));
  await Promise.race([allReached, refused, deadlinePassed]).finally(() => clearTimeout(timer));
}

/** Starts something when all these stores are reached. Gives its stop, which waits for nothing that never began. */
export function startWhenReady(
  contacts: readonly Pick<StoreConnection, 'ready'>[],
  start: () => () => Promise<void>,
): () => Promise<void> {
  let isStopped = false;
  let stop: () => Promise<void> = async () => undefined;
  void Promise.all(contacts.map(({ ready }) => ready)).then(() => {
    if (!isStopped) stop = start();
  });
  return () => {
    isStopped = true;
    return stop();
  };
}
