import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assetPath } from '../../src/assets.ts';

const compose = readFileSync(assetPath('docker-compose.yml'), 'utf8');
const settings = readFileSync(assetPath('src/settings.ts'), 'utf8');

/** The names in the block that all roles share. */
const shared = [...(/^x-environment:[\s\S]*?\n\n/m.exec(compose)?.[0] ?? '').matchAll(/^ {2}([A-Z0-9_]+):/gm)].map(([, name]) => name ?? '');

test('docker-compose.yml passes all roles the settings of uploads, and no name that is none', () => {
  const uploads = [...settings.matchAll(/^ {2}(UPLOAD_[A-Z0-9_]+):/gm)].map(([, name]) => name ?? '');
  assert.ok(uploads.length >= 7, String(uploads));
  assert.deepEqual(uploads.filter((name) => !shared.includes(name)), []);
  assert.deepEqual(shared.filter((name) => !settings.includes(`  ${name}:`)), []);
});
