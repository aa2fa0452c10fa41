import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createIngest, type IngestDeps } from '../../../../src/pipelines/ingest/ingest.ts';
import { eventually } from '../../../support/eventually.ts';
import { acceptingSink, noMemoryPressure } from '../../../support/intake.ts';

it('a shard is released by an ingest that is stopped in the pause after an interruption', async () => {
  const shard = { index: 0, prefix: '{s0}:', stream: '{s0}:s' };
  let interruptions = 0;
  let released = 0;
  const stream: Partial<IngestDeps['stream']> = {
    lease: async (_shard, name) => ({ shard, name, fence: 1 }),
    acknowledged: async () => {
      interruptions += 1;
      throw new Error('Connection is closed.');
    },
    release: async () => {
      released += 1;
      return true;
    },
    stats: async () => ({ length: 0, lag: 0, oldestMs: undefined }),
    countDeadLetters: async () => 0,
  };
  const ingest = createIngest({
    stream: stream as IngestDeps['stream'],
    shards: [shard],
    sink: acceptingSink(),
    forward: async () => undefined,
    onStored: () => undefined,
    memory: noMemoryPressure,
    storedRows: undefined,
    isDeleted: async () => false,
    name: 'test',
    now: Date.now,
    log: createLog('silent'),
    metrics: {} as IngestDeps['metrics'],
  });
  ingest.start();
  await eventually(() => assert.equal(interruptions, 1));
  assert.equal(released, 0);
  await ingest.stop();
  assert.deepEqual([interruptions, released], [1, 1]);
});
