import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Route } from 'playwright-core';

interface Hold {
  /** Answers a call, which waits for `isReleased` when it likes; by default it is sent on then. */
  answer?: (route: Route, isReleased: Promise<void>) => Promise<void>;
  /** How many calls are held back, from the first on; by default all. */
  times?: number;
}

/** Calls of a page to an address, held back until `release` is called. */
export interface HeldCalls {
  /** How many there are so far. */
  count(): number;
  release(): void;
}

export async function holdCalls(
  page: Page,
  address: Parameters<Page['route']>[0],
  { answer = sendOn, times }: Hold = {},
): Promise<HeldCalls> {
  let count = 0;
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  await page.route(
    address,
    (route) => {
      count += 1;
      return answer(route, isReleased);
    },
    times === undefined ? {} : { times },
  );
  return { count: () => count, release };
}

async function sendOn(route: Route, isReleased: Promise<void>): Promise<void> {
  await isReleased;
  // The page may have given the call up meanwhile.
  await route.continue().catch(() => undefined);
}

/** The next call of a page to an address, which waits until the test answers it. */
export interface HeldCall {
  /** Resolves when the call is made; rejects where none is within a minute. */
  made(): Promise<Route>;
}

/** Holds the next call back: one that is made once this has resolved, and none after it. */
export async function holdNextCall(page: Page, address: string | RegExp): Promise<HeldCall> {
  let take: (route: Route) => void = () => {};
  const taken = new Promise<Route>((resolve) => (take = resolve));
  await page.route(address, take, { times: 1 });
  const isMissing = async (): Promise<never> => {
    await sleep(60_000, undefined, { ref: false });
    throw new Error(`no call to ${address} within a minute`);
  };
  return { made: () => Promise.race([taken, isMissing()]) };
}
