import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { assetPath } from '../../src/platform/assets.ts';

/** Places that every other place may import; they import only each other. */
const base = ['platform', 'errors.ts', 'log.ts', 'metrics.ts', 'settings'];

/**
 * What each place may import besides itself. A place is a folder of `src`, a file at its root, or a file with a rule of
 * its own.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(base.map((place) => [place, base])),
  domain: ['errors.ts', 'platform'],
  auth: base,
  stores: ['domain', 'auth', ...base],
  'pipelines/queues.ts': ['domain', ...base],
  actors: ['domain', 'auth', 'stores', 'pipelines/queues.ts', ...base],
  webhooks: ['domain', 'stores', 'pipelines/queues.ts', ...base],
  // Provider addresses that are entered in the application pass the address guard of webhooks.
  ai: ['domain', 'stores', 'webhooks', 'pipelines/queues.ts', ...base],
  pipelines: ['domain', 'auth', 'stores', 'actors', 'ai', 'webhooks', 'pipelines/queues.ts', ...base],
  http: ['domain', 'auth', 'stores', 'actors', 'ai', 'webhooks', 'pipelines/queues.ts', ...base],
  // A program that uses the service as a client does.
  replay: ['domain', 'platform'],
  // A program that uses the stores of a running service.
  reconcile: ['domain', 'stores', 'actors', 'pipelines', ...base],
  'processes/supervisor.ts': ['service.ts', 'auth', 'processes', 'stores', ...base],
  processes: ['stores', ...base],
  'service.ts': [
    'domain',
    'auth',
    'stores',
    'actors',
    'ai',
    'webhooks',
    'pipelines',
    'pipelines/queues.ts',
    'http',
    ...base,
  ],
  'main.ts': ['processes/supervisor.ts'],
};

/** Packages that only some places may know. */
const homes: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['http'],
  xstate: ['actors'],
  bullmq: ['pipelines'],
  postgres: ['stores'],
  '@aws-sdk/client-s3': ['stores'],
  '@aws-sdk/lib-storage': ['stores'],
  '@clickhouse/client': ['stores'],
  chdb: ['stores'],
  compromise: ['ai'],
};
/** What pure code may use. */
const purePackages = ['zod', 're2js'];

interface Import {
  from: string;
  /** A file of `src`, or a package. */
  to: string;
  isRelative: boolean;
  isTypeOnly: boolean;
}

const source = assetPath('src');
const files = readdirSync(source, { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.ts'))
  .sort();

const statement = /^(?:import|export)\b(\s+type\b)?(?:[^'";]*?\bfrom)?\s*'([^']+)'/gm;
const inline = /\bimport\('([^']+)'\)/g;

function importsOf(file: string): Import[] {
  const text = readFileSync(join(source, file), 'utf8');
  const found = [
    ...[...text.matchAll(statement)].map(([, type, specifier = '']) => ({ specifier, isTypeOnly: type !== undefined })),
    // As a type; loading at run time is `await import(…)`.
    ...[...text.matchAll(inline)].map((match) => ({
      specifier: match[1] ?? '',
      isTypeOnly: !/await $/.test(text.slice(0, match.index)),
    })),
  ];
  const seen = text
    .split('\n')
    .filter((line) => /^(?:import|export|\}).*\bfrom '|^import '|\bimport\('/.test(line)).length;
  assert.equal(found.length, seen, `${file}: ${seen} lines look like imports, ${found.length} were read`);
  return found.map(({ specifier, isTypeOnly }) => {
    const isRelative = specifier.startsWith('.');
    return {
      from: file,
      to: isRelative ? normalize(join(dirname(file), specifier)) : specifier,
      isRelative,
      isTypeOnly,
    };
  });
}

function placeOf(file: string): string {
  if (file in mayImport) return file;
  const [first = ''] = file.split('/');
  assert.ok(first in mayImport, `${file} lies in a place without a rule: say in this test what it may import`);
  return first;
}

const imports = files.flatMap(importsOf);

describe('imports', () => {
  it('lie in known places and name files that exist, by their .ts ending', () => {
    assert.ok(files.length > 50 && imports.length > files.length, 'the source tree was found');
    for (const file of files) placeOf(file);
    for (const { from, to, isRelative } of imports)
      if (isRelative) assert.ok(to.endsWith('.ts') && existsSync(join(source, to)), `${from} imports ${to}`);
  });

  it('point one way between the places of the source tree', () => {
    const wrong = imports.filter(({ from, to, isRelative }) => {
      if (!isRelative) return false;
      const [own, other] = [placeOf(from), placeOf(to)];
      return own !== other && !mayImport[own]?.includes(other);
    });
    assert.deepEqual(
      wrong.map(({ from, to }) => `${from} must not import ${to}`),
      [],
    );
  });

  it('have rules that are themselves without a cycle', () => {
    const edges = Object.entries(mayImport).flatMap(([from, others]) =>
      others.filter((to) => to !== from && !base.includes(to)).map((to) => [from, to] as const),
    );
    assert.deepEqual(cyclesIn(edges), []);
  });

  it('never form a cycle, imports of types included', () => {
    assert.deepEqual(
      cyclesIn(imports.filter(({ isRelative }) => isRelative).map(({ from, to }) => [from, to] as const)),
      [],
    );
  });

  it('keep packages where they belong, and the domain pure', () => {
    for (const { from, to, isRelative } of imports) {
      if (isRelative) continue;
      const place = placeOf(from);
      const allowed = homes[to];
      if (allowed) assert.ok(allowed.includes(place), `${from} must not import ${to}`);
      if (place === 'domain') assert.ok(purePackages.includes(to), `${from} must not import ${to}: the domain is pure`);
    }
  });
});

describe('the HTTP engine', () => {
  it('is loaded by one file, from which all others take it; they import types only', () => {
    const load = /existsSync\(correctedCopy\) \? correctedCopy : 'uWebSockets\.js'/;
    assert.match(readFileSync(join(source, 'http/server/uwebsockets.ts'), 'utf8'), load);
    for (const folder of ['src', 'test', 'bench'])
      for (const name of readdirSync(assetPath(folder), { recursive: true })
        .map(String)
        .filter((file) => file.endsWith('.ts')))
        assert.doesNotMatch(
          readFileSync(join(assetPath(folder), name), 'utf8'),
          /^import (?!type\b).*from 'uWebSockets\.js'/m,
          `${folder}/${name}`,
        );
  });
});

/** The circles among edges, each as the path around it; found by walking depth first. */
function cyclesIn(edges: readonly (readonly [string, string])[]): string[] {
  const next = new Map<string, string[]>();
  for (const [from, to] of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const cycles: string[] = [];
  const walk = (node: string, path: readonly string[]): void => {
    const at = path.indexOf(node);
    if (at >= 0) return void cycles.push([...path.slice(at), node].join(' → '));
    if (done.has(node)) return;
    for (const to of next.get(node) ?? []) walk(to, [...path, node]);
    done.add(node);
  };
  for (const node of next.keys()) walk(node, []);
  return cycles;
}
