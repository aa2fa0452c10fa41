import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { hash } from '@node-rs/argon2';
import { createPasswords } from '../../../src/auth/passwords.ts';

describe('passwords', () => {
  const passwords = createPasswords();
  // Hashing is dear, and gives way to all else that the machine does.
  const hashed = passwords.hash('sesame open');

  it('are stored as argon2id with 19 MiB, two passes and one lane', async () => {
    const stored = await hashed;
    assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.deepEqual(await passwords.check('sesame open', stored), { isMatch: true, isStale: false });
    assert.deepEqual(await passwords.check('sesame Open', stored), { isMatch: false, isStale: false });
  });

  it('are equal in every Unicode spelling', async () => {
    const stored = await passwords.hash('caf\u00e9 \uff11\uff12\uff13');
    assert.equal((await passwords.check('cafe\u0301 123', stored)).isMatch, true);
  });

  it('are hashed on a thread of lower priority', {
    skip: process.platform === 'linux' ? false : 'Linux alone tells how nice a thread is',
  }, async () => {
    await hashed;
    const niceness = readdirSync('/proc/self/task').map((thread) =>
      Number(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]),
    );
    assert.ok(Math.max(...niceness) - Math.min(...niceness) >= 10, niceness.join(' '));
  });

  it('with an invalid stored hash are an error, after which the next check works', async () => {
    await assert.rejects(passwords.check('sesame open', '$argon2id$nonsense'));
    assert.equal((await passwords.check('sesame open', await hashed)).isMatch, true);
  });

  it('never match for an unknown account', async () => {
    assert.equal((await passwords.check('', undefined)).isMatch, false);
    assert.equal((await passwords.check('anything at all', undefined)).isMatch, false);
  });

  it('hashed with weaker parameters are reported as stale', async () => {
    const stored = await hash('sesame open', { memoryCost: 8192, timeCost: 1, parallelism: 1 });
    assert.deepEqual(await passwords.check('sesame open', stored), { isMatch: true, isStale: true });
  });
});
