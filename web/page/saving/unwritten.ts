import type { Entries } from '../survey/entries.ts';
import { type Draft, maxAgeMs, type Pending } from './draft-store.ts';

/** What a page has not written into the database yet. */
export interface Unwritten {
  entries: Entries;
  /** The entries were made before what was kept had been shown: they add to it. */
  isEarly?: boolean;
  /** The respondent has finished; what was kept before had been shown by then, or not. */
  finished?: 'seen' | 'unseen' | undefined;
  /** A request that was sent when the page was left, with the draft that it was made of. */
  request?: SentRequest | undefined;
}

export interface SentRequest {
  draft: Draft;
  pending: Pending;
}

export interface UnwrittenStore {
  /** Replaces what this page has not written; empty: nothing. */
  write(unwritten: Unwritten | undefined): void;
  /** What other pages left; `early`: what each of them got before it had shown what was kept, in order. */
  read(): Unwritten & { early: Entries[] };
  /** Forgets all of it, but what this page wrote last unless `own`. */
  forget(own?: 'own'): void;
}

const prefix = 'survey-unwritten:';

/**
 * Keeps what the database does not have yet, since a page that is left waits for nothing. It lies in localStorage, where
 * it is written at once; where the browser refuses that, only the database keeps answers.
 */
export function openUnwritten(draftKey: string): UnwrittenStore {
  const prefixHere = `${prefix}${draftKey}:`;
  const ownKey = prefixHere + Math.random();
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch {
      // The browser blocks it, or it is full.
    }
  };
  const keys = () => Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  return {
    write: (unwritten) =>
      attempt(() => {
        if (unwritten) localStorage.setItem(ownKey, JSON.stringify({ ...unwritten, at: Date.now() }));
        else localStorage.removeItem(ownKey);
      }),
    read: () => {
      const found: (Unwritten & { at: number })[] = [];
      attempt(() => {
        for (const key of keys()) {
          const left = JSON.parse(localStorage.getItem(key) ?? '{}');
          if (key === ownKey) continue;
          if (key.startsWith(prefixHere)) found.push(left);
          else if (Date.now() - left.at > maxAgeMs) localStorage.removeItem(key);
        }
      });
      found.sort((one, other) => one.at - other.at);
      const entriesOf = (lefts: Unwritten[]) => lefts.map(({ entries }) => entries);
      const entries = Object.assign({}, ...entriesOf(found.filter(({ isEarly }) => !isEarly)));
      return Object.assign({}, ...found, { entries, early: entriesOf(found.filter(({ isEarly }) => isEarly)) });
    },
    forget: (own) =>
      attempt(() => {
        for (const key of keys())
          if (key.startsWith(prefixHere) && (own || key !== ownKey)) localStorage.removeItem(key);
      }),
  };
}
