import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { assetPath } from '../../src/platform/assets.ts';

describe('the build', () => {
  for (const program of ['processes/supervisor', 'pipelines/exports/child-process'])
    it(`puts ${program} and its modules into one file and parts beside it`, () => {
      const code = readFileSync(new URL(`../../src/${program}.js`, import.meta.url), 'utf8');
      const imported = [...code.matchAll(/\bfrom "(\.[^"]*)"|\bimport\("(\.[^"]*)"\)/g)].map(
        ([, from, later]) => from ?? later ?? '',
      );
      const name = program.split('/').at(-1);
      assert.ok(imported.length > 0);
      assert.deepEqual(
        imported.filter((path) => !path.startsWith(`./${name}-`)),
        [],
      );
    });

  it('removes what interrupted builds have left, and nothing of other builds under way', async () => {
    const { removeAbandonedBuilds } = (await import(pathToFileURL(assetPath('scripts/prepare.mjs')).href)) as {
      removeAbandonedBuilds(folder: string): void;
    };
    const ended = spawnSync(process.execPath, ['--version']).pid;
    const kept = ['dist', 'dist.cache', `dist.${process.ppid}`, `dist.${process.ppid}.cache`, 'dist.old'];
    const folder = mkdtempSync(join(tmpdir(), 'builds-'));
    for (const name of [...kept, `dist.${ended}`, `dist.${ended}.cache`, `dist.${process.pid}`])
      mkdirSync(join(folder, name, 'src'), { recursive: true });
    removeAbandonedBuilds(folder);
    assert.deepEqual(readdirSync(folder).sort(), kept.sort());
    rmSync(folder, { recursive: true });
  });

  it('is the same in npm run build and in the image', () => {
    for (const file of ['package.json', 'Dockerfile'])
      assert.match(readFileSync(assetPath(file), 'utf8'), /&& node scripts\/bundle\.mjs dist/, file);
  });
});
