import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endOfEntry, type LivePosition } from '../../../../src/domain/live-cursor.ts';
import type { ClientStream } from '../../../../src/http/live/client-stream.ts';
import { createFeed, type Feed, type FeedDeps } from '../../../../src/http/live/feed.ts';
import { createFollower } from '../../../../src/http/live/follower.ts';
import { createLog } from '../../../../src/log.ts';
import type { StreamBounds } from '../../../../src/stores/redis/live-stream.ts';
import { eventually } from '../../../support/eventually.ts';

const surveyId = '01900000-0000-7000-8000-000000000001';

const log = createLog('silent');

function startFollower(feed: Feed, cursorMs: number, missed: (gap: unknown) => void) {
  const client = { isOver: false, isCongested: false, whenWritable: async () => undefined } as unknown as ClientStream;
  const deps = {
    feed,
    client,
    log,
    lagged: () => undefined,
    sent: () => undefined,
    missed: (_surveyId: string, gap: unknown) => missed(gap),
  };
  const follower = createFollower(deps, surveyId, endOfEntry(`${cursorMs}-0`));
  follower.start(false);
  return follower;
}

/** The feed of a shard whose entries have all been trimmed; the last one was added at 9000. */
function openTrimmed() {
  const calls = { bounds: 0 };
  const missed: unknown[] = [];
  const stream = {
    acknowledged: async () => endOfEntry('9000-0'),
    findDeleted: async () => [],
    read: async () => [],
    bounds: async (): Promise<StreamBounds> => {
      calls.bounds += 1;
      // A store answers in a later turn.
      await new Promise(setImmediate);
      return { oldest: undefined, newest: endOfEntry('9000-0'), isTrimmed: true, deletions: 0 };
    },
  };
  const feed = createFeed({ stream, shards: { of: () => ({ index: 0 }) }, actors: {}, log } as unknown as FeedDeps);
  const follow = (cursorMs: number) => startFollower(feed, cursorMs, (gap) => missed.push(gap));
  return { feed, follow, calls, missed };
}

describe('a client with a cursor of entries that were all trimmed', () => {
  it('is told what it may miss, and goes on at the end, if nobody else follows the shard', async () => {
    const { feed, follow, missed } = openTrimmed();
    const follower = follow(1000);
    await eventually(() => assert.deepEqual(follower.deliveredPosition(), endOfEntry('9000-0')));
    assert.deepEqual(missed, [{ fromMs: 1000, toMs: 9000 }]);
    follower.stop();
    feed.stop();
  });

  it('is told so once, and reads no more than once, if others follow it', async () => {
    const { feed, follow, calls, missed } = openTrimmed();
    const unwatch = await feed.onStored(surveyId, () => undefined);
    const before = calls.bounds;
    const follower = follow(1000);
    await eventually(() => assert.deepEqual(follower.deliveredPosition(), endOfEntry('9000-0')));
    assert.deepEqual([missed, calls.bounds - before], [[{ fromMs: 1000, toMs: 9000 }], 1]);
    follower.stop();
    unwatch();
    feed.stop();
  });

  it('misses nothing if its cursor is that of the last entry', async () => {
    const { feed, follow, missed } = openTrimmed();
    const follower = follow(9000);
    await eventually(() => assert.deepEqual(follower.deliveredPosition(), endOfEntry('9000-0')));
    assert.deepEqual(missed, []);
    follower.stop();
    feed.stop();
  });
});

describe('a client that cannot attach to the feed', () => {
  it('reads again after a pause while there is nothing new to read', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let reads = 0;
    const feed = {
      attach: () => false,
      detach: () => undefined,
      read: async (_surveyId: string, after: LivePosition) => {
        reads += 1;
        return { events: [], end: after, isLast: true, gap: undefined };
      },
    } as unknown as Feed;
    const follower = startFollower(feed, 1000, () => undefined);
    const readsAfter = async (ms: number): Promise<number> => {
      t.mock.timers.tick(ms);
      for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
      return reads;
    };
    assert.deepEqual([await readsAfter(0), await readsAfter(24), await readsAfter(1)], [1, 1, 2]);
    follower.stop();
  });
});

describe('a client that has no room for a response behind what it is told', () => {
  it('is told once what it may miss, and again only of what was trimmed since', async () => {
    const missed: unknown[] = [];
    const toMs = [9000, 9500];
    let reads = 0;
    const feed = {
      attach: () => true,
      detach: () => undefined,
      deliveredUpTo: () => undefined,
      read: async () => {
        reads += 1;
        return {
          events: [{ bytes: Buffer.alloc(1), position: endOfEntry('9600-0') }],
          end: endOfEntry('9600-0'),
          isLast: true,
          gap: { fromMs: 1000, toMs: toMs[reads - 1] ?? 9500 },
        };
      },
    } as unknown as Feed;
    const client = {
      isOver: false,
      isCongested: false,
      // Each page finds room for a message, which takes it.
      whenWritable: async () => {
        client.isCongested = false;
      },
      write: () => undefined,
    };
    const follower = createFollower(
      {
        feed,
        client: client as unknown as ClientStream,
        log,
        lagged: () => undefined,
        sent: () => undefined,
        missed: (_surveyId, gap) => {
          missed.push(gap.toMs);
          client.isCongested = reads < 20;
        },
      },
      surveyId,
      endOfEntry('1000-0'),
    );
    follower.start(false);
    await eventually(() => assert.deepEqual(follower.deliveredPosition(), endOfEntry('9600-0')));
    assert.deepEqual(missed, [9000, 9500]);
    follower.stop();
  });
});

describe('a client that catches up on a shard that other surveys fill', () => {
  it('reads no further once its subscription has ended', async () => {
    let reads = 0;
    const stream = {
      bounds: async (): Promise<StreamBounds> => ({
        oldest: endOfEntry('1-0'),
        newest: endOfEntry('9000-0'),
        isTrimmed: false,
        deletions: 0,
      }),
      read: async (_shard: unknown, { ms }: LivePosition, count: number) => {
        reads += 1;
        if (reads === 3) follower.stop();
        await new Promise(setImmediate);
        return Array.from({ length: reads < 100 ? count : 0 }, (_, n) => ({
          id: `${ms + n + 1}-0`,
          surveyIds: ['another'],
          rows: Buffer.alloc(0),
        }));
      },
    };
    const feed = createFeed({ stream, shards: { of: () => ({ index: 0 }) }, actors: {}, log } as unknown as FeedDeps);
    const follower = startFollower(feed, 1000, () => undefined);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    assert.equal(reads, 3);
    feed.stop();
  });
});
