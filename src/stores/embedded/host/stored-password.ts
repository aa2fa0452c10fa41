import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A random password of a store, made at the first start and kept in `<dir>/password` (readable by its owner only).
 * Written beside and renamed, so that a kill never leaves half of one.
 */
export function storedPassword(dir: string): string {
  const file = join(dir, 'password');
  if (existsSync(file)) {
    const secret = readFileSync(file, 'utf8').trim();
    if (secret !== '') return secret;
  }
  const secret = randomBytes(24).toString('base64url');
  writeFileSync(`${file}.new`, `${secret}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return secret;
}
