// npm test [-- group | part of a file name …]: sets everything up, starts the stores and runs the tests: the pure ones, then the others in lanes.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root, stop } from './prepare.mjs';

const groups = ['unit', 'integration', 'e2e', 'fuzz', 'chaos'];

// Files of a lane run one after the other on stores of their own, so that nothing of one file reaches another that runs beside it.
// Most of them wait more than they work, so that lanes beside each other take little longer than one.
const lanes = 4;

// The longest begin first, lest one of them runs on when the other lanes have nothing left.
const longest = [
  'chaos/ai-kill',
  'chaos/export',
  'e2e/ai-providers',
  'e2e/degraded-start',
  'e2e/live-events',
  'e2e/ai-generation',
  'e2e/processes',
  'e2e/ai-analysis',
  'e2e/retention',
  'e2e/ai-privacy',
  'chaos/webhook-kill',
  'e2e/exports',
  'e2e/replay',
  'e2e/live-limits',
  'chaos/stores-in-trouble',
  'e2e/ai-annotations',
  'e2e/webhooks',
  'e2e/live',
  'e2e/live-processes',
  'e2e/ai-limits',
  'chaos/kill',
  'chaos/silent-postgres',
  'integration/stores/embedded/stores',
  'integration/stores/clickhouse/exactness',
  'chaos/connections',
  'integration/stores/clickhouse/responses',
  'integration/pipelines/ai/report-pdf',
  'e2e/ai-long-work',
  'e2e/people',
  'e2e/ai-bad-input',
  'integration/ai/privacy/hostile-texts',
  'fuzz/api',
  'e2e/guide-live',
  'chaos/outage',
  'e2e/main-journey',
  'e2e/ai-themes',
  'integration/stores/clickhouse/cluster',
  'integration/http/live/websocket',
  'integration/stores/embedded/clickhouse',
  'e2e/left-behind',
  'integration/http/routing/authorization-matrix',
  'chaos/live',
  'chaos/clock',
];

// The longest takes two minutes.
const patienceMinutes = 15;

// They compare times of milliseconds, so nothing may run beside them.
const alone = ['integration/http/routes/authentication', 'e2e/webhook-isolation'];

// The pure ones of two processes, all others being of a third: HTTP and its schemas, which take the longest to load, and the domain with what mostly waits for time to pass.
const pureParts = [/^unit\/(?:http|auth|settings)/, /^unit\/(?:domain|pipelines|webhooks)/];

// What is tested so runs a few times each: V8 finds it worth optimising six times later than usual, which saves an eighth of the processor time.
// Three processes have no processor left for helpers of each: what those do beside a process costs a tenth more than in it.
const mostlyOnce = ['--interrupt-budget=400000', '--single-threaded'];

const words = process.argv.slice(2);
const askedGroups = words.filter((word) => groups.includes(word));
const filters = words.filter((word) => !groups.includes(word));

const totalLine = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)\n/gm;

prepare();
const files = groups
  .filter((name) => askedGroups.length === 0 || askedGroups.includes(name))
  .flatMap(testFiles)
  .sort((a, b) => rankOf(a) - rankOf(b));
if (files.length === 0) stop(`No test file matches ${words.join(' ') || 'test/'}`);
const isPure = (file) => nameOf(file).startsWith('unit/');
const [pure, others] = [files.filter(isPure), files.filter((file) => !isPure(file))];

const children = new Set();
let interrupted;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    interrupted = signal;
    for (const child of children) killWithItsOwn(child, signal);
  });
}

const [failed, heard] = [[], []];
if (pure.length > 0) await runTogether(pure);
if (others.length > 0 && !interrupted) await runInLanes(others);
showTotals();
if (failed.length > 0) process.stderr.write(`\nFailed: ${failed.join(', ')}\n`);
process.exit(failed.length > 0 || interrupted ? 1 : 0);

function testFiles(group) {
  const dir = join(root, 'dist', 'test', group);
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true })
    .map((name) => join(dir, name))
    .filter(
      (file) =>
        file.endsWith('.test.js') &&
        (filters.length === 0 || filters.some((filter) => file.slice(root.length).includes(filter))),
    )
    .sort();
}

