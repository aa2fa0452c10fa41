import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createIngest, type IngestDeps } from '../../../../src/pipelines/ingest/ingest.ts';
import { eventually } from '../../../support/eventually.ts';
import { acceptingSink, noMemoryPressure } from '../../../support/intake.ts';

it('an intake that is away is a few lines of log for all shards of an ingest', async () => {
  const shards = Array.from({ length: 16 }, (_, index) => ({ index, prefix: `{s${index}}:`, stream: `{s${index}}:s` }));
  let attempts = 0;
  let lines = 0;
  const away = async () => {
    attempts += 1;
    throw new Error('Connection is closed.');
  };
  const stream: Partial<IngestDeps['stream']> = { lease: away, stats: away, countDeadLetters: away };
  const ingest = createIngest({
    stream: stream as IngestDeps['stream'],
    shards,
    sink: acceptingSink(),
    forward: async () => undefined,
    onStored: () => undefined,
    memory: noMemoryPressure,
    storedRows: undefined,
    isDeleted: async () => false,
    name: 'test',
    now: Date.now,
    log: Object.assign(createLog('silent'), { warn: () => (lines += 1) }),
    metrics: {} as IngestDeps['metrics'],
  });
  ingest.start();
  await eventually(() => assert.ok(attempts >= 2 * shards.length));
  await ingest.stop();
  assert.ok(lines <= 6, `${lines} lines`);
});
