import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { createLog } from '../../../src/log.ts';
import { startSchedule } from '../../../src/pipelines/schedule.ts';

const log = createLog('silent');
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the schedule', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval'] }));
  afterEach(() => mock.timers.reset());

  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      mock.timers.tick(500);
      await turn();
    }
  };

  it('runs every task soon after the start, staggered, however rare it is', async () => {
    const runs: string[] = [];
    const task = (name: string, everyMs: number) => ({ name, everyMs, run: async () => void runs.push(name) });
    const schedule = startSchedule([task('hourly', 3_600_000), task('daily', 86_400_000), task('each second', 1000)], {
      log,
    });
    await pass(20_000);
    assert.deepEqual(
      runs.filter((name) => name !== 'each second'),
      ['hourly', 'daily'],
    );
    assert.ok(runs.filter((name) => name === 'each second').length >= 19);
    await pass(3_600_000);
    assert.deepEqual(
      runs.filter((name) => name !== 'each second'),
      ['hourly', 'daily', 'hourly'],
    );
    await schedule.stop();
  });

  it('begins no rare task once the process is told to stop, and others until its own stop', async () => {
    const draining = new AbortController();
    const runs: string[] = [];
    const task = (name: string, everyMs: number) => ({ name, everyMs, run: async () => void runs.push(name) });
    const schedule = startSchedule([task('each minute', 60_000), task('each second', 1000)], {
      log,
      draining: draining.signal,
    });
    draining.abort();
    await pass(120_000);
    assert.deepEqual(
      runs,
      Array.from({ length: 120 }, () => 'each second'),
    );
    await schedule.stop();
  });

  it('writes a few lines of a task that fails several times a second, and those of another beside them', async () => {
    const lines: unknown[] = [];
    const schedule = startSchedule(
      ['frequent', 'other'].map((name) => ({ name, everyMs: 500, run: async () => Promise.reject(new Error('away')) })),
      { log: { warn: ({ task }: { task: string }) => void lines.push(task) } as never },
    );
    await pass(5000);
    await schedule.stop();
    assert.deepEqual(lines.toSorted(), ['frequent', 'frequent', 'frequent', 'other', 'other', 'other']);
  });

  it('takes what a stop cuts short for no failure', async () => {
    const lines: unknown[] = [];
    const stopping = new AbortController();
    const run = () =>
      new Promise<void>((_, reject) => stopping.signal.addEventListener('abort', () => reject(new Error('stopped'))));
    const schedule = startSchedule([{ name: 'cut', everyMs: 500, run }], {
      log: { warn: (line: unknown) => void lines.push(line) } as never,
    });
    await pass(1000);
    const stopped = schedule.stop();
    stopping.abort();
    await stopped;
    assert.deepEqual(lines, []);
  });

  it('names the tasks that keep its stop waiting for more than a second', async () => {
    const lines: unknown[] = [];
    const endings = new Map<string, () => void>();
    const task = (name: string) => ({
      name,
      everyMs: 500,
      run: () => new Promise<void>((resolve) => void endings.set(name, resolve)),
    });
    const schedule = startSchedule(['long', 'short', 'longer'].map(task), {
      log: { info: (fields: object, message: string) => void lines.push([fields, message]) } as never,
    });
    await pass(500);
    const stopped = schedule.stop();
    endings.get('short')?.();
    await pass(1000);
    endings.get('long')?.();
    endings.get('longer')?.();
    await stopped;
    assert.deepEqual(lines, [[{ tasks: ['long', 'longer'] }, 'the stop waits for scheduled tasks']]);
  });

  it('never runs a task twice at once, survives its failures, and waits for it when it stops', async () => {
    const [finish, fail]: [(() => void)[], ((error: Error) => void)[]] = [[], []];
    const schedule = startSchedule(
      [
        {
          name: 'long',
          everyMs: 1000,
          run: () =>
            new Promise<void>((resolve, reject) => {
              finish.push(resolve);
              fail.push(reject);
            }),
        },
      ],
      { log },
    );
    await pass(10_000);
    assert.equal(finish.length, 1);
    fail[0]?.(new Error('broken'));
    await pass(1500);
    assert.equal(finish.length, 2);
    let isStopped = false;
    const stopped = schedule.stop().then(() => {
      isStopped = true;
      return isStopped;
    });
    await turn();
    assert.equal(isStopped, false);
    finish[1]?.();
    await stopped;
    await pass(5000);
    assert.equal(finish.length, 2);
  });
});
