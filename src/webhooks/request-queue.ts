import { createRateThrottle } from './throttle.ts';

/** How often it is checked whether waiting requests are still wanted. */
const pollMs = 200;
/** Requests that begin in one turn of the event loop: opening and closing a connection takes up to a millisecond. */
const maxAtOnce = 5;
/** No timer is finer. A turn that is taken earlier delays the next one by as much. */
const timerMs = 1;
/** Owners are grouped by how many requests they have open; those with as many or more are one group. */
const lastGroup = 5;

interface WaitingRequest {
  isOver(): boolean;
  settle(release: (() => void) | undefined): void;
}

/** Whose requests wait or are open. */
interface Owner {
  key: string;
  open: number;
  waiting: WaitingRequest[];
  /** The lower one is served first. */
  turn: number;
}

export interface RequestQueueLimits {
  atOnce: number;
  /** Asked for again before each request. */
  perSecond(): number;
}

/**
 * Lets requests begin, their owners in turn. An owner begins a further one only while it has fewer open than there is
 * room for, so that owners whose requests hang leave room for others. One timer serves all that wait: hundreds of loops
 * that each looked for room would hold the event loop for tens of milliseconds.
 */
export function createRequestQueue({ atOnce, perSecond }: RequestQueueLimits) {
  const throttle = createRateThrottle();
  const owners = new Map<string, Owner>();
  /** Owners of which requests wait, by how many they have open. */
  const groups = Array.from({ length: lastGroup + 1 }, () => new Set<Owner>());
  let open = 0;
  let turns = 0;
  let checkedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isServedNext = false;

  const hasRoom = (owner: Owner) => owner.open < atOnce - open;
  const isRateFree = () => throttle.waitMs(perSecond()) < timerMs;
  const regroup = (owner: Owner, openedNow: -1 | 0 | 1) => {
    groups[Math.min(owner.open, lastGroup)]?.delete(owner);
    owner.open += openedNow;
    open += openedNow;
    if (owner.waiting.length > 0) groups[Math.min(owner.open, lastGroup)]?.add(owner);
    else if (owner.open === 0) owners.delete(owner.key);
  };
  const isAnyWaiting = () => groups.some((group) => group.size > 0);
  const nextWithRoom = (): Owner | undefined => {
    let next: Owner | undefined;
    for (const group of groups) {
      const first = group.values().next().value;
      if (first && hasRoom(first) && !(next && next.turn < first.turn)) next = first;
    }
    return next;
  };

  const serveNextTurn = () => {
    if (isServedNext) return;
    isServedNext = true;
    setImmediate(serve);
  };
  const dropUnwanted = () => {
    checkedAt = performance.now();
    for (const owner of owners.values()) {
      const unwanted = new Set(owner.waiting.filter(({ isOver }) => isOver()));
      if (unwanted.size === 0) continue;
      owner.waiting = owner.waiting.filter((request) => !unwanted.has(request));
      regroup(owner, 0);
      for (const { settle } of unwanted) settle(undefined);
    }
  };
  const begin = (owner: Owner) => {
    const request = owner.waiting.shift();
    turns += 1;
    owner.turn = turns;
    if (request?.isOver() ?? true) {
      regroup(owner, 0);
      request?.settle(undefined);
      return;
    }
    regroup(owner, 1);
    throttle.take(perSecond());
    request?.settle(() => {
      regroup(owner, -1);
      if (isAnyWaiting()) serveNextTurn();
    });
  };
  const serve = () => {
    isServedNext = false;
    if (performance.now() - checkedAt >= pollMs) dropUnwanted();
    let next = nextWithRoom();
    for (let served = 0; next && served < maxAtOnce && isRateFree(); served += 1) {
      begin(next);
      next = nextWithRoom();
    }
    clearTimeout(timer);
    timer = undefined;
    if (!isAnyWaiting()) return;
    if (next && isRateFree()) return serveNextTurn();
    const untilCheckMs = Math.max(1, checkedAt + pollMs - performance.now());
    const untilTurnMs = next ? throttle.waitMs(perSecond()) : pollMs;
    timer = setTimeout(serve, Math.ceil(Math.min(untilCheckMs, untilTurnMs)));
  };

  return {
    /**
     * Waits for room. The returned function gives it back; undefined if `isOver` says that the request is no longer
     * wanted.
     */
    acquire: (ownerKey: string, isOver: () => boolean) =>
      new Promise<(() => void) | undefined>((resolve) => {
        const owner = owners.get(ownerKey) ?? { key: ownerKey, open: 0, waiting: [], turn: 0 };
        owners.set(ownerKey, owner);
        owner.waiting.push({ isOver, settle: resolve });
        if (owner.waiting.length === 1) {
          turns += 1;
          owner.turn = turns;
          regroup(owner, 0);
        }
        if (timer === undefined && !isServedNext) serve();
        // Others may wait for the end of a request where this one finds room.
        else if (hasRoom(owner) && isRateFree()) serveNextTurn();
      }),
  };
}