/** Its group and its name in it, as in `e2e/live`. */
function nameOf(file) {
  return file.slice(join(root, 'dist', 'test').length + 1, -'.test.js'.length);
}

function rankOf(file) {
  const rank = longest.indexOf(nameOf(file));
  return rank === -1 ? longest.length : rank;
}

/** Pure tests share three processes: most of a file's time would go into loading what the others load too. What they say is shown when they have ended. */
async function runTogether(pureFiles) {
  process.stderr.write(`\n── unit: ${pureFiles.length} files\n`);
  const partOf = (file) => pureParts.findIndex((part) => part.test(nameOf(file)));
  const parts = [-1, ...pureParts.keys()]
    .map((index) => pureFiles.filter((file) => partOf(file) === index))
    .filter((part) => part.length > 0);
  const results = await Promise.all(
    parts.map((part) =>
      runNode([...mostlyOnce, join(root, 'scripts', 'load-tests.mjs'), ...part], { hasSourceMaps: false }),
    ),
  );
  for (const { said } of results) hear(said);
  if (results.some(({ code }) => code !== 0)) failed.push('unit');
}

async function runInLanes(lanedFiles) {
  process.stderr.write(`\n── ${lanedFiles.length} files with stores\n`);
  const stores = await startStores(Math.min(lanes, lanedFiles.length));
  const isAlone = (file) => alone.includes(nameOf(file));
  const crowd = lanedFiles.filter((file) => !isAlone(file));
  await Promise.all(stores.map((set) => runLane(set, crowd)));
  await runLane(stores[0], lanedFiles.filter(isAlone));
  await Promise.all(stores.map(({ stop: end }) => end()));
}

/** Takes the next file when it has done with one; what a file says is shown when it has ended. */
async function runLane({ environment }, waiting) {
  for (let file = waiting.shift(); file && !interrupted; file = waiting.shift()) {
    const startedAt = performance.now();
    const { code, said } = await runNode([file], { env: { ...process.env, ...environment } });
    if (code !== 0) failed.push(nameOf(file));
    process.stdout.write(
      `${nameOf(file)} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)${code === 0 ? '' : ': FAILED'}\n`,
    );
    hear(said);
  }
}

/** Sets of stores, one a lane. */
async function startStores(count) {
  const { startStoreSet } = await import('../dist/test/support/stores.js');
  return Promise.all(Array.from({ length: count }, () => startStoreSet()));
}

/** Shows what a run has said, and keeps its totals. */
function hear(said) {
  process.stdout.write(`${said.replace(totalLine, '').trimEnd()}\n`);
  heard.push(said);
}

/** Adds up what the runs have said at their ends. */
function showTotals() {
  const totals = new Map();
  for (const said of heard)
    for (const [, what, count] of said.matchAll(totalLine))
      if (what !== 'duration_ms') totals.set(what, (totals.get(what) ?? 0) + Number(count));
  process.stdout.write(`${[...totals].map(([what, count]) => `ℹ ${what} ${count}`).join('\n')}\n`);
}

/** Source maps make stacks name the sources; reading them takes a tenth of the time of what is pure. */
function runNode(args, { hasSourceMaps = true, ...options } = {}) {
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [...(hasSourceMaps ? ['--enable-source-maps'] : []), '--test-reporter=spec', ...args],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], detached: true, ...options },
    );
    children.add(child);
    const pieces = [];
    child.stdout?.on('data', (piece) => pieces.push(piece));
    const deadline = setTimeout(() => {
      pieces.push(Buffer.from(`\nEnded after ${patienceMinutes} minutes: a test waits for ever.\n`));
      killWithItsOwn(child, 'SIGKILL');
    }, patienceMinutes * 60_000);
    const end = (code) => {
      clearTimeout(deadline);
      children.delete(child);
      resolve({ code, said: Buffer.concat(pieces).toString() });
    };
    child.once('error', () => end(1));
    child.once('close', (code) => end(code ?? 1));
  });
}

/** With the services and stores that it has started, which would keep ports and load the lanes beside it; they are one group. */
function killWithItsOwn({ pid }, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
