import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createSecrets, loadOrCreateSecret } from '../../../src/platform/secrets.ts';
import { StartError } from '../../../src/platform/start-error.ts';

describe('a secret of an installation', () => {
  const place = mkdtempSync(join(tmpdir(), 'survey-secrets-'));
  after(() => rmSync(place, { recursive: true, force: true }));

  it('is created once, in a folder that others cannot enter, below a DATA_DIR that PostgreSQL’s own user can pass', () => {
    const dataDir = join(place, 'deep', 'data');
    const secret = loadOrCreateSecret(dataDir, 'some-key');
    assert.ok(secret.length >= 43);
    assert.equal(loadOrCreateSecret(dataDir, 'some-key'), secret);
    const modes = [join(place, 'deep'), dataDir, join(dataDir, 'keys'), join(dataDir, 'keys', 'some-key')].map((path) =>
      (statSync(path).mode & 0o777).toString(8),
    );
    assert.deepEqual(modes, ['711', '711', '700', '600']);
  });

  it('that cannot be read names its folder and who must own it, as after a restore by root', () => {
    const dataDir = join(place, 'restored');
    const folder = join(dataDir, 'keys');
    mkdirSync(join(folder, 'some-key'), { recursive: true });
    assert.throws(
      () => loadOrCreateSecret(dataDir, 'some-key'),
      (error) =>
        error instanceof StartError &&
        error.message.startsWith(`the keys in ${folder} cannot be read and written: EISDIR`) &&
        error.message.endsWith('hand that folder over to the user who starts the service (chown -R), or make room'),
    );
  });
});

describe('the hash of an address', () => {
  it('is the same in every process with the key, and another one in each scope', () => {
    const [one, same, other] = [createSecrets('a key'), createSecrets('a key'), createSecrets('another key')];
    const address = '203.0.113.9';
    const hash = one.keyedHash('a survey', address);
    assert.match(hash, /^[\w-]{16}$/);
    assert.deepEqual(
      [one, same].map((secrets) => secrets.keyedHash('a survey', address)),
      [hash, hash],
    );
    assert.notEqual(other.keyedHash('a survey', address), hash);
    assert.notEqual(one.keyedHash('another survey', address), hash);
    for (let n = 0; n < 25_000; n += 1) one.keyedHash(`survey ${n % 50}`, `address ${n}`);
    assert.equal(one.keyedHash('a survey', address), hash);
  });
});

describe('the hashes of an invitation’s token', () => {
  it('are the same in every process with the key, and neither shows the other or the token', () => {
    const [one, same, other] = [createSecrets('a key'), createSecrets('a key'), createSecrets('another key')];
    const token = 'abcdefghijklmnopqrstuv';
    assert.deepEqual(one.invitationHash(token), same.invitationHash(token));
    assert.equal(one.invitationMark(token), same.invitationMark(token));
    assert.notDeepEqual(one.invitationHash(token), other.invitationHash(token));
    assert.notEqual(one.invitationMark(token), other.invitationMark(token));
    const texts = (['hex', 'base64url', 'latin1'] as const).map((encoding) =>
      one.invitationHash(token).toString(encoding),
    );
    assert.ok(texts.every((text) => !text.includes(one.invitationMark(token)) && !text.includes(token)));
    assert.equal(one.invitationMark(token).length, 16);
  });
});
