import { type Entries, withLeft } from '../survey/entries.ts';
import { areSameTokens, type Tokens } from './tokens.ts';

/** What a browser keeps of a response until the service has all of it. */
export interface Draft {
  key: string;
  responseId: string;
  /** From the service's first reply. */
  resumeToken?: string;
  startedAt: string;
  /** Unix milliseconds of the last change. */
  changedAt: number;
  entries: Entries;
  /** Of the links that it was opened by. Drafts of earlier builds have none. */
  metadata?: Readonly<Record<string, string>>;
  page?: string;
  /** Increases with every change of an entry. */
  revision: number;
  /** Revision that the service has. */
  savedRevision: number;
  /** How many requests of the draft the service has accepted; undefined: none, or by earlier builds only. */
  acceptedCount?: number;
  /** Questions of which the service has an answer, or may have one. */
  savedQuestions: readonly string[];
  /** By question: the answers that the service has, as they were sent. Drafts of earlier builds have none. */
  savedAnswers?: Readonly<Record<string, string>>;
  isFinishing: boolean;
  /** Language and version of the survey in which the last entry was changed. Drafts of earlier builds have neither. */
  language?: string;
  surveyVersion?: number;
  /** Unix milliseconds, on the clock of the device, before which the service does not want to be asked again. */
  notBefore?: number;
  /** The next request, exactly as it is sent again until there is a reply. */
  pending?: Pending;
}

export interface Pending {
  body: string;
  isComplete: boolean;
  revision: number;
  /** Questions that the body answers. */
  questions: readonly string[];
}

/** The tokens by which a link was opened last, in whichever tab. */
interface KeptTokens extends Tokens {
  /** Unix milliseconds. Those that earlier builds kept have none, and stay until their link is opened again. */
  keptAt?: number;
}

export interface DraftStore {
  read(key: string): Promise<Draft | undefined>;
  /** Changes a draft in one step, whatever other tabs do. Undefined removes it. */
  change(key: string, edit: (draft: Draft | undefined) => Draft | undefined): Promise<Draft | undefined>;
  readTokens(link: string): Promise<Tokens | undefined>;
  keepTokens(link: string, tokens: Tokens): Promise<void>;
  /** Forgets these, and no other ones that were kept since. */
  forgetTokens(link: string, tokens: Tokens): Promise<void>;
  /** False: nothing outlives the tab. */
  readonly isLasting: boolean;
  /** False: the page that follows in this tab does not have what this one has. */
  readonly outlivesPage: boolean;
}

const database = 'survey-answers';
const [drafts, links] = ['drafts', 'links'];
export const maxAgeMs = 30 * 24 * 3600 * 1000;

/** Some browsers never say whether they open a database; meanwhile nothing is sent. */
const openWithinMs = 10_000;

/** Keeps drafts in IndexedDB; in this tab where the browser refuses that, at once or later. */
export async function openDraftStore(nowMs: number): Promise<DraftStore> {
  const tab = tabDrafts();
  try {
    const db = await inTime(openWithinMs, open());
    await inTime(openWithinMs, removeOld(db, nowMs));
    const store = orInTab(inDatabase(db), tab);
    await inTime(openWithinMs, takeOver(store, tab));
    return store;
  } catch {
    // An attempt that took too long may end later: it must not touch the drafts that are used from now on.
    tab.leave();
    const own = tabDrafts();
    return inMemory(own, own.write);
  }
}

/** Moves what the page before could keep in this tab only. */
async function takeOver(store: DraftStore, tab: TabDrafts): Promise<void> {
  for (const [key, left] of [...tab.kept])
    await store.change(key, (draft) => (draft ? joinedDrafts(draft, left) : left));
  if (store.isLasting) tab.forget();
}

