import type { Entries } from '../survey/entries.ts';

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
  page?: string;
  /** Increases with every change of an entry. */
  revision: number;
  /** Revision that the service has. */
  savedRevision: number;
  /** Questions of which the service has an answer. */
  savedQuestions: readonly string[];
  isFinishing: boolean;
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

/** Tokens of links, which leave the address bar. */
export interface Tokens {
  invitation?: string;
  surveyToken?: string;
}

export interface DraftStore {
  read(key: string): Promise<Draft | undefined>;
  /** Changes a draft in one step, whatever other tabs do. Undefined removes it. */
  change(key: string, edit: (draft: Draft | undefined) => Draft | undefined): Promise<Draft | undefined>;
  readTokens(link: string): Promise<Tokens | undefined>;
  keepTokens(link: string, tokens: Tokens | undefined): Promise<void>;
  /** False: nothing outlives the page. */
  isLasting: boolean;
}

const database = 'survey-answers';
const [drafts, links] = ['drafts', 'links'];
const maxAgeMs = 30 * 24 * 3600 * 1000;

/** Keeps drafts in IndexedDB; in memory where the browser refuses that. */
export async function openDraftStore(nowMs: number): Promise<DraftStore> {
  try {
    const db = await open();
    await removeOld(db, nowMs);
    return inDatabase(db);
  } catch {
    return inMemory();
  }
}

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

function inDatabase(db: IDBDatabase): DraftStore {
  /** Runs requests in one transaction; resolves with what the last of them gave when it is written. */
  const transact = <T>(
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
  const read = <T>(store: string, key: string) =>
    transact<T>(store, 'readonly', (objects, give) => {
      const request = objects.get(key);
      request.onsuccess = () => give(request.result as T);
    });

  return {
    isLasting: true,
    read: (key) => read<Draft>(drafts, key),
    change: (key, edit) =>
      transact<Draft>(drafts, 'readwrite', (objects, give) => {
        const request = objects.get(key);
        request.onsuccess = () => {
          const changed = edit(request.result as Draft | undefined);
          if (changed) {
            objects.put(changed);
            give(changed);
          } else objects.delete(key);
        };
      }),
    readTokens: (link) => read<Tokens>(links, link),
    keepTokens: async (link, tokens) => {
      await transact(links, 'readwrite', (objects) => {
        if (tokens) objects.put(tokens, link);
        else objects.delete(link);
      });
    },
  };
}

/** Drafts of a month ago cannot be judged by their version any more. */
function removeOld(db: IDBDatabase, nowMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = db.transaction(drafts, 'readwrite');
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
    const request = transaction.objectStore(drafts).openCursor();
    request.onsuccess = () => {
      const cursor = request.result;
      if (!cursor) return;
      if (nowMs - (cursor.value as Draft).changedAt > maxAgeMs) cursor.delete();
      cursor.continue();
    };
  });
}

function inMemory(): DraftStore {
  const kept = new Map<string, Draft>();
  const tokensOf = new Map<string, Tokens>();
  return {
    isLasting: false,
    read: async (key) => kept.get(key),
    change: async (key, edit) => {
      const changed = edit(kept.get(key));
      if (changed) kept.set(key, changed);
      else kept.delete(key);
      return changed;
    },
    readTokens: async (link) => tokensOf.get(link),
    keepTokens: async (link, tokens) => {
      if (tokens) tokensOf.set(link, tokens);
      else tokensOf.delete(link);
    },
  };
}
