import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createEraseInvitedPersons } from '../../../../src/pipelines/maintenance/erase-invited-persons.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';

const hourMs = 3_600_000;
const surveyId = newId();
const startHour = 500_000;
/** An id of the stream at this hour after the deletion of the first collector. */
const entryAt = (hour: number): string => `${(startHour + hour) * hourMs}-0`;

/** Which collectors are erased at an hour; `newest` and `dispatched`: hours of entries. */
async function erasedAt(hour: number, { newest, dispatched }: { newest: number; dispatched: number }, failing = '') {
  const erased: string[] = [];
  await createEraseInvitedPersons({
    invitations: {
      deletedCollectors: async () => [
        { id: 'first', surveyId, deletedAt: new Date(startHour * hourMs) },
        { id: 'second', surveyId, deletedAt: new Date((startHour + 2) * hourMs) },
      ],
      async eraseOfDeletedCollector(id) {
        if (id === failing) throw new Error('PostgreSQL is away');
        erased.push(id);
      },
    },
    stream: { newestId: async () => entryAt(newest), dispatched: async () => entryAt(dispatched) },
    shards: createShards(1),
    now: () => (startHour + hour) * hourMs,
    log: createLog('silent'),
  })();
  return erased;
}

describe('persons whom a deleted collector invited', () => {
  it('are erased a day later where all that was accepted is recorded', async () => {
    assert.deepEqual(await erasedAt(23, { newest: -9, dispatched: -9 }), []);
    assert.deepEqual(await erasedAt(25, { newest: -9, dispatched: -9 }), ['first']);
    assert.deepEqual(await erasedAt(27, { newest: -9, dispatched: -9 }), ['first', 'second']);
  });

  it('are kept as long as uses of their invitations may not be recorded', async () => {
    assert.deepEqual(await erasedAt(100, { newest: 99, dispatched: -1 }), []);
    assert.deepEqual(await erasedAt(100, { newest: 99, dispatched: 25 }), ['first']);
    assert.deepEqual(await erasedAt(100, { newest: 99, dispatched: 98 }), ['first', 'second']);
  });

  it('are erased although those of another collector could not be', async () => {
    assert.deepEqual(await erasedAt(100, { newest: 1, dispatched: 1 }, 'first'), ['second']);
  });
});
