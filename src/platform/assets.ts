import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The absolute path of a file or folder of the source tree that the compiler does not copy (.sql, .lua, .html);
 * `relative` is counted from the project's root. Works from the sources and from any build inside the project; a build
 * elsewhere finds the project in the working directory. Throws if there is none.
 */
export function assetPath(relative: string): string {
  for (const start of [dirname(fileURLToPath(import.meta.url)), process.cwd()]) {
    for (let folder = start; ; folder = dirname(folder)) {
      const path = join(folder, relative);
      if (existsSync(join(folder, 'package.json')) && existsSync(path)) return path;
      if (folder === dirname(folder)) break;
    }
  }
  throw new Error(`${relative} is missing from the project`);
}
