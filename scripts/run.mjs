// node scripts/run.mjs <module> [arguments]: the same set-up as npm start, then dist/<module>.js or
// dist/src/<module>.js.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadSettingsFile, prepare, root, stop } from './prepare.mjs';

const [, , name, ...args] = process.argv;
if (!name) stop('usage: node scripts/run.mjs <module> [arguments], as in bench/submit');
prepare();
loadSettingsFile();
const file = [join(root, 'dist', `${name}.js`), join(root, 'dist', 'src', `${name}.js`)].find((candidate) =>
  existsSync(candidate),
);
if (!file) stop(`There is no module ${name}`);
// The module finds its own arguments where a program started directly would.
process.argv = [process.argv[0], file, ...args];
await import(pathToFileURL(file).href);
