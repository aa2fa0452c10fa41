import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as turn } from 'node:timers/promises';
import { createAnonymiserThread } from '../../src/ai/anonymiser.ts';
import { createSideThread } from '../../src/side-thread.ts';

/** Doubles numbers; fails at "fail", dies of "die", never answers to "hang". */
const body = new URL(`data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id, request }) => {
    if (request === 'hang') for (;;);
    if (request === 'die') throw new Error('dying');
    parentPort.postMessage(request === 'fail' ? { id, error: 'failed' } : { id, result: request * 2 });
  });`)}`);

describe('a thread of its own', () => {
  it('answers each request, also beside one that fails', async () => {
    const { ask } = createSideThread<unknown, number>({ body, name: 'the thread' });
    const [one, failed, two] = await Promise.allSettled([ask(1), ask('fail'), ask(2)]);
    assert.deepEqual([one, two], [{ status: 'fulfilled', value: 2 }, { status: 'fulfilled', value: 4 }]);
    assert.equal(failed?.status === 'rejected' && failed.reason.message, 'failed');
  });

  it('fails what was asked of it when it dies, and the next request starts another', async () => {
    const { ask } = createSideThread<unknown, number>({ body, name: 'the thread' });
    assert.equal(await ask(1), 2);
    const outcomes = await Promise.allSettled([ask('die'), ask(2)]);
    assert.deepEqual(outcomes.map(({ status }) => status), ['rejected', 'rejected']);
    assert.equal(await ask(3), 6);
  });

  it('is ended when it says nothing for too long, and the next request starts another', async () => {
    const { ask } = createSideThread<unknown, number>({ body, name: 'the thread', silentMs: 500 });
    await assert.rejects(ask('hang'), /the thread was silent for too long/);
    assert.equal(await ask(3), 6);
  });
});

describe('the anonymiser on a thread of its own', () => {
  const anonymiseAll = createAnonymiserThread();

  it('gives what is equal in one call the same placeholder, and knows nothing of it in the next', async () => {
    assert.deepEqual(await anonymiseAll(['Ask Sarah Connor', 'ann@example.org', 'or Sarah Connor, bob@example.org']), ['Ask [PERSON_1]', '[EMAIL_1]', 'or [PERSON_1], [EMAIL_2]']);
    assert.deepEqual(await anonymiseAll(['bob@example.org']), ['[EMAIL_1]']);
    assert.deepEqual(await anonymiseAll([]), []);
  });

  it('leaves the process to others while it looks for names', async () => {
    const texts = Array.from({ length: 60 }, (_, n) => `The Manager of the Canteen told Peter Miller that table ${n % 9} was free.`);
    let isOver = false;
    const masked = anonymiseAll(texts).finally(() => (isOver = true));
    let turns = 0;
    // A turn each millisecond: as many as there can be would take the thread's own time.
    for (; !isOver; turns += 1) await turn(1);
    assert.ok(turns > 20, `${turns} turns`);
    assert.ok((await masked).every((text) => text.includes('[PERSON_1]')));
  });
});
