// npm test [-- group | part of a file name …]: sets everything up, starts the stores and runs the tests group by group.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root, stop } from './prepare.mjs';

// Files of a lane run one after the other on stores of their own, so that nothing of one file reaches another that runs beside it.
// Most of them wait more than they work, so that lanes beside each other take little longer than one.
const groups = {
  // Pure tests share two processes: most of a file's time would go into loading what the others load too.
  unit: { isTogether: true },
  integration: { lanes: 2 },
  e2e: { lanes: 3 },
  fuzz: { lanes: 1 },
  chaos: { lanes: 2 },
};

// They look at times, or load the whole machine, so nothing may run beside them.
const alone = [
  'integration/auth-http', 'e2e/webhook-isolation', 'chaos/clock', 'chaos/connections', 'chaos/descriptors', 'chaos/live', 'chaos/outage', 'chaos/stores-in-trouble',
];

const words = process.argv.slice(2);
const askedGroups = words.filter((word) => word in groups);
const filters = words.filter((word) => !(word in groups));

const totalLine = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)\n/gm;

const piped = { stdio: ['ignore', 'pipe', 'inherit'] };

prepare();
const runs = Object.entries(groups)
  .filter(([name]) => askedGroups.length === 0 || askedGroups.includes(name))
  .map(([name, group]) => ({ name, ...group, files: testFiles(name) }))
  .filter(({ files }) => files.length > 0);
if (runs.length === 0) stop(`No test file matches ${words.join(' ') || 'test/'}`);

const children = new Set();
let interrupted;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    interrupted = signal;
    for (const child of children) child.kill(signal);
  });
}

const laneCount = Math.max(0, ...runs.map(({ lanes = 0, files }) => Math.min(lanes, files.length)));
const stores = await startStores(laneCount);
const failed = [];
for (const run of runs) {
  if (interrupted) break;
  process.stderr.write(`\n── ${run.name}: ${run.files.length} files\n`);
  const isFine = run.isTogether ? await runTogether(run.files) : await runInLanes(run);
  if (!isFine) failed.push(run.name);
}
await Promise.all(stores.map(({ stop: end }) => end()));
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

/** Sets of stores, one a lane. */
async function startStores(count) {
  if (count === 0) return [];
  const { startStoreSet } = await import('../dist/test/support/stores.js');
  return Promise.all(Array.from({ length: count }, () => startStoreSet()));
}

/** All files in two processes; what they say is shown when they have ended. */
async function runTogether(files) {
  const halves = [0, 1].map((half) => files.filter((_, index) => index % 2 === half)).filter((half) => half.length > 0);
  const results = await Promise.all(halves.map((half) => runNode(['--test-reporter=spec', join(root, 'scripts', 'load-tests.mjs'), ...half], piped)));
  process.stdout.write(results.map(({ said }) => said.replace(totalLine, '')).join(''));
  showTotals(results.map(({ said }) => said));
  return results.every(({ code }) => code === 0);
}

/** Each lane takes the next file when it has done with one; what a file says is shown when it has ended. */
async function runInLanes({ files, lanes }) {
  const isAlone = (file) => alone.some((name) => file.endsWith(`${name}.test.js`));
  const heard = [];
  let isFine = true;
  const lane = async ({ environment }, waiting) => {
    for (let file = waiting.shift(); file && !interrupted; file = waiting.shift()) {
      const startedAt = performance.now();
      const { code, said } = await runNode(['--test-reporter=spec', '--test', file], { ...piped, env: { ...process.env, ...environment } });
      if (code !== 0) isFine = false;
      process.stdout.write(`${file.slice(root.length)} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)${code === 0 ? '' : ': FAILED'}\n${said.replace(totalLine, '').trimEnd()}\n`);
      heard.push(said);
    }
  };
  const together = files.filter((file) => !isAlone(file));
  await Promise.all(stores.slice(0, lanes).map((set) => lane(set, together)));
  await lane(stores[0], files.filter(isAlone));
  showTotals(heard);
  return isFine;
}

/** Adds up what the runs of a group have said at their ends. */
function showTotals(heard) {
  const totals = new Map();
  for (const said of heard)
    for (const [, what, count] of said.matchAll(totalLine)) if (what !== 'duration_ms') totals.set(what, (totals.get(what) ?? 0) + Number(count));
  process.stdout.write(`${[...totals].map(([what, count]) => `ℹ ${what} ${count}`).join('\n')}\n`);
}

function runNode(args, options) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--enable-source-maps', ...args], { cwd: root, ...options });
    children.add(child);
    const pieces = [];
    child.stdout?.on('data', (piece) => pieces.push(piece));
    const end = (code) => {
      children.delete(child);
      resolve({ code, said: Buffer.concat(pieces).toString() });
    };
    child.once('error', () => end(1));
    child.once('close', (code) => end(code ?? 1));
  });
}
