/** A browser that says late that its database is open. */
export const slowToOpen = (ms: number) => `
  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function (...given) {
    const request = open.apply(this, given);
    const set = (work) => request.addEventListener('success', () => setTimeout(work, ${ms}));
    return Object.defineProperty(request, 'onsuccess', { set });
  };`;

/**
 * A database that gets nothing, or nothing of one store, in transactions of this mode before `goesOn` is true; `isHeld`:
 * it has been asked.
 */
export const heldIn = (mode: 'readonly' | 'readwrite', store?: 'drafts' | 'links') => `
  const { get } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.get = function (...given) {
    const request = get.apply(this, given);
    if (this.transaction.mode !== '${mode}' || (${store !== undefined} && this.name !== '${store}')) return request;
    window.isHeld = true;
    const set = (work) => {
      const wait = () => {
        if (window.goesOn) work();
        else this.count().onsuccess = wait;
      };
      request.addEventListener('success', wait);
    };
    return Object.defineProperty(request, 'onsuccess', { set });
  };`;
