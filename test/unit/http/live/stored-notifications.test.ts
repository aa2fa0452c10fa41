import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endOfEntry } from '../../../../src/domain/live-cursor.ts';
import { createFeed, type FeedDeps } from '../../../../src/http/live/feed.ts';
import { createLog } from '../../../../src/log.ts';
import { eventually } from '../../../support/eventually.ts';

/** A call that a test ends. */
function held<T>() {
  let end: (result: T) => void = () => undefined;
  const result = new Promise<T>((resolve) => {
    end = resolve;
  });
  return { result, end };
}

describe('notifications of stored responses', () => {
  it('come for an entry that the feed read, for others, while the listener was looking where the stream ends', async () => {
    const [surveyId, other] = ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002'];
    const ten = { oldest: undefined, newest: endOfEntry('10-0'), isTrimmed: false, deletions: 0 };
    const looking = held<void>();
    let hasListener = false;
    let stored = '10-0';
    let unread = [{ id: '11-0', surveyIds: [surveyId] }];
    let readsAfter = 0;
    const stream = {
      bounds: async () => {
        if (hasListener) await looking.result;
        return ten;
      },
      acknowledged: async () => endOfEntry(stored),
      read: async () => {
        if (!hasListener) return [];
        const entries = unread;
        unread = [];
        if (entries.length === 0) readsAfter += 1;
        return entries;
      },
    };
    const feed = createFeed({
      stream,
      shards: { of: () => ({ index: 0 }) },
      actors: {},
      log: createLog('silent'),
    } as unknown as FeedDeps);
    const unwatchOther = await feed.onStored(other, () => undefined);
    hasListener = true;
    let notified = 0;
    const listening = feed.onStored(surveyId, () => {
      notified += 1;
    });
    await eventually(() => assert.ok(readsAfter > 0, 'the feed has read on behind the entry'));
    looking.end();
    const unwatch = await listening;
    stored = '11-0';
    await eventually(() => assert.equal(notified, 1));
    unwatch();
    unwatchOther();
    feed.stop();
  });
});
