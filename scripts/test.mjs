// npm test [-- group | part of a file name …]: sets everything up, checks formatting and lint, and runs the unit tests,
// then the others in workers with stores.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { prepare, root, stop } from './prepare.mjs';

const groups = ['unit', 'integration', 'e2e', 'browser', 'fuzz', 'chaos'];

// A worker runs its files one after the other, on stores of its own.
// Three keep two processors busy: a fourth made all files slower (29.7 minutes in all, 26.7 with three), and tests wait
// for their turn then instead of for what they test.
const workers = 3;

// The longest test takes two minutes.
const maxMinutesPerFile = 15;

// Tests in a browser take two thirds of the time of a whole run, which is half an hour. They begin when the others have
// begun, and on a machine that is several times slower no later than this, so that a run ends in time; those that are
// left out are named.
const browserMinutes = 55;

// Files of this suffix compare times of milliseconds, so nothing may run beside them.
const aloneSuffix = '.alone';

// By this code of its errors a test says that something took too long. Where others ran beside it and nothing else
// failed in its file, the file is run again alone, and that result counts.
const missedTimeBar = /code: 'TIME_BAR_MISSED'/g;

// Unit tests share so many processes: most of a file's time would go into loading what its neighbours load too.
const unitProcesses = 3;

// How many seconds each file took here, from the runs before: the longest begin first, lest one of them runs on when
// the other workers have nothing left. Where nothing is known, as in a fresh clone, the size of a file stands in for
// it.
const durationsFile = join(root, 'node_modules', '.cache', 'test-durations.json');

// Of each failed file, at the end; all of it stands where it ended.
const maxLinesPerFailure = 60;

// Unit tests run most code a few times only: optimising it later saves an eighth of the processor time, and helper
// threads cost a tenth.
const runsOnce = ['--interrupt-budget=400000', '--single-threaded'];

const words = process.argv.slice(2);
const askedGroups = words.filter((word) => groups.includes(word));
const filters = words.filter((word) => !groups.includes(word));

const totalLine = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)\n/gm;

prepare();
if (words.length === 0) checkStyle();
const durations = readDurations();
const files = groups.filter((name) => askedGroups.length === 0 || askedGroups.includes(name)).flatMap(testFiles);
if (files.length === 0) stop(`No test file matches ${words.join(' ') || 'test/'}`);
const isAlone = (file) => nameOf(file).endsWith(aloneSuffix);
const isInBrowser = (file) => nameOf(file).startsWith('browser/');
const isUnit = (file) => nameOf(file).startsWith('unit/') && !isAlone(file);
const [unit, others] = [files.filter(isUnit), files.filter((file) => !isUnit(file)).sort(inOrder)];

const children = new Set();
const leftOut = [];
let interrupted;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    interrupted = signal;
    for (const child of children) killWithItsOwn(child, signal);
  });
}

/** The output of each that failed, by its name. */
const failed = new Map();
const outputs = [];
if (unit.length > 0) await runTogether(unit);
if (others.length > 0 && !interrupted) await runInWorkers(others);
showTotals();
writeDurations();
showFailures();
process.exit(failed.size > 0 || interrupted ? 1 : 0);

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

/**
 * Those in a browser come last, as they may be left out; of each kind, those of which no run is on record come first, the
 * largest of them before the others.
 */
function inOrder(a, b) {
  if (isInBrowser(a) !== isInBrowser(b)) return isInBrowser(a) ? 1 : -1;
  const [known, other] = [durations[nameOf(a)], durations[nameOf(b)]];
  if (known === undefined && other === undefined) return statSync(b).size - statSync(a).size;
  return (other ?? Number.POSITIVE_INFINITY) - (known ?? Number.POSITIVE_INFINITY);
}

function readDurations() {
  try {
    return JSON.parse(readFileSync(durationsFile, 'utf8'));
  } catch {
    return {};
  }
}

function writeDurations() {
  mkdirSync(dirname(durationsFile), { recursive: true });
  writeFileSync(durationsFile, JSON.stringify(durations, null, 2));
}