/** The newer draft; with the later entries of both, where they are one response. */
function joinedDrafts(one: Draft, other: Draft): Draft {
  const [older, newer] = one.changedAt > other.changedAt ? [other, one] : [one, other];
  if (older.responseId !== newer.responseId || older.changedAt === newer.changedAt) return newer;
  const resumeToken = newer.resumeToken ?? older.resumeToken;
  return {
    ...newer,
    ...(resumeToken !== undefined && { resumeToken }),
    entries: withLeft(older.entries, newer.entries),
    revision: Math.max(older.revision, newer.revision) + 1,
    savedQuestions: [...new Set([...older.savedQuestions, ...newer.savedQuestions])],
    // It is unknown which of both the service has as they are.
    savedAnswers: {},
  };
}

const inTime = <T>(ms: number, work: Promise<T>): Promise<T> =>
  Promise.race([work, new Promise<never>((_, reject) => setTimeout(reject, ms, new Error('it took too long')))]);

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(database, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(drafts, { keyPath: 'key' });
      request.result.createObjectStore(links);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error('the database is in use'));
  });
}

/** Runs requests in one transaction; resolves with what the last of them gave when it is written. */
const transact = <T>(
  db: IDBDatabase,
  store: string,
  mode: IDBTransactionMode,
  work: (objects: IDBObjectStore, give: (value: T) => void) => void,
): Promise<T | undefined> =>
  new Promise((resolve, reject) => {
    const transaction = db.transaction(store, mode);
    let given: T | undefined;
    transaction.oncomplete = () => resolve(given);
    transaction.onabort = () => reject(transaction.error);
    work(transaction.objectStore(store), (value) => (given = value));
  });

function inDatabase(db: IDBDatabase): DraftStore {
  const read = <T>(store: string, key: string) =>
    transact<T>(db, store, 'readonly', (objects, give) => {
      const request = objects.get(key);
      request.onsuccess = () => give(request.result as T);
    });

  return {
    isLasting: true,
    outlivesPage: true,
    read: (key) => read<Draft>(drafts, key),
    change: (key, edit) =>
      transact<Draft>(db, drafts, 'readwrite', (objects, give) => {
        const request = objects.get(key);
        request.onsuccess = () => {
          const changed = edit(request.result as Draft | undefined);
          if (changed) {
            objects.put(changed);
            give(changed);
          } else objects.delete(key);
        };
      }),
    readTokens: async (link) => {
      const { keptAt = Date.now(), ...tokens } = (await read<KeptTokens>(links, link)) ?? {};
      const isKept = Object.keys(tokens).length > 0 && Date.now() - keptAt <= maxAgeMs;
      return isKept ? tokens : undefined;
    },
    keepTokens: async (link, tokens) => {
      const kept = { ...tokens, keptAt: Date.now() };
      await transact(db, links, 'readwrite', (objects) => {
        deleteOlder(objects, kept.keptAt - maxAgeMs);
        objects.put(kept, link);
      });
    },
    forgetTokens: async (link, tokens) => {
      await transact(db, links, 'readwrite', (objects) => {
        const request = objects.get(link);
        request.onsuccess = () => {
          if (request.result && areSameTokens(request.result as Tokens, tokens)) objects.delete(link);
        };
      });
    },
  };
}

/** Drafts of a month ago cannot be judged by their version any more. */
const removeOld = (db: IDBDatabase, nowMs: number): Promise<unknown> =>
  transact(db, drafts, 'readwrite', (objects) => deleteOlder(objects, nowMs - maxAgeMs));

function deleteOlder(objects: IDBObjectStore, atMs: number): void {
  const request = objects.openCursor();
  request.onsuccess = () => {
    const cursor = request.result;
    if (!cursor) return;
    const { changedAt = atMs, keptAt = changedAt } = cursor.value as Partial<Draft & KeptTokens>;
    if (keptAt < atMs) cursor.delete();
    cursor.continue();
  };
}

/**
 * Goes on in this tab, from what the database held last, once it fails: on a full disk, or where the browser has closed
 * it.
 */
