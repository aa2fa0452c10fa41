import type { Redis } from 'ioredis';
import { behindEntry, entryOf, isWholeEntry, type LivePosition } from '../../domain/live-cursor.ts';
import type { Messages } from './messages.ts';
import type { Shard } from './shards.ts';
import { createStream, type StreamEntry } from './stream.ts';

export interface EntryRange {
  after: LivePosition;
  /** The last entry that may be given. */
  upTo: LivePosition;
  count: number;
}

/**
 * What live streams read of the intake: entries that are acknowledged, that is stored in ClickHouse, from a tail of at least ten minutes
 * or 100,000 rows. On a connection of its own, so that nobody waits behind it.
 */
export function createLiveStream(redis: Redis) {
  const stream = createStream(redis);
  return {
    acknowledged: async (shard: Shard): Promise<LivePosition> => behindEntry(await stream.acknowledged(shard)),
    /** Entries that hold anything behind `after`, oldest first; the first may have been seen in part. */
    read: ({ after, upTo, count }: EntryRange, shard: Shard): Promise<StreamEntry[]> =>
      stream.readRange(shard, `${isWholeEntry(after) ? '(' : ''}${entryOf(after)}`, entryOf(upTo), count),
    /** The oldest entry that is still kept; undefined in an empty stream. */
    async oldest(shard: Shard): Promise<LivePosition | undefined> {
      const [entry] = await stream.readRange(shard, '-', '+', 1);
      return entry && behindEntry(entry.id);
    },
    /** Which of these responses have been deleted since. */
    async removed(shard: Shard, responseIds: readonly string[]): Promise<Set<string>> {
      const flags = await Promise.all(responseIds.map((responseId) => stream.isRemoved(shard, responseId)));
      return new Set(responseIds.filter((_, index) => flags[index]));
    },
  };
}

export type LiveStream = ReturnType<typeof createLiveStream>;

/** How far a longer piece of work has come, for the `jobs` channel of a survey's live stream. */
export interface JobProgress {
  surveyId: string;
  kind: 'export' | 'ai';
  id: string;
  status: string;
  /** 0–1 */
  progress: number;
}

const jobChannel = 'job:progress';
const storedChannel = 'stream:stored';

/** News that make live streams quick. They may be lost: responses are found without them a moment later. */
export function createLiveNews(messages: Messages) {
  return {
    publishJobProgress: ({ surveyId, kind, id, status, progress }: JobProgress): void => messages.publish(jobChannel, { surveyId, kind, id, status, progress }),
    onJobProgress: (tell: (job: JobProgress) => void): Promise<void> =>
      messages.subscribe(jobChannel, (message) => {
        const { surveyId, kind, id, status, progress } = message;
        if (typeof surveyId !== 'string' || typeof id !== 'string' || typeof status !== 'string' || typeof progress !== 'number') return;
        if (kind === 'export' || kind === 'ai') tell({ surveyId, kind, id, status, progress });
      }),
    /** A shard has more in ClickHouse than before. */
    publishStored: ({ index }: Shard): void => messages.publish(storedChannel, { shard: index }),
    onStored: (tell: (shardIndex: number) => void): Promise<void> =>
      messages.subscribe(storedChannel, ({ shard }) => {
        if (typeof shard === 'number') tell(shard);
      }),
  };
}

export type LiveNews = ReturnType<typeof createLiveNews>;
