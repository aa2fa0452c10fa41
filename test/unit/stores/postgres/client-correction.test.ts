import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { assetPath } from '../../../../src/platform/assets.ts';

interface Corrector {
  corrections: Record<string, { what: string; original: string; corrected: string }[]>;
  corrected(file: string, text: string): string;
}

const { corrections, corrected } = (await import(
  pathToFileURL(assetPath('scripts/correct-postgres.mjs')).href
)) as Corrector;

describe('the corrections of postgres.js', () => {
  it('each match one place of the installed package', () => {
    for (const [file, changes] of Object.entries(corrections)) {
      const text = corrected(file, readFileSync(join(assetPath('node_modules/postgres/cjs/src'), file), 'utf8'));
      for (const { what, corrected: replacement } of changes) assert.ok(text.includes(replacement), `${file}: ${what}`);
    }
  });

  it('refuse an unexpected source text', () => {
    assert.throws(() => corrected('connection.js', 'function Connection() {}'), /has 0 places for/);
  });
});
