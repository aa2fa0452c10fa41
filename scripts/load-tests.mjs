// node scripts/load-tests.mjs <test file> …: runs all of them in this process; it ends with code 1 if a test fails or a
// file cannot be loaded.
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) await import(pathToFileURL(file).href);
