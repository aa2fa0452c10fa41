import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { CachedSurvey } from '../../../../src/actors/survey-cache.ts';
import { createLog } from '../../../../src/log.ts';
import { quotaCountTasks } from '../../../../src/pipelines/maintenance/count-turns.ts';

type Need = 'FROZEN' | 'NEW' | 'AGAIN' | undefined;

/** Surveys by why they must be counted; each count lasts until `end`. */
function startTurns(needs: Record<string, Need>) {
  let nowMs = 0;
  const begun: string[] = [];
  const open = new Map<string, (isCounted: boolean) => void>();
  const wanted = new Set(Object.keys(needs).filter((id) => needs[id]));
  /** Surveys of which the intake can be told nothing. */
  const unreachable = new Set<string>();
  const tasks = quotaCountTasks({
    async count({ survey: { id } }) {
      begun.push(id);
      const isCounted = await new Promise<boolean>((resolve) => open.set(id, resolve));
      if (!isCounted) throw new Error('the response store is slow');
      needs[id] = undefined;
      wanted.delete(id);
      return true;
    },
    actors: { sync: async (id) => ({ survey: { id, quotas: [{ isActive: true }] } }) as unknown as CachedSurvey },
    intake: {
      quotas: {
        surveysToCount: async () => [...wanted],
        areUnknown: async (id: string) => needs[id] === 'FROZEN',
        areCounted: async (id: string) => needs[id] !== 'FROZEN' && needs[id] !== 'NEW',
        async requestCount(id: string) {
          if (unreachable.has(id)) throw new Error('Redis is away');
          wanted.add(id);
        },
        dropRequest: async (id: string) => void wanted.delete(id),
      } as never,
    },
    surveys: { idsWithQuotas: async () => Object.keys(needs) },
    log: createLog('silent'),
    monotonicMs: () => nowMs,
  });
  const running = new Map<string, Promise<void>>();
  const settle = async () => {
    for (let i = 0; i < 50; i += 1) await turn();
  };
  /** Begins the tasks that are due, none twice at once, as the schedule does. */
  const tick = async (isDue: (everyMs: number) => boolean = (everyMs) => everyMs <= 1000) => {
    nowMs += 1000;
    for (const { name, everyMs, run } of tasks) {
      if (!isDue(everyMs) || running.has(name)) continue;
      running.set(
        name,
        run().finally(() => running.delete(name)),
      );
    }
    await settle();
  };
  return {
    begun,
    needs,
    unreachable,
    tick,
    compare: async () => {
      await tick((everyMs) => everyMs > 1000);
      await tick();
    },
    need: async (id: string, need: Need) => {
      needs[id] = need;
      wanted.add(id);
      await tick();
    },
    async end(id: string, isCounted = true) {
      open.get(id)?.(isCounted);
      open.delete(id);
      await settle();
    },
  };
}

describe('the responses in quotas by cell', () => {
  it('are counted in a new quota while those of another survey are compared or counted again', async () => {
    const turns = startTurns({ huge: undefined, large: undefined, small: undefined });
    await turns.compare();
    assert.deepEqual(turns.begun, ['huge']);
    await turns.need('large', 'AGAIN');
    await turns.need('small', 'NEW');
    assert.deepEqual(turns.begun, ['huge', 'large', 'small']);
  });

  it('are counted again after deletions in two surveys at once', async () => {
    const turns = startTurns({ huge: 'AGAIN', small: 'AGAIN', third: 'AGAIN' });
    await turns.tick();
    assert.deepEqual(turns.begun, ['huge', 'small']);
    await turns.end('small');
    assert.deepEqual(turns.begun, ['huge', 'small', 'third']);
  });

  it('are counted first where submissions wait for them', async () => {
    const turns = startTurns({ a: 'NEW', b: 'NEW', c: 'NEW', waiting: 'FROZEN' });
    await turns.tick();
    assert.equal(turns.begun[0], 'waiting');
  });

  it('are counted before those that have not begun where submissions begin to wait for them', async () => {
    const turns = startTurns({ a: 'NEW', b: 'NEW', c: 'NEW', d: 'NEW' });
    await turns.tick();
    await turns.need('waiting', 'FROZEN');
    await turns.end('b');
    await turns.end('a');
    assert.deepEqual(turns.begun, ['a', 'b', 'waiting', 'c']);
    await turns.need('b', 'FROZEN');
    await turns.end('c');
    assert.deepEqual(turns.begun.slice(4), ['b']);
  });

  it('are counted once in a run where that fails, before it begins anew', async () => {
    const turns = startTurns({ failing: 'FROZEN', a: 'NEW', b: 'NEW' });
    await turns.tick();
    await turns.end('failing', false);
    await turns.end('b');
    assert.deepEqual(turns.begun, ['failing', 'a', 'b']);
    await turns.tick();
    assert.deepEqual(turns.begun.slice(3), ['failing']);
  });

  it('are counted again in a long run where that failed, as submissions wait', async () => {
    const turns = startTurns({ failing: 'FROZEN', a: 'NEW', b: 'NEW', c: 'NEW' });
    await turns.tick();
    await turns.end('failing', false);
    assert.deepEqual(turns.begun, ['failing', 'a', 'b']);
    for (let second = 0; second < 3; second += 1) await turns.tick();
    await turns.end('a');
    assert.deepEqual(turns.begun.slice(3), ['failing']);
  });

  it('are counted in new quotas of two surveys at once, of one survey once', async () => {
    const turns = startTurns({ huge: 'NEW', b: 'NEW', c: 'NEW' });
    await turns.tick();
    assert.deepEqual(turns.begun, ['huge', 'b']);
    await turns.end('b');
    assert.deepEqual(turns.begun, ['huge', 'b', 'c']);
    await turns.end('c');
    await turns.need('later', 'NEW');
    await turns.compare();
    assert.deepEqual(turns.begun.slice(3), ['later']);
  });

  it('are compared although the count of another survey cannot be asked for', async () => {
    const turns = startTurns({ a: undefined, b: undefined, c: undefined });
    turns.unreachable.add('b');
    await turns.compare();
    await turns.end('a');
    await turns.end('c');
    assert.deepEqual(turns.begun, ['a', 'c']);
  });

  it('are not remembered of surveys without quotas', async () => {
    const turns = startTurns({ a: undefined, b: undefined });
    await turns.compare();
    await turns.end('a');
    await turns.end('b');
    delete turns.needs['a'];
    await turns.compare();
    await turns.need('a', 'AGAIN');
    await turns.need('b', 'AGAIN');
    assert.deepEqual(turns.begun, ['a', 'b', 'a'], 'b is put off');
  });

  it('are counted again soon where they could not be compared', async () => {
    const turns = startTurns({ a: undefined });
    await turns.compare();
    await turns.end('a', false);
    for (let second = 0; second < 10; second += 1) await turns.tick();
    assert.deepEqual(turns.begun, ['a', 'a']);
  });
});
