/** A browser that says late that its database is open. */
export const slowToOpen = (ms: number) => `
  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function (...given) {
    const request = open.apply(this, given);
    const set = (work) => request.addEventListener('success', () => setTimeout(work, ${ms}));
    return Object.defineProperty(request, 'onsuccess', { set });
  };`;
