import { unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { backoffMs } from '../../platform/backoff.ts';

/** What one attempt to reach a store gets. */
export interface Attempt {
  /** Aborted when the attempt is over, however it ended: closes what was opened for it. */
  signal: AbortSignal;
  /** Reports that the server has answered. Migrating its schema then has no time limit. */
  serverAnswered(): void;
}

export interface StoreConnectionOptions {
  /** Name for operators: `PostgreSQL`. */
  name: string;
  /** Setting and address, without a password: `DATABASE_URL 127.0.0.1:5432/survey`. */
  place: string;
  /** Name for clients: `The control plane`. */
  publicName: string;
  /** Reaches the store, checks it and brings its schema up to date. A rejection ends the attempt. */
  connect(attempt: Attempt): Promise<void>;
  /** Whether a rejection means that the store is unreachable; otherwise it refuses, for example a wrong password. */
  isUnreachable(error: unknown): boolean;
  /** Describes a rejection in one line, without a password. */
  describeError(error: unknown): string;
  log: Log;
  /** Timeout of an attempt until the server has answered. */
  attemptMs?: number;
  /** Longest pause after an attempt that did not reach the server. */
  retryMs?: number;
  /** Pause after an attempt that was refused. */
  refusedRetryMs?: number;
}

/**
 * The first connection of this process to a store. Parts that need the store wait for it; calls are refused until then.
 */
export interface StoreConnection {
  readonly name: string;
  readonly isReady: boolean;
  /** The server has answered, and its schema is being migrated. */
  readonly isMigrating: boolean;
  /** Resolves when the store can be used; never rejects. */
  readonly ready: Promise<void>;
  /**
   * Resolves with the first refusal, such as a wrong password or version, which no retry can repair. The caller must
   * report it to the operator.
   */
  readonly refused: Promise<unknown>;
  /** Describes for the operator why the store cannot be used. */
  describeProblem(): string;
  /** Throws SERVICE_UNAVAILABLE until the store is reached. */
  assertReady(): void;
  /** Ends the attempts, also one that is under way. */
  stop(): void;
}

const defaultAttemptMs = 5000;
const defaultRetryMs = 2000;
const firstRetryMs = 100;
const defaultRefusedRetryMs = 10_000;

/** The server did not answer within the timeout of an attempt. */
export class NoAnswerError extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'NoAnswer';
  }
}

/** Tries to reach a store in the background until it is reached or `stop` is called. */
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
      abort = () => reject(new Error('the attempt was stopped'));
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
    const description = describeError(error);
    const isNew = reason !== description;
    reason = description;
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
        await pause(
          isUnreachable(error) ? backoffMs(tries, { firstMs: firstRetryMs, maxMs: retryMs }) : refusedRetryMs,
        );
      }
  };
  void run();

  return {
    name,
    ready,
    refused,
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
      if (!isReached) throw unavailable(`${publicName} cannot be reached`, 2, new Error(reason));
    },
    stop: () => {
      isStopped = true;
      abort();
    },
  };
}

export interface StartDeadlines {
  /** Milliseconds for the first answer of every store. */
  answerMs?: number;
  /** Milliseconds while the schema of a store is being migrated. */
  prepareMs?: number;
}

const defaultDeadlines = { answerMs: 5000, prepareMs: 30_000 };
const pollMs = 50;

/** Waits until all stores are reached or the deadlines pass; rejects with the first refusal. */
export async function waitForStores(
  connections: readonly StoreConnection[],
  deadlines: StartDeadlines = {},
): Promise<void> {
  const { answerMs, prepareMs } = { ...defaultDeadlines, ...deadlines };
  const startedAtMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const deadlinePassed = new Promise<void>((resolve) => {
    const poll = (): void => {
      const maxMs = connections.some(({ isMigrating }) => isMigrating) ? Math.max(answerMs, prepareMs) : answerMs;
      if (performance.now() - startedAtMs >= maxMs) resolve();
      else timer = setTimeout(poll, pollMs);
    };
    poll();
  });
  const refused = Promise.race(connections.map((connection) => connection.refused)).then((error) =>
    Promise.reject(error),
  );
  const allReached = Promise.all(connections.map(({ ready }) => ready));
  await Promise.race([allReached, refused, deadlinePassed]).finally(() => clearTimeout(timer));
}

/** Calls `start` when all these are ready. Returns the stop function, which does nothing before that. */
export function startWhenReady(
  connections: readonly Pick<StoreConnection, 'ready'>[],
  start: () => () => Promise<void>,
): () => Promise<void> {
  let isStopped = false;
  let stop: () => Promise<void> = async () => undefined;
  void Promise.all(connections.map(({ ready }) => ready)).then(() => {
    if (!isStopped) stop = start();
  });
  return () => {
    isStopped = true;
    return stop();
  };
}
