import { createLruCache } from '../platform/lru-cache.ts';
import { createRateThrottle } from './throttle.ts';

/** How often it is checked whether waiting requests are still wanted. */
const pollMs = 200;
/** Requests that begin in one turn of the event loop: opening and closing a connection takes up to a millisecond. */
const maxAtOnce = 5;
/** No timer is finer. A turn that is taken earlier delays the next one by as much. */
const timerMs = 1;
/** Owners are grouped by how many requests they have open; those with as many or more are one group. */
const lastGroup = 5;
/** The last places are filled one by one, for owners whose requests do not hang. */
const maxSpacedPlaces = 3;
/** Owners of which it is remembered that their latest request hung. */
const maxSlowOwners = 1000;

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
  /** Whether the latest request that ended took as long as one that hangs. */
  isSlow: boolean;
}

export interface RequestQueueLimits {
  atOnce: number;
  /** After how long a request that hangs is given up. */
  timeoutMs: number;
  /** Asked for again before each request. */
  perSecond(): number;
}

/**
 * Lets requests begin, their owners in turn. An owner begins a further one only while it has fewer open than there is
 * room for beside a quarter of all places, so that owners whose requests hang leave room for others. Owners whose latest
 * request hung leave the last places to others, who fill them one by one: each when the request in the one before has
 * ended, or taken a third of the timeout. One timer serves all that wait: hundreds of loops that each looked for room
 * would hold the event loop for tens of milliseconds.
 */
export function createRequestQueue({ atOnce, timeoutMs, perSecond }: RequestQueueLimits) {
  const throttle = createRateThrottle();
  const quarter = Number.isFinite(atOnce) ? Math.floor(atOnce / 4) : 0;
  const spacedPlaces = Math.min(quarter, maxSpacedPlaces);
  const spacingMs = timeoutMs / maxSpacedPlaces;
  const slowOwners = createLruCache<true>(maxSlowOwners);
  /** When the latest request in one of the last places began; undefined if it has ended. */
  let spacedAt: number | undefined;
  const owners = new Map<string, Owner>();
  /** Owners of which requests wait, by how many they have open; slow ones that have none are the last group. */
  const groups = Array.from({ length: lastGroup + 2 }, () => new Set<Owner>());
  let open = 0;
  let turns = 0;
  let checkedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isServedNext = false;

  const groupOf = ({ open, isSlow }: Owner) => groups[isSlow && open === 0 ? lastGroup + 1 : Math.min(open, lastGroup)];
  const isSpaced = () => atOnce - open <= spacedPlaces;
  const hasRoom = (owner: Owner) => {
    if (owner.open > 0) return owner.open < atOnce - open - quarter;
    if (!isSpaced()) return true;
    return open < atOnce && !owner.isSlow && !(spacedAt !== undefined && performance.now() - spacedAt < spacingMs);
  };
  const isRateFree = () => throttle.waitMs(perSecond()) < timerMs;
  const regroup = (owner: Owner, openedNow: -1 | 0 | 1) => {
    groupOf(owner)?.delete(owner);
    owner.open += openedNow;
    open += openedNow;
    if (owner.waiting.length > 0) groupOf(owner)?.add(owner);
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
    const beganAt = performance.now();
    if (isSpaced()) spacedAt = beganAt;
    regroup(owner, 1);
    throttle.take(perSecond());
    request?.settle(() => {
      owner.isSlow = performance.now() - beganAt >= spacingMs;
      if (owner.isSlow) slowOwners.set(owner.key, true);
      else slowOwners.delete(owner.key);
      regroup(owner, -1);
      if (beganAt === spacedAt) spacedAt = undefined;
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
        const isSlow = slowOwners.get(ownerKey) ?? false;
        const owner = owners.get(ownerKey) ?? { key: ownerKey, open: 0, waiting: [], turn: 0, isSlow };
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
