import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPostgresFallback } from '../../../src/actors/postgres-fallback.ts';
import { notFound, unavailable } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { OfNewerVersion } from '../../../src/stores/postgres/survey-rows.ts';

const none = async () => undefined;
const stored = async () => 'stored';
const away = unavailable('away');
const patienceMs = 20;
const againMs = 2000;

/** Asks for what PostgreSQL is `asked` by the test, at a time that stands still but for `nowMs`. */
function scene() {
  const world = { nowMs: 0, asked: 0, answer: async (): Promise<string> => 'read' };
  const ask = () => {
    world.asked += 1;
    return world.answer();
  };
  const postgresFallback = createPostgresFallback({
    log: createLog('silent'),
    monotonicMs: () => world.nowMs,
    waitMs: patienceMs,
    retryMs: againMs,
  });
  const failing = async () => Promise.reject(away);
  const orElse = (standIn: () => Promise<string | undefined>) => postgresFallback.ask(ask, standIn);
  return { world, failing, ask: orElse, attempt: () => postgresFallback.attempt(ask) };
}

describe('the fallback while PostgreSQL is away', () => {
  it('is not used while PostgreSQL replies, also with a refusal', async () => {
    const { world, ask } = scene();
    const never = () => assert.fail('not to be asked');
    assert.equal(await ask(never), 'read');
    for (const refusal of [notFound(), new OfNewerVersion(), new Error('a mistake')]) {
      world.answer = () => Promise.reject(refusal);
      await assert.rejects(ask(never), refusal);
    }
    world.answer = async () => 'read';
    assert.equal(await ask(never), 'read');
  });

  it('is used while PostgreSQL is away, which is queried again from time to time', async () => {
    const { world, failing, ask, attempt } = scene();
    world.answer = failing;
    for (let n = 0; n < 5; n += 1) assert.equal(await ask(stored), 'stored');
    attempt();
    assert.equal(world.asked, 1);
    world.nowMs += againMs;
    for (let n = 0; n < 5; n += 1) assert.equal(await ask(stored), 'stored');
    assert.equal(world.asked, 2);
    world.answer = async () => 'read';
    world.nowMs += againMs;
    attempt();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await ask(stored), 'read');
  });

  it('makes only the first callers wait for a PostgreSQL that hangs', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { world, ask } = scene();
    let goOn: (value: string) => void = () => undefined;
    world.answer = () =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    const first = ask(stored);
    mock.timers.tick(patienceMs);
    assert.equal(await first, 'stored');
    // No more time passes.
    for (let n = 0; n < 100; n += 1) assert.equal(await ask(stored), 'stored');
    assert.equal(world.asked, 1);
    goOn('late');
    world.answer = async () => 'read';
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await ask(stored), 'read');
  });

  it('leaves the reply to PostgreSQL if it finds nothing', async () => {
    const { world, failing, ask } = scene();
    world.answer = () => new Promise((resolve) => setTimeout(resolve, 3 * patienceMs, 'slow'));
    assert.deepEqual(await Promise.all([ask(none), ask(none)]), ['slow', 'slow']);
    world.answer = failing;
    await assert.rejects(ask(none), away);
    world.asked = 0;
    await assert.rejects(ask(none), away);
    assert.equal(world.asked, 0, 'told at once');
  });

  it('is not used because of a query that failed before a later one succeeded', async () => {
    const { world, ask } = scene();
    let fail: (error: unknown) => void = () => undefined;
    world.answer = () =>
      new Promise((_, reject) => {
        fail = reject;
      });
    const lost = ask(none);
    world.nowMs += 1;
    world.answer = async () => 'read';
    assert.equal(await ask(stored), 'read');
    fail(away);
    await assert.rejects(lost, away);
    assert.equal(await ask(stored), 'read');
  });
});
