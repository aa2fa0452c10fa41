import type { Entries } from '../survey/entries.ts';
import { type Draft, maxAgeMs, type Pending } from './draft-store.ts';

/** What a page has not written into the database yet. */
interface Unwritten {
  entries: Entries;
  /** The entries were made before what was kept had been shown: they add to it. */
  isEarly?: boolean;
  /** The respondent has finished; what was kept before had been shown by then, or not. */
  finished?: 'seen' | 'unseen' | undefined;
}

/** A request that was sent when its page was left, with the draft that it was made of. */
export interface SentRequest {
  draft: Draft;
  pending: Pending;
  /** The database of its page kept nothing, so that the draft was never there. */
  isUnkept?: boolean;
}

/** By key, what lay in localStorage when it was read. */
interface AsRead {
  texts: ReadonlyMap<string, string>;
}

/** What other pages left; `early`: what each of them got before it had shown what was kept, in order. */
export interface LeftByOthers extends Unwritten, AsRead {
  early: Entries[];
}

/** A request that was found, and what its page, if it is another one, has not written besides. */
export interface FoundRequest extends SentRequest, AsRead {
  key: string;
  isOwn: boolean;
  entries: Entries;
  isFinished: boolean;
}

export interface UnwrittenStore {
  /** Replaces what this page has not written; empty: nothing. */
  write(unwritten: Unwritten | undefined): void;
  read(): LeftByOthers;
  /** False: other pages have left something else since. */
  isAsRead(left: LeftByOthers): boolean;
  /** Forgets what was read, unless its page has replaced it since. */
  forget(left: LeftByOthers): void;
  /** Keeps a request that this page sends in this moment. False: the page that follows will not know of it. */
  writeRequest(request: SentRequest): boolean;
  /** The requests of all pages, the oldest first. They stay until they are forgotten. */
  readRequests(): FoundRequest[];
  /** Forgets a request, unless its page has replaced it since; by default that of this page, whatever it is. */
  forgetRequest(request?: FoundRequest): void;
  /** Forgets a request that has its last reply, whichever pages sent it. */
  forgetReplied(body: string): void;
  /**
   * Forgets a request that is written down now, with all else that its page had not written by then. What that page has
   * left since stays for a page that begins before the response ends.
   */
  forgetTaken(request: FoundRequest): void;
  /** Forgets everything, whichever page wrote it. */
  forgetAll(): void;
}

/** What one page left. */
interface Left extends Unwritten {
  at: number;
  request?: SentRequest | undefined;
}

const prefix = 'survey-unwritten:';
const requestSuffix = ':request';

/**
 * Keeps what the database does not have yet, since a page that is left waits for nothing. It lies in localStorage, where
 * it is written at once; where the browser refuses that, only the database keeps answers.
 */
export function openUnwritten(draftKey: string): UnwrittenStore {
  const prefixHere = `${prefix}${draftKey}:`;
  const ownKey = prefixHere + Math.random();
  const ownRequest = ownKey + requestSuffix;
  const pageOf = (key: string): string => key.replace(requestSuffix, '');
  /** This page's request where localStorage does not take it or, without a database, another tab may forget it. */
  let own: SentRequest | undefined;
  /** False: the browser blocks it, or it is full. */
  const attempt = (work: () => void): boolean => {
    try {
      work();
      return true;
    } catch {
      return false;
    }
  };
  const write = (key: string, left: Omit<Left, 'at'>) =>
    attempt(() => localStorage.setItem(key, JSON.stringify({ at: Date.now(), ...left })));
  /** What pages with this draft left, and the text of it; the oldest first. It is kept for no longer than drafts are. */
  const found = (): [string, Left, string][] => {
    const lefts: [string, Left, string][] = [];
    attempt(() => {
      for (const key of Object.keys(localStorage).filter((name) => name.startsWith(prefix))) {
        const text = localStorage.getItem(key) ?? '{}';
        const left = JSON.parse(text);
        if (Date.now() - left.at > maxAgeMs) localStorage.removeItem(key);
        else if (key.startsWith(prefixHere)) lefts.push([key, left, text]);
      }
    });
    return lefts.sort(([, one], [, other]) => one.at - other.at);
  };
  const textsOf = (lefts: readonly [string, Left, string][]) => new Map(lefts.map(([key, , text]) => [key, text]));
  const remove = (key: string) => attempt(() => localStorage.removeItem(key));
  /** Whether what lies under a key is what was read. */
  const isSame = (key: string, { texts }: AsRead): boolean => textsOf(found()).get(key) === texts.get(key);
  const forgetRequest = (request?: FoundRequest): void => {
    const key = request?.key ?? ownRequest;
    if (request && !isSame(key, request)) return;
    if (key === ownRequest) own = undefined;
    const left = found().find(([name]) => name === key)?.[1];
    // A page of an earlier build wrote both together.
    if (left && Object.keys(left.entries).length > 0) write(key, { ...left, request: undefined });
    else remove(key);
  };
  const readRequests = (): FoundRequest[] => {
    const all = found();
    const texts = textsOf(all);
    const lefts = new Map(all.map(([key, left]) => [key, left]));
    const requests = all.flatMap(([key, { request }]) => {
      const isOwn = key === ownRequest;
      const { entries = {}, finished } = (!isOwn && lefts.get(pageOf(key))) || {};
      return request ? { ...request, key, texts, isOwn, entries, isFinished: finished !== undefined } : [];
    });
    if (!own || lefts.has(ownRequest)) return requests;
    return [...requests, { ...own, key: ownRequest, texts, isOwn: true, entries: {}, isFinished: false }];
  };
  const ofOthers = () => found().filter(([key]) => key !== ownKey);
  return {
    write: (unwritten) => void (unwritten ? write(ownKey, unwritten) : remove(ownKey)),
    read: () => {
      const all = ofOthers();
      const others = all.map(([, left]) => left);
      const entriesOf = (lefts: Unwritten[]) => lefts.map(({ entries }) => entries);
      const entries = Object.assign({}, ...entriesOf(others.filter(({ isEarly }) => !isEarly)));
      const early = entriesOf(others.filter(({ isEarly }) => isEarly));
      return Object.assign({}, ...others, { entries, early, texts: textsOf(all) });
    },
    isAsRead: ({ texts }) => ofOthers().every(([key, , text]) => texts.get(key) === text),
    forget: ({ texts }) => {
      for (const [key, left, text] of ofOthers()) {
        if (texts.get(key) !== text) continue;
        if (left.request) write(key, { ...left, entries: {}, finished: undefined });
        else remove(key);
      }
    },
    writeRequest: (request) => {
      const isWritten = write(ownRequest, { entries: {}, request });
      own = isWritten && !request.isUnkept ? undefined : request;
      return isWritten;
    },
    readRequests,
    forgetRequest,
    forgetReplied(body) {
      for (const request of readRequests()) if (request.pending.body === body) forgetRequest(request);
    },
    forgetTaken(request) {
      const page = pageOf(request.key);
      const isAllTaken = page !== ownKey && isSame(page, request);
      forgetRequest(request);
      if (isAllTaken) remove(page);
    },
    forgetAll: () => {
      own = undefined;
      for (const [key] of found()) remove(key);
    },
  };
}
