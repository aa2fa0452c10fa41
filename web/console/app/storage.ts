/** What the browser did not take, as where cookies are blocked for the site: it lasts as long as the page. */
const kept = new Map<string, string>();

/** A value that this browser keeps. */
export function readStored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? kept.get(key);
  } catch {
    return kept.get(key);
  }
}

/** Keeps a value in this browser; undefined removes it. */
export function store(key: string, value: string | undefined): void {
  kept.delete(key);
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    if (value !== undefined) kept.set(key, value);
  }
}
