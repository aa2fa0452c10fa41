import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh directory that PostgreSQL's own user can enter when the tests run as root. */
export function temporaryDataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'survey-service-'));
  chmodSync(folder, 0o711);
  return folder;
}
