/**
 * Makes a page refuse what browsers refuse where cookies are blocked for a site, as Chromium does: databases, storage
 * and locks.
 */
export const blockedStorage = `
  const refuse = () => { throw new DOMException('Access is denied for this document.', 'SecurityError'); };
  for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get: refuse });
  IDBFactory.prototype.open = refuse;
  LockManager.prototype.request = async () => refuse();`;
