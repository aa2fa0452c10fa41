import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createAnonymiserWorker } from '../../../src/ai/privacy/anonymise-in-worker.ts';
import { createWorkerThread } from '../../../src/platform/worker-thread.ts';

/**
 * Doubles numbers; fails at "fail", dies of "die", never answers to "hang", and sends four heartbeats at "long", after
 * each of which it waits for the test. `workerData` counts its hangs and heartbeats, and those that the test has seen.
 */
const body = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort, workerData as shared } from 'node:worker_threads';
  parentPort.on('message', ({ id, request }) => {
    if (request === 'hang') for (Atomics.add(shared, 0, 1); ; );
    if (request === 'long') for (let beats = 0; beats < 4; beats += 1) {
      parentPort.postMessage({ id, isInProgress: true });
      Atomics.add(shared, 0, 1);
      Atomics.wait(shared, 1, beats);
    }
    if (request === 'die') throw new Error('dying');
    parentPort.postMessage(request === 'fail' ? { id, error: 'failed' } : { id, result: request === 'long' ? 1 : request * 2 });
  });`)}`,
);

const heartbeatTimeoutMs = 2000;

/** A thread that may be silent for two seconds, and its `workerData`. */
function timedThread() {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const options = { script: body, name: 'the thread', heartbeatTimeoutMs, data: shared };
  return { ...createWorkerThread<unknown, number>(options), shared };
}

describe('a worker thread', () => {
  it('replies to each request, also if another one fails', async () => {
    const { run } = createWorkerThread<unknown, number>({ script: body, name: 'the thread' });
    const [one, failed, two] = await Promise.allSettled([run(1), run('fail'), run(2)]);
    assert.deepEqual(
      [one, two],
      [
        { status: 'fulfilled', value: 2 },
        { status: 'fulfilled', value: 4 },
      ],
    );
    assert.equal(failed?.status === 'rejected' && failed.reason.message, 'failed');
  });

  it('fails the running request when it dies, and a new thread continues with the rest', async () => {
    const { run } = createWorkerThread<unknown, number>({ script: body, name: 'the thread' });
    assert.equal(await run(1), 2);
    const outcomes = await Promise.allSettled([run(2), run('die'), run(3), run('die'), run(4)]);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason))),
      [4, 'Error: dying', 6, 'Error: dying', 8],
    );
    assert.equal(await run(5), 10);
  });

  it('is terminated when it sends nothing for too long, and a new thread continues with the rest', async ({ mock }) => {
    // The time passes when the test says so: on a busy machine it might pass before the new thread replies.
    mock.timers.enable({ apis: ['setTimeout'] });
    const { run, shared } = timedThread();
    const waiting = run('hang');
    const others = [run(3), run(4)];
    while (Atomics.load(shared, 0) === 0) await turn();
    mock.timers.tick(heartbeatTimeoutMs);
    await assert.rejects(waiting, /the thread was silent for too long/);
    assert.deepEqual(await Promise.all(others), [6, 8]);
    assert.equal(await run(5), 10);
  });

  it('is not terminated while a long request sends heartbeats', async ({ mock }) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { run, shared } = timedThread();
    const long = run('long');
    let isOver = false;
    void long.catch(() => (isOver = true));
    for (let beats = 1; beats <= 4; beats += 1) {
      while (!isOver && Atomics.load(shared, 0) < beats) await turn();
      // The heartbeat has been sent, and is read in this turn.
      await turn();
      mock.timers.tick(heartbeatTimeoutMs - 1);
      Atomics.store(shared, 1, beats);
      Atomics.notify(shared, 1);
    }
    assert.equal(await long, 1);
  });

  it('fails a request that cannot be sent to it, and no other', async () => {
    const { run } = createWorkerThread<unknown, number>({ script: body, name: 'the thread' });
    const [cannot, one] = await Promise.allSettled([run(() => undefined), run(1)]);
    assert.deepEqual([cannot?.status, one], ['rejected', { status: 'fulfilled', value: 2 }]);
  });

  it('fails each request if its script cannot be loaded', async () => {
    const { run } = createWorkerThread<unknown, number>({
      script: new URL('data:text/javascript,throw new Error("no module")'),
      name: 'the thread',
    });
    const outcomes = await Promise.allSettled([run(1), run(2), run(3)]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason)),
      ['Error: no module', 'Error: no module', 'Error: no module'],
    );
  });
});

describe('the anonymiser on a worker thread', () => {
  const anonymiseAll = createAnonymiserWorker();

  it('gives equal parts of one call the same placeholder, and remembers nothing for the next call', async () => {
    assert.deepEqual(await anonymiseAll(['Ask Sarah Connor', 'ann@example.org', 'or Sarah Connor, bob@example.org']), [
      'Ask [PERSON_1]',
      '[EMAIL_1]',
      'or [PERSON_1], [EMAIL_2]',
    ]);
    assert.deepEqual(await anonymiseAll(['bob@example.org']), ['[EMAIL_1]']);
    assert.deepEqual(await anonymiseAll([]), []);
  });

  it('does not block the process while it looks for names', async () => {
    const texts = Array.from(
      { length: 60 },
      (_, n) => `The Manager of the Canteen told Peter Miller that table ${n % 9} was free.`,
    );
    let isOver = false;
    const masked = anonymiseAll(texts).finally(() => {
      isOver = true;
      return isOver;
    });
    let turns = 0;
    // A turn each millisecond: as many as there can be would take the thread's own time.
    for (; !isOver; turns += 1) await wait(1);
    assert.ok(turns > 20, `${turns} turns`);
    assert.ok((await masked).every((text) => text.includes('[PERSON_1]')));
  });

  it('lowers its priority only when it is loaded and warm, since loading at low priority could take minutes', {
    skip: process.platform !== 'linux',
  }, async () => {
    const lowered = async () => {
      const stats = await Promise.all(
        (await readdir('/proc/self/task')).map((thread) =>
          readFile(`/proc/self/task/${thread}/stat`, 'utf8').catch(() => ''),
        ),
      );
      // The 19th field, of which the second may hold spaces.
      return stats.filter(
        (stat) =>
          Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]) === constants.priority.PRIORITY_BELOW_NORMAL,
      ).length;
    };
    const before = await lowered();
    const another = createAnonymiserWorker();
    await another(['Ask Peter Miller']);
    assert.equal(await lowered(), before);
    await another(Array.from({ length: 10 }, (_, n) => `Ask Peter Miller at table ${n}`));
    assert.equal(await lowered(), before + 1);
  });

  it('sends no heartbeat for short requests', async () => {
    const script = new URL('../../../src/ai/privacy/anonymise-worker.js', import.meta.url);
    // Its clock stands still: a busy machine may hold it for as long as a long request takes.
    const body = `performance.now = () => 0; await import(${JSON.stringify(script)});`;
    const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(body)}`));
    const said: unknown[] = [];
    thread.on('message', (reply) => said.push(reply));
    const ask = async (request: string[]): Promise<void> => {
      thread.postMessage({ id: 7, request });
      for (let isOver = false; !isOver; ) isOver = 'result' in (await once(thread, 'message'))[0];
    };
    await ask(['It may be loading for long']);
    said.length = 0;
    await ask(['one', 'two']);
    await thread.terminate();
    assert.deepEqual(said, [{ id: 7, result: ['one', 'two'] }]);
  });
});
