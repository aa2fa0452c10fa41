import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConsistentReadsDeps, createConsistentReads } from '../../../src/actors/consistent-reads.ts';
import { createShards } from '../../../src/stores/redis/intake/shards.ts';

describe('a wait until ingest has stored what is accepted', () => {
  const readingUpTo = (acknowledged: string) =>
    createConsistentReads({
      stream: { newestId: async () => '2-0', acknowledged: async () => acknowledged, isDeleted: async () => false },
      shards: createShards(1),
    } as Partial<ConsistentReadsDeps> as ConsistentReadsDeps);
  const isStopping = { code: 'SERVICE_UNAVAILABLE', message: 'The service is stopping' };

  it('fails at once when the process stops, as its ingest stores no more', async () => {
    const reading = readingUpTo('1-0');
    const waits = [reading.caughtUp('a survey'), reading.allCaughtUp()].map((wait) => assert.rejects(wait, isStopping));
    reading.stop();
    await Promise.all(waits);
    await assert.rejects(reading.caughtUp('a survey'), isStopping);
  });

  it('is no wait where all is stored, also when the process stops', async () => {
    const reading = readingUpTo('2-0');
    reading.stop();
    await reading.caughtUp('a survey');
  });
});
