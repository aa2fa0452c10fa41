import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import type { Redis } from 'ioredis';
import type { ParsedDeadLetter } from '../../../../src/actors/dead-letters.ts';
import { createEraseDeletedResponses } from '../../../../src/pipelines/maintenance/erase-deleted-responses.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { EraseOptions } from '../../../../src/stores/clickhouse/write/erasure.ts';
import { createOncePerDay } from '../../../../src/stores/redis/once-per-day.ts';
import { freshRedis } from '../../../support/auth-server.ts';
import { sharedStores } from '../../../support/stores.ts';

const nowMs = Date.UTC(2026, 5, 1);
const month = 31 * 86_400_000;
let redis: Redis;
before(async () => {
  redis = await freshRedis();
});
beforeEach(async () => void (await redis.del('daily:erase deleted responses from large parts')));
after(async () => {
  await redis.quit();
  await (await sharedStores()).stop();
});

/** The task over a response store that keeps large parts for another call, and fails when told to. */
function createTask(responseIds: readonly string[]) {
  const calls: EraseOptions[] = [];
  const state = { fails: false };
  const run = createEraseDeletedResponses({
    responses: {
      eraseDeleted: async (options) => {
        calls.push(options);
        const isLarge = options.maxPartBytes === Number.POSITIVE_INFINITY;
        if (isLarge && state.fails) throw new Error('ClickHouse is away');
        return { partitions: 1, postponed: isLarge ? 0 : 1 };
      },
    },
    deadLetters: {
      filter: async (isWanted) => {
        const rows = responseIds.map((responseId) => ({ responseId }) as ParsedDeadLetter['row']);
        return rows.filter((row) => isWanted(row, '1-0')).map((row) => ({ id: '1-0', row }));
      },
    },
    oncePerDay: createOncePerDay(redis),
    now: () => nowMs,
  });
  const large = () => calls.filter(({ maxPartBytes }) => maxPartBytes === Number.POSITIVE_INFINITY).length;
  return { run, calls, large, state };
}

it('large parts are rewritten once a day, and again soon after a failure', async () => {
  const { run, calls, large, state } = createTask([]);
  state.fails = true;
  await assert.rejects(run(), /away/);
  state.fails = false;
  for (let hour = 0; hour < 5; hour += 1) await run();
  assert.deepEqual([calls.length, large()], [8, 2]);
});

it('tombstones of responses among the dead letters are kept, and all where these are too many to name', async () => {
  const ids = [newId(), newId()];
  const few = createTask([...ids, ...ids]);
  await few.run();
  assert.deepEqual([few.calls[0]?.keepTombstonesOf, few.calls[0]?.tombstonesBefore.getTime()], [ids, nowMs - month]);
  const many = createTask(Array.from({ length: 10_002 }, () => newId()));
  await many.run();
  assert.deepEqual([many.calls[0]?.keepTombstonesOf, many.calls[0]?.tombstonesBefore.getTime()], [[], 0]);
});
