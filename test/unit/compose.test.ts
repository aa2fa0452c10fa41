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

test('docker-compose.yml gives up vanished clients as soon as the README says', () => {
  const readme = readFileSync(assetPath('README.md'), 'utf8');
  const [, named] = /`net\.ipv4\.tcp_retries2=(\d+)`/.exec(readme) ?? [];
  const [, set] = /^ {2}http:[\s\S]*?net\.ipv4\.tcp_retries2: "(\d+)"[\s\S]*?^ {2}ingest:/m.exec(compose) ?? [];
  assert.ok(named !== undefined);
  assert.equal(set, named);
});
