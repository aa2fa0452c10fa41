import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type WebPage, webFolder } from '../../src/http/web-files.ts';

interface Chunk {
  file: string;
  imports?: string[];
  css?: string[];
  isEntry?: boolean;
}

/** Bytes, as gzip makes them, of what must be loaded before these modules run: scripts and style sheets. */
function sizeOf(page: WebPage, modules: readonly string[]): { script: number; style: number } {
  const manifest = JSON.parse(readFileSync(webFolder(page, '.vite', 'manifest.json'), 'utf8')) as Record<string, Chunk>;
  const gzipBytes = (file: string) => statSync(webFolder(page, `${file}.gz`)).size;
  const loaded = new Set<string>();
  const load = (name: string): void => {
    if (loaded.has(name)) return;
    loaded.add(name);
    for (const needed of manifest[name]?.imports ?? []) load(needed);
  };
  const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry);
  for (const name of [entry ?? '', ...modules]) {
    assert.ok(manifest[name], `the build of ${page} has no ${name}`);
    load(name);
  }
  const chunks = [...loaded].flatMap((name) => manifest[name] ?? []);
  const sum = (files: readonly string[]) => [...new Set(files)].reduce((total, file) => total + gzipBytes(file), 0);
  return { script: sum(chunks.map(({ file }) => file)), style: sum(chunks.flatMap(({ css = [] }) => css)) };
}

const kilobyte = 1000;

describe('the sizes of the pages', () => {
  const firstScreens = {
    'the sign-in': ['screens/sign-in/sign-in.tsx'],
    'the list of surveys': ['app/shell.tsx', 'screens/surveys/surveys.tsx'],
  };
  for (const [name, modules] of Object.entries(firstScreens))
    it(`of the console: ${name} needs at most 180 KB of script`, () => {
      const { script } = sizeOf('console', modules);
      assert.ok(script <= 180 * kilobyte, `${script} bytes`);
    });

  it('of the respondent’s page: at most 35 KB of script, which leaves 60 KB in all to 30 questions', () => {
    const { script, style } = sizeOf('page', []);
    assert.ok(script <= 35 * kilobyte, `${script} bytes`);
    // The document of 30 questions has 8 KB; bench:pages measures it all.
    assert.ok(script + style <= 48 * kilobyte, `${script + style} bytes`);
  });
});
