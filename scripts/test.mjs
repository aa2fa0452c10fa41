// npm test [-- group | part of a file name …]: sets everything up, starts one set of stores and runs the tests group by group.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root, stop } from './prepare.mjs';

const groups = {
  // Pure tests share one process: most of a file's time would go into loading what the others load too.
  unit: { isOneProcess: true, needsStores: false },
  integration: { concurrency: 1, needsStores: true },
  e2e: { concurrency: 1, needsStores: true },
  fuzz: { concurrency: 1, needsStores: true },
  chaos: { concurrency: 1, needsStores: true },
};

const words = process.argv.slice(2);
const askedGroups = words.filter((word) => word in groups);
const filters = words.filter((word) => !(word in groups));

prepare();
const runs = Object.entries(groups)
  .filter(([name]) => askedGroups.length === 0 || askedGroups.includes(name))
  .map(([name, group]) => ({ name, ...group, files: testFiles(name) }))
  .filter(({ files }) => files.length > 0);
if (runs.length === 0) stop(`No test file matches ${words.join(' ') || 'test/'}`);

let child;
let interrupted;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    interrupted = signal;
    child?.kill(signal);
  });
}

const stores = runs.some(({ needsStores }) => needsStores) ? await startStores() : undefined;
const failed = [];
for (const run of runs) {
  if (interrupted) break;
  process.stderr.write(`\n── ${run.name}: ${run.files.length} files\n`);
  if ((await runTests(run)) !== 0) failed.push(run.name);
}
await stores?.stop();
if (failed.length > 0) process.stderr.write(`\nFailed: ${failed.join(', ')}\n`);
process.exit(failed.length > 0 || interrupted ? 1 : 0);

function testFiles(group) {
  const dir = join(root, 'dist', 'test', group);
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true })
    .map((name) => join(dir, name))
    .filter((file) => file.endsWith('.test.js') && (filters.length === 0 || filters.some((filter) => file.slice(root.length).includes(filter))))
    .sort();
}

/** Its URLs go into the environment of the test processes. */
async function startStores() {
  const { sharedStores } = await import('../dist/test/support/stores.js');
  return sharedStores();
}

function runTests({ files, concurrency, isOneProcess = false }) {
  const how = isOneProcess ? [join(root, 'scripts', 'load-tests.mjs')] : ['--test', `--test-concurrency=${concurrency}`];
  const options = ['--enable-source-maps', '--test-reporter=spec', ...how];
  return new Promise((resolve) => {
    child = spawn(process.execPath, [...options, ...files], { cwd: root, stdio: 'inherit' });
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
