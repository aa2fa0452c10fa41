// The set-up that every command shares: right Node, locked packages, a build of the present sources.
// Plain JavaScript without dependencies: it runs on a bare checkout.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { correctEngine, originalEngine } from './correct-engine.mjs';
import { correctPostgres } from './correct-postgres.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
const inRoot = (...parts) => join(root, ...parts);
const stampFile = inRoot('dist', '.built');

/** Ends with one line and exit code 1 if something is missing that only a person can supply. */
export function prepare() {
  checkNode();
  // The container image holds what was built, without its configuration: there is nothing to install or build.
  if (!existsSync(inRoot('tsconfig.json'))) return;
  installPackages();
  build();
}

/** Not for tests: they must not reach the stores of a real installation. What the environment already has stays. */
export function loadSettingsFile() {
  if (!existsSync(inRoot('.env'))) return;
  try {
    process.loadEnvFile(inRoot('.env'));
  } catch (error) {
    stop(`The settings in .env cannot be read: ${error.message}`);
  }
}

export function stop(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const isKnown = (major === 20 && minor >= 19) || major === 21 || major === 22;
  if (!isKnown) stop(`Node ${process.versions.node} is not supported: use Node 20 (20.19 or newer)`);
}

function installPackages() {
  const lock = inRoot('package-lock.json');
  const installed = inRoot('node_modules', '.package-lock.json');
  if (existsSync(installed) && changedAt(installed) >= changedAt(lock)) return;
  // Installing would empty the folder that it points to.
  if (lstatSync(inRoot('node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) return;
  process.stderr.write('Installing the locked packages …\n');
  // "npm ci" refuses a lock that lacks an optional package for another system, as a registry that does not carry it
  // makes them; "npm install" then takes the same locked versions.
  if (npm('ci') || npm('install', '--no-save')) return;
  stop('The packages cannot be installed: see what npm said above');
}

/** True if it succeeded. npm's own output goes to standard error: standard output is the service's. */
function npm(...args) {
  return (
    spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' }).status === 0
  );
}

/**
 * Builds in `dist.cache`, where the compiler finds what it made before and only does what has changed, and copies the
 * result. The copy is made beside dist and then swapped: deleted sources leave nothing behind, a failed build changes
 * nothing, and a service that runs from dist is without its files for an instant only.
 */
function build() {
  const state = sourceState();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === state.join('\n')) return;
  process.stderr.write('Building …\n');
  removeAbandonedBuilds(root);
  const [cache, draft] = [inRoot(`dist.${process.pid}.cache`), inRoot(`dist.${process.pid}`)];
  // A second build at the same time finds no cache, and makes one of its own.
  if (existsSync(inRoot('dist.cache'))) tryRename(inRoot('dist.cache'), cache);
  const isCompiled = compile(cache) && buildWeb(cache, state);
  if (isCompiled) copyBuild(cache, draft);
  const isBuilt = isCompiled && node(inRoot('scripts', 'bundle.mjs'), draft);
  if (isBuilt) {
    correctEngine(draft);
    correctPostgres(draft);
    writeFileSync(join(draft, '.built'), state.join('\n'));
    rmSync(inRoot('dist'), { recursive: true, force: true });
    renameSync(draft, inRoot('dist'));
  } else rmSync(draft, { recursive: true, force: true });
  if (!tryRename(cache, inRoot('dist.cache'))) rmSync(cache, { recursive: true, force: true });
  if (!isBuilt) stop('The build failed');
}

/** Removes what interrupted builds have left in the folder, also under the number that this process has now. */
export function removeAbandonedBuilds(folder) {
  for (const name of readdirSync(folder)) {
    const builder = Number(/^dist\.(\d+)(\.cache)?$/.exec(name)?.[1]);
    const isAbandoned = builder === process.pid || (builder > 0 && !isRunning(builder));
    if (isAbandoned) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

const node = (...args) => spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] }).status === 0;

const compile = (cache) =>
  node(
    compiler(),
    ...['-p', inRoot('tsconfig.json'), '--outDir', cache],
    ...['--incremental', '--tsBuildInfoFile', join(cache, '.tsbuildinfo')],
  );

/** Builds the pages again if anything that they are made of has changed. */
function buildWeb(cache, state) {
  const webState = state.filter((line) => /^(web|client|src[/\\]domain|package-lock)/.test(line)).join('\n');
  const stamp = join(cache, '.web-built');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === webState) return true;
  rmSync(stamp, { force: true });
  const isBuilt = node(inRoot('web', 'build.mjs'), join(cache, 'web'));
  if (isBuilt) writeFileSync(stamp, webState);
  return isBuilt;
}

/** Copies what was made of sources that are still there. */
function copyBuild(cache, draft) {
  const compiled = ['src', 'test', 'bench']
    .flatMap((dir) => filesBelow(inRoot(dir)))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => file.slice(root.length).replace(/\.ts$/, '.js'))
    .flatMap((file) => [file, `${file}.map`]);
  for (const dir of new Set(compiled.map(dirname))) mkdirSync(join(draft, dir), { recursive: true });
  for (const file of compiled) copyFileSync(join(cache, file), join(draft, file));
  cpSync(join(cache, 'web'), join(draft, 'web'), { recursive: true });
}

function tryRename(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function compiler() {
  const { bin } = JSON.parse(readFileSync(inRoot('node_modules', 'typescript', 'package.json'), 'utf8'));
  return inRoot('node_modules', 'typescript', typeof bin === 'string' ? bin : bin.tsc);
}

/** Name, size and time of every file that the build reads: a moved or deleted one counts as a change too. */
function sourceState() {
  const files = ['src', 'test', 'bench', 'web', 'client/src'].flatMap((dir) => filesBelow(inRoot(dir)));
  const scripts = ['bundle.mjs', 'correct-engine.mjs', 'correct-postgres.mjs'].map((name) => inRoot('scripts', name));
  const engine = existsSync(originalEngine) ? [originalEngine] : [];
  return [...files, ...scripts, ...engine, inRoot('tsconfig.json'), inRoot('package-lock.json')]
    .map((file) => [file.slice(root.length), statSync(file).size, changedAt(file)].join(' '))
    .sort();
}

function filesBelow(dir) {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|tsx|mjs|json|css|html|svg)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[/\\](node_modules|dist)[/\\]|client[/\\]src[/\\]schema\.ts$/.test(file));
}

function changedAt(file) {
  return statSync(file).mtimeMs;
}