function orInTab(stored: DraftStore, tab: TabDrafts): DraftStore {
  let isLost = false;
  const memory = inMemory(tab, () => isLost && tab.write());
  const lose = () => {
    isLost = true;
    tab.write();
  };
  const attempt = async <T>(work: (store: DraftStore) => Promise<T>): Promise<T> => {
    if (isLost) return work(memory);
    try {
      return await work(stored);
    } catch {
      lose();
      return work(memory);
    }
  };
  const remember = (key: string, draft: Draft | undefined) => memory.change(key, () => draft);
  const takeIn = async (key: string): Promise<void> => {
    if (!tab.kept.has(key)) await remember(key, await stored.read(key).catch(() => undefined));
  };
  const taken = new Map<string, Promise<void>>();
  /** A full disk still gives what it holds. Memory takes that in once, so that a draft that ends later stays ended. */
  const recall = (key: string): Promise<void> => {
    const taking = taken.get(key) ?? takeIn(key);
    taken.set(key, taking);
    return taking;
  };
  return {
    get isLasting() {
      return !isLost;
    },
    get outlivesPage() {
      return !isLost || tab.isWritten;
    },
    read: async (key) => {
      const draft = await attempt((store) => store.read(key));
      if (!isLost) return remember(key, draft);
      await recall(key);
      return memory.read(key);
    },
    change: async (key, edit) => {
      if (!isLost) {
        try {
          const changed = await stored.change(key, edit);
          // Another change may have failed meanwhile: then this one is to be made in memory too.
          if (!isLost) return await remember(key, changed);
        } catch {
          lose();
        }
      }
      await recall(key);
      const changed = await memory.change(key, edit);
      // What ends here must not come back from the disk, which may still be able to delete.
      if (!changed) void stored.change(key, () => undefined).catch(() => undefined);
      return changed;
    },
    readTokens: async (link) => {
      const tokens = await attempt((store) => store.readTokens(link));
      return tokens ?? (isLost ? stored.readTokens(link).catch(() => undefined) : undefined);
    },
    keepTokens: (link, tokens) => attempt((store) => store.keepTokens(link, tokens)),
    forgetTokens: async (link, tokens) => {
      await attempt((store) => store.forgetTokens(link, tokens));
      if (isLost) void stored.forgetTokens(link, tokens).catch(() => undefined);
    },
  };
}

/** Drafts in memory, which can be written for the page that follows in this tab, as in another language. */
interface TabDrafts {
  readonly kept: Map<string, Draft>;
  /** Where the browser allows that. */
  readonly write: () => void;
  /** False: the page that follows does not have them as they are. */
  readonly isWritten: boolean;
  forget(): void;
  /** From now on nothing is written. */
  leave(): void;
}

/** Begins with what the page before has written. */
function tabDrafts(): TabDrafts {
  const kept = new Map<string, Draft>();
  let isWritten = true;
  let isLeft = false;
  try {
    for (const [key, draft] of JSON.parse(sessionStorage.getItem(database) ?? '[]')) kept.set(key, draft);
  } catch {
    // Then each page begins anew.
  }
  const write = () => {
    if (isLeft) return;
    try {
      if (kept.size > 0) sessionStorage.setItem(database, JSON.stringify([...kept]));
      else sessionStorage.removeItem(database);
      isWritten = true;
    } catch {
      // The browser blocks it, or it is full.
      isWritten = false;
    }
  };
  return {
    kept,
    write,
    get isWritten() {
      return isWritten;
    },
    forget() {
      kept.clear();
      write();
    },
    leave() {
      isLeft = true;
    },
  };
}

function inMemory(tab: TabDrafts, changed: () => void): DraftStore {
  const { kept } = tab;
  const tokensOf = new Map<string, Tokens>();
  return {
    isLasting: false,
    get outlivesPage() {
      return tab.isWritten;
    },
    read: async (key) => kept.get(key),
    change: async (key, edit) => {
      const draft = edit(kept.get(key));
      if (draft) kept.set(key, draft);
      else kept.delete(key);
      changed();
      return draft;
    },
    readTokens: async (link) => tokensOf.get(link),
    keepTokens: async (link, tokens) => {
      tokensOf.set(link, tokens);
    },
    forgetTokens: async (link) => {
      tokensOf.delete(link);
    },
  };
}
