import { hash } from '@node-rs/argon2';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createFreshCache } from '../../src/auth/fresh-cache.ts';
import { createGate } from '../../src/gate.ts';
import { createPasswords, isPasswordLength } from '../../src/auth/passwords.ts';
import { createRecentMap } from '../../src/recent-map.ts';
import { Problem } from '../../src/errors.ts';

describe('passwords', () => {
  const passwords = createPasswords();
  // Hashing is dear, and gives way to all else that the machine does.
  const hashed = passwords.hash('sesame open');

  it('are kept as argon2id with 19 MiB, two passes and one lane', async () => {
    const stored = await hashed;
    assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.deepEqual(await passwords.check('sesame open', stored), { isMatch: true, isStale: false });
    assert.deepEqual(await passwords.check('sesame Open', stored), { isMatch: false, isStale: false });
  });

  it('are the same in every Unicode spelling', async () => {
    const stored = await passwords.hash('caf\u00e9 \uff11\uff12\uff13');
    assert.equal((await passwords.check('cafe\u0301 123', stored)).isMatch, true);
  });

  it('are hashed on a thread that gives way to all others', { skip: process.platform !== 'linux' }, async () => {
    await hashed;
    const niceness = readdirSync('/proc/self/task').map((thread) => Number(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]));
    assert.ok(Math.max(...niceness) - Math.min(...niceness) >= 10, niceness.join(' '));
  });

  it('whose stored hash makes no sense are an error, after which the next is checked as ever', async () => {
    await assert.rejects(passwords.check('sesame open', '$argon2id$nonsense'));
    assert.equal((await passwords.check('sesame open', await hashed)).isMatch, true);
  });

  it('never match where there is no account', async () => {
    assert.equal((await passwords.check('', undefined)).isMatch, false);
    assert.equal((await passwords.check('anything at all', undefined)).isMatch, false);
  });

  it('hashed with weaker parameters are told to be stale', async () => {
    const stored = await hash('sesame open', { memoryCost: 8192, timeCost: 1, parallelism: 1 });
    assert.deepEqual(await passwords.check('sesame open', stored), { isMatch: true, isStale: true });
  });

  it('have 8 to 200 characters, counted as people count them', () => {
    assert.deepEqual(['1234567', '12345678', '😀'.repeat(7), '😀'.repeat(8), 'a'.repeat(200), 'a'.repeat(201), '😀'.repeat(200), '😀'.repeat(201)].map(isPasswordLength), [
      false, true, false, true, true, false, true, false,
    ]);
  });
});

describe('the gate', () => {
  it('runs a few at once, lets a few wait in order and refuses the rest', async () => {
    const gate = createGate({ atOnce: 2, waiting: 3, retryAfterSeconds: 7, refusal: 'Too many at this moment' });
    const [started, finish]: [number[], (() => void)[]] = [[], []];
    const work = Array.from({ length: 5 }, (_, n) => gate.run(() => new Promise<number>((resolve) => (started.push(n), finish.push(() => resolve(n))))));
    await assert.rejects(gate.run(async () => 0), (error) => error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE' && error.retryAfterSeconds === 7);
    assert.throws(gate.assertRoom, /at this moment/);
    for (let n = 0; n < 5; n += 1) {
      assert.deepEqual(started, [0, 1, 2, 3, 4].slice(0, n + 2));
      finish[n]?.();
      assert.equal(await work[n], n);
      await new Promise(setImmediate);
    }
    gate.assertRoom();
    assert.equal(await gate.run(async () => 9), 9);
  });

  it('is left by work that fails', async () => {
    const gate = createGate({ atOnce: 1, waiting: 0, retryAfterSeconds: 1, refusal: 'Too many at this moment' });
    for (let n = 0; n < 3; n += 1) await assert.rejects(gate.run(() => Promise.reject(new Error('broken'))), /broken/);
    assert.equal(await gate.run(async () => 1), 1);
  });
});

describe('the fresh cache', () => {
  const setUp = () => {
    const state = { nowMs: 0, asked: 0, answer: 'a' as string | Error };
    const load = async () => {
      state.asked += 1;
      if (state.answer instanceof Error) throw state.answer;
      return state.answer;
    };
    return { state, cache: createFreshCache({ maxAgeMs: 800, capacity: 10, load, monotonicMs: () => state.nowMs }) };
  };

  it('asks once for all who ask at the same time, and again when the answer is old', async () => {
    const { state, cache } = setUp();
    assert.deepEqual(await Promise.all([cache.get('k'), cache.get('k'), cache.get('k')]), ['a', 'a', 'a']);
    assert.equal(state.asked, 1);
    [state.nowMs, state.answer] = [799, 'b'];
    assert.equal(await cache.get('k'), 'a');
    state.nowMs = 800;
    assert.equal(await cache.get('k'), 'b');
  });

  it('does not keep failures, nor what it was told to forget while asking', async () => {
    const { state, cache } = setUp();
    state.answer = new Error('away');
    await assert.rejects(cache.get('k'), /away/);
    state.answer = 'a';
    const early = cache.get('k');
    cache.forgetAll();
    state.answer = 'b';
    assert.equal(await cache.get('k'), 'b');
    assert.equal(await early, 'a');
    assert.equal(await cache.get('k'), 'b');
  });
});

describe('the recent map', () => {
  it('stays bounded and keeps what is read', () => {
    const map = createRecentMap<number>(100);
    map.set('kept', -1);
    for (let n = 0; n < 10_000; n += 1) {
      map.set(`k${n}`, n);
      assert.equal(map.get('kept'), -1);
      assert.ok(map.size <= 200);
    }
    assert.equal(map.get('k9999'), 9999);
    assert.equal(map.get('k0'), undefined);
    map.delete('kept');
    assert.equal(map.get('kept'), undefined);
  });
});
