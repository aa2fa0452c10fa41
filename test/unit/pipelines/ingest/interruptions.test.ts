import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createIngest, type IngestDeps } from '../../../../src/pipelines/ingest/ingest.ts';
import { eventually } from '../../../support/eventually.ts';
import { acceptingSink, noMemoryPressure, streamEntry } from '../../../support/intake.ts';
import { counting } from '../../../support/use-shard-ingest.ts';

const shards = Array.from({ length: 16 }, (_, index) => ({ index, prefix: `{s${index}}:`, stream: `{s${index}}:s` }));

/** An ingest whose intake does what the test says; the test names the calls that it makes. */
const ingestOf = (
  stream: Partial<IngestDeps['stream']>,
  more: Pick<IngestDeps, 'shards' | 'log'> & Partial<IngestDeps>,
) =>
  createIngest({
    stream: stream as IngestDeps['stream'],
    sink: acceptingSink(),
    forward: async () => undefined,
    onStored: () => undefined,
    memory: noMemoryPressure,
    storedRows: undefined,
    isDeleted: async () => false,
    name: 'test',
    now: Date.now,
    metrics: { shardState: () => undefined, shardUnknown: () => undefined } as unknown as IngestDeps['metrics'],
    ...more,
  });

describe('interruptions of ingest', () => {
  it('are a few lines of log for all shards while the intake is away', async () => {
    let attempts = 0;
    let lines = 0;
    const away = async () => {
      attempts += 1;
      throw new Error('Connection is closed.');
    };
    const log = Object.assign(createLog('silent'), { warn: () => (lines += 1) });
    const ingest = ingestOf({ lease: away, stats: away, countDeadLetters: away }, { shards, log });
    ingest.start();
    await eventually(() => assert.ok(attempts >= 2 * shards.length));
    await ingest.stop();
    assert.ok(lines <= 6, `${lines} lines`);
  });

  it('leave no shard leased where the service is stopped in the pause after one', async () => {
    let interruptions = 0;
    let released = 0;
    const stream: Partial<IngestDeps['stream']> = {
      lease: async (shard, name) => ({ shard, name, fence: 1 }),
      acknowledged: async () => {
        interruptions += 1;
        throw new Error('Connection is closed.');
      },
      release: async () => {
        released += 1;
        return true;
      },
      stats: async () => ({ length: 0, lag: 0, oldest: undefined, unforwarded: undefined }),
      countDeadLetters: async () => 0,
    };
    const ingest = ingestOf(stream, { shards: shards.slice(0, 1), log: createLog('silent') });
    ingest.start();
    await eventually(() => assert.equal(interruptions, 1));
    assert.equal(released, 0);
    await ingest.stop();
    assert.deepEqual([interruptions, released], [1, 1]);
  });

  it('leave no timer that leases the shard again after a stop, where its position could not be read', async (test) => {
    test.mock.timers.enable({ apis: ['setInterval'] });
    let [leased, interruptions] = [0, 0];
    const stream: Partial<IngestDeps['stream']> = {
      lease: async (shard, name) => {
        leased += 1;
        return { shard, name, fence: leased };
      },
      acknowledged: async () => {
        interruptions += 1;
        throw new Error('Command timed out');
      },
      release: async () => true,
      stats: async () => ({ length: 0, lag: 0, oldest: undefined, unforwarded: undefined }),
      countDeadLetters: async () => 0,
    };
    const ingest = ingestOf(stream, { shards: shards.slice(0, 1), log: createLog('silent') });
    ingest.start();
    await eventually(() => assert.equal(interruptions, 1));
    await ingest.stop();
    const before = leased;
    test.mock.timers.tick(20_000);
    assert.equal(leased, before);
  });

  it('by an intake that hangs delay a stop by a few seconds', async () => {
    let isAsked = false;
    const hang = () => new Promise<never>(() => (isAsked = true));
    const stream = { lease: hang, stats: hang, countDeadLetters: hang };
    const ingest = ingestOf(stream, { shards: shards.slice(0, 1), log: createLog('silent') });
    ingest.start();
    await eventually(() => assert.ok(isAsked));
    let isStopped = false;
    void ingest.stop().then(() => (isStopped = true));
    await eventually(() => assert.ok(isStopped), 8000);
  });

  it('by an insert that outlasts the lease do not have its rows inserted again', async () => {
    let [endsAtMs, fence, inserts, fenced, acknowledged] = [0, 0, 0, 0, '0-0'];
    const isOwner = async (owner: { fence: number }) => owner.fence === fence && performance.now() < endsAtMs;
    const stream: Partial<IngestDeps['stream']> = {
      lease: async (shard, name, leaseMs) => {
        if (performance.now() >= endsAtMs) fence += 1;
        endsAtMs = performance.now() + leaseMs;
        return { shard, name, fence };
      },
      acknowledged: async () => acknowledged,
      dispatched: async () => acknowledged,
      readAfter: async (_shard, after) => (after === '0-0' ? [streamEntry('1-0')] : []),
      markStored: isOwner,
      acknowledge: async (owner, entries) => {
        if (!(await isOwner(owner))) return false;
        acknowledged = entries.at(-1)?.id ?? '';
        return true;
      },
      markDispatched: isOwner,
      trim: async () => undefined,
      release: async () => true,
      stats: async () => ({ length: 0, lag: 0, oldest: undefined, unforwarded: undefined }),
      countDeadLetters: async () => 0,
    };
    const ingest = ingestOf(stream, {
      shards: shards.slice(0, 1),
      log: createLog('silent'),
      leaseMs: 200,
      stallMs: 300,
      sink: acceptingSink(async () => {
        inserts += 1;
        await eventually(() => assert.ok(performance.now() > endsAtMs));
        return { kind: 'stored' };
      }),
      metrics: { ...counting().metrics, ingestFenced: () => (fenced += 1) },
    });
    ingest.start();
    try {
      await eventually(() => assert.equal(acknowledged, '1-0'));
    } finally {
      await ingest.stop();
    }
    assert.ok(fenced >= 1);
    assert.equal(inserts, 1);
  });
});
