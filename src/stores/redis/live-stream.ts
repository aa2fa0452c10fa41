import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { endOfEntry, entryOf, isWholeEntry, type LivePosition } from '../../domain/live-cursor.ts';
import { assetPath } from '../../platform/assets.ts';
import { deletionKey, includesDeletion } from './intake/deleted-responses.ts';
import type { Shard } from './intake/shards.ts';
import { createStream, type StreamEntry } from './intake/stream.ts';
import type { PubSub } from './pub-sub.ts';

/** First and last position of a shard's stream. */
export interface StreamBounds {
  /** The oldest entry that is still there; undefined in an empty stream. */
  oldest: LivePosition | undefined;
  newest: LivePosition;
  /** There were older entries once. */
  isTrimmed: boolean;
  /** Number of responses of the shard that were deleted so far. */
  deletions: number;
}

type BoundsRedis = Redis & {
  streamBounds(stream: string, deletions: string): Promise<[string, string, number, string]>;
};

/**
 * Reads the intake for live streams. An entry can be read as soon as its submissions are accepted: Redis replies to the
 * reader, like to the writer, after a sync to disk. Stored entries stay for a retention window of at least ten minutes,
 * or less while the intake needs the memory. `plain` is a connection of its own, so that no submission waits behind a
 * read.
 */
export function createLiveStream(plain: Redis) {
  const stream = createStream(plain);
  const redis = plain as BoundsRedis;
  redis.defineCommand('streamBounds', {
    numberOfKeys: 2,
    lua: readFileSync(assetPath('src/stores/redis/live-stream-bounds.lua'), 'utf8'),
  });
  return {
    /** Position up to which all is in ClickHouse. */
    acknowledged: async (shard: Shard): Promise<LivePosition> => endOfEntry(await stream.acknowledged(shard)),
    async bounds(shard: Shard): Promise<StreamBounds> {
      const [oldest, newest, isTrimmed, deletions] = await redis.streamBounds(shard.stream, `${shard.prefix}removals`);
      return {
        oldest: oldest === '' ? undefined : endOfEntry(oldest),
        newest: endOfEntry(newest),
        isTrimmed: isTrimmed === 1,
        deletions: Number(deletions),
      };
    },
    /** Entries that hold rows after a position, oldest first; rows of the first may be before it. */
    read: (shard: Shard, after: LivePosition, count: number): Promise<StreamEntry[]> =>
      stream.readRange(shard, `${isWholeEntry(after) ? '(' : ''}${entryOf(after)}`, '+', count),
    /** Whether each of these responses was deleted lately, in the same order. */
    async findDeleted(
      shard: Shard,
      responses: readonly { responseId: string; submittedAtMs: number }[],
    ): Promise<boolean[]> {
      const deletions =
        responses.length === 0
          ? []
          : await redis.mget(responses.map(({ responseId }) => deletionKey(shard, responseId)));
      return responses.map(({ submittedAtMs }, index) => includesDeletion(deletions[index], submittedAtMs));
    },
  };
}

export type LiveStream = ReturnType<typeof createLiveStream>;

/** Progress of an export or AI job, for the `jobs` channel of a survey's live stream. */
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

/** Notifications that make live streams quick. They may be lost: readers poll the stream too. */
export function createLiveNotifications(messages: PubSub) {
  return {
    publishJobProgress: ({ surveyId, kind, id, status, progress }: JobProgress): void =>
      messages.publish(jobChannel, { surveyId, kind, id, status, progress }),
    onJobProgress: (listener: (job: JobProgress) => void): Promise<void> =>
      messages.subscribe(jobChannel, (message) => {
        const { surveyId, kind, id, status, progress } = message;
        if (
          typeof surveyId !== 'string' ||
          typeof id !== 'string' ||
          typeof status !== 'string' ||
          typeof progress !== 'number'
        )
          return;
        if (kind === 'export' || kind === 'ai') listener({ surveyId, kind, id, status, progress });
      }),
    /** Notifies that a batch of the shard is in ClickHouse. */
    publishStored: ({ index }: Shard): void => messages.publish(storedChannel, { shard: index }),
    onStored: (listener: (shardIndex: number) => void): Promise<void> =>
      messages.subscribe(storedChannel, ({ shard }) => {
        if (typeof shard === 'number') listener(shard);
      }),
  };
}
