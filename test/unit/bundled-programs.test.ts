import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
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

  it('is the same in npm run build and in the image', () => {
    for (const file of ['package.json', 'Dockerfile'])
      assert.match(readFileSync(assetPath(file), 'utf8'), /&& node scripts\/bundle\.mjs dist/, file);
  });
});