/** Formatting and lint, as `npm run check` sees them; types were checked by the build. */
function checkStyle() {
  const biome = join(root, 'node_modules', '.bin', 'biome');
  // Its binary is an optional package for each system, which not every registry carries.
  if (spawnSync(biome, ['--version']).status !== 0) {
    process.stderr.write('Formatting and lint are not checked: Biome has no binary for this system here\n');
    return;
  }
  const { status } = spawnSync(biome, ['check', '--error-on-warnings', '.'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) stop('Formatting or lint: see above; npm run format mends what can be mended');
}

/**
 * Runs unit tests in a few processes, neighbours together, and shows what they say when they have ended. Those that were
 * merely too slow run again alone.
 */
async function runTogether(unitFiles) {
  process.stderr.write(`\n── unit: ${unitFiles.length} files\n`);
  const run = (part) =>
    runNode([...runsOnce, join(root, 'scripts', 'load-tests.mjs'), ...part], { hasSourceMaps: false });
  const parts = partsOf(unitFiles, unitProcesses);
  const results = await Promise.all(parts.map(run));
  for (const [index, { code, output }] of results.entries())
    if (code !== 0 && wasMerelySlow(output)) {
      showOutput(output);
      process.stdout.write('unit tests: TOO SLOW beside others, run again alone\n');
      results[index] = await run(parts[index]);
    }
  for (const { output } of results) {
    showOutput(output);
    outputs.push(output);
  }
  const withFailures = results.filter(({ code }) => code !== 0);
  if (withFailures.length > 0) failed.set('unit', withFailures.map(({ output }) => output).join(''));
}

/** Splits a sorted list of files into parts of about the same size in bytes. */
function partsOf(list, count) {
  const sizes = list.map((file) => statSync(file).size);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const parts = Array.from({ length: count }, () => []);
  let before = 0;
  for (const [index, file] of list.entries()) {
    parts[Math.min(count - 1, Math.floor((before / total) * count))].push(file);
    before += sizes[index];
  }
  return parts.filter((part) => part.length > 0);
}

async function runInWorkers(storeFiles) {
  process.stderr.write(`\n── ${storeFiles.length} files with stores\n`);
  const stores = await startStores(Math.min(workers, storeFiles.length));
  const aloneFiles = storeFiles.filter(isAlone);
  const parallelFiles = storeFiles.filter((file) => !isAlone(file));
  await Promise.all(stores.map((set) => runWorker(set, parallelFiles, aloneFiles)));
  await runWorker(stores[0], aloneFiles);
  await Promise.all(stores.map(({ stop: end }) => end()));
}

/**
 * Takes the next file when it has done with one; what a file says is shown when it has ended. A file that was merely too
 * slow is added to those that run alone, where there are any to come.
 */
async function runWorker({ environment }, waiting, aloneLater) {
  for (let file = waiting.shift(); file && !interrupted; file = waiting.shift()) {
    if (isLeftOut(file)) {
      leftOut.push(nameOf(file));
      continue;
    }
    const startedAt = performance.now();
    const { code, output } = await runNode([file], { env: { ...process.env, ...environment } });
    const seconds = (performance.now() - startedAt) / 1000;
    const isAgain = code !== 0 && aloneLater !== undefined && wasMerelySlow(output);
    if (isAgain) aloneLater.push(file);
    else if (code === 0) durations[nameOf(file)] = Math.round(seconds * 10) / 10;
    else failed.set(nameOf(file), output);
    const outcome = isAgain ? ': TOO SLOW beside others, runs again alone' : code === 0 ? '' : ': FAILED';
    process.stdout.write(`${nameOf(file)} (${seconds.toFixed(1)} s)${outcome}\n`);
    showOutput(output);
    if (!isAgain) outputs.push(output);
  }
}

/** What was asked for by name is never left out. */
function isLeftOut(file) {
  return words.length === 0 && isInBrowser(file) && performance.now() > browserMinutes * 60_000;
}

/** Whether each of its failures is a missed bar of time; tests that were cancelled failed for another reason. */
function wasMerelySlow(output) {
  const list = listOfFailures(output);
  const missed = list.match(missedTimeBar)?.length ?? 0;
  return missed > 0 && missed === list.match(/^test at /gm)?.length && /^ℹ cancelled 0$/m.test(output);
}

/** Sets of stores, one a worker. */
async function startStores(count) {
  const { startStoreSet } = await import('../dist/test/support/stores.js');
  return Promise.all(Array.from({ length: count }, () => startStoreSet()));
}

function showOutput(output) {
  process.stdout.write(`${output.replace(totalLine, '').trimEnd()}\n`);
}

/** The list that the reporter ends its output with. */
function listOfFailures(output) {
  return output.slice(Math.max(0, output.indexOf('✖ failing tests:')));
}

/** Adds up the totals at the end of each output that counts. */
function showTotals() {
  const totals = new Map();
  for (const output of outputs)
    for (const [, what, count] of output.matchAll(totalLine))
      if (what !== 'duration_ms') totals.set(what, (totals.get(what) ?? 0) + Number(count));
  process.stdout.write(`${[...totals].map(([what, count]) => `ℹ ${what} ${count}`).join('\n')}\n`);
}

/** Says again at the end, where it is looked for, what failed. */
function showFailures() {
  if (leftOut.length > 0)
    process.stderr.write(
      `\nSkipped, as this machine is too slow for them (${browserMinutes} minutes had passed): ${leftOut.join(', ')}\n`,
    );
  if (failed.size === 0) return;
  for (const [name, output] of failed) {
    const lines = listOfFailures(output).replace(totalLine, '').trim().split('\n');
    process.stderr.write(`\n── ${name}\n${lines.slice(0, maxLinesPerFailure).join('\n')}\n`);
  }
  process.stderr.write(`\nFailed: ${[...failed.keys()].join(', ')}\n`);
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
      pieces.push(Buffer.from(`\nEnded after ${maxMinutesPerFile} minutes: a test never ends.\n`));
      killWithItsOwn(child, 'SIGKILL');
    }, maxMinutesPerFile * 60_000);
    const end = (code) => {
      clearTimeout(deadline);
      children.delete(child);
      resolve({ code, output: Buffer.concat(pieces).toString() });
    };
    child.once('error', () => end(1));
    child.once('close', (code) => end(code ?? 1));
  });
}

/**
 * With the services and stores that it has started, which would keep ports and load the workers beside it; they are one
 * group.
 */
function killWithItsOwn({ pid }, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
