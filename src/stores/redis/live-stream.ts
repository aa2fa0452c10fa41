import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { endOfEntry, entryOf, isWholeEntry, type LivePosition } from '../../domain/live-cursor.ts';
import { assetPath } from '../../platform/assets.ts';
import { deletionKey, isDeletionNoted } from './intake/deleted-responses.ts';
import type { Shard } from './intake/shards.ts';
import { createStream, type StreamEntry } from './intake/stream.ts';
import type { PubSub } from './pub-sub.ts';

/** What is kept of a shard's stream. */
export interface StreamBounds {
  /** The oldest entry that is still there; undefined in an empty stream. */
  oldest: LivePosition | undefined;
  newest: LivePosition;
  /** There were older entries once. */
  isTrimmed: boolean;
  /** How many responses of the shard have been deleted so far. */
  deletions: number;
}

type BoundsRedis = Redis & {
  streamBounds(stream: string, removals: string): Promise<[string, string, number, string]>;
};

/**
 * What live streams read of the intake. An entry can be read as soon as its submissions are accepted: Redis answers the reader, like the
 * writer, after it has synced to disk what it executed before. Behind what ClickHouse has stored there is a tail of at least ten minutes or
 * 100,000 rows. On a connection of its own, so that nobody waits behind it.
 */
export function createLiveStream(plain: Redis) {
  const stream = createStream(plain);
  const redis = plain as BoundsRedis;
  redis.defineCommand('streamBounds', {
    numberOfKeys: 2,
    lua: readFileSync(assetPath('src/stores/redis/live-stream-bounds.lua'), 'utf8'),
  });
  return {
    /** All up to here is in ClickHouse. */
    acknowledged: async (shard: Shard): Promise<LivePosition> => endOfEntry(await stream.acknowledged(shard)),
    async bounds(shard: Shard): Promise<StreamBounds> {
      const [oldest, newest, isTrimmed, removals] = await redis.streamBounds(shard.stream, `${shard.prefix}removals`);
      return {
        oldest: oldest === '' ? undefined : endOfEntry(oldest),
        newest: endOfEntry(newest),
        isTrimmed: isTrimmed === 1,
        deletions: Number(removals),
      };
    },
    /** Entries that hold anything behind a position, oldest first; the first may have been seen in part. */
    read: (shard: Shard, after: LivePosition, count: number): Promise<StreamEntry[]> =>
      stream.readRange(shard, `${isWholeEntry(after) ? '(' : ''}${entryOf(after)}`, '+', count),
    /** Of each of these responses, whether it has been deleted since. */
    async findDeleted(
      shard: Shard,
      responses: readonly { responseId: string; submittedAtMs: number }[],
    ): Promise<boolean[]> {
      const deletionNotes =
        responses.length === 0
          ? []
          : await redis.mget(responses.map(({ responseId }) => deletionKey(shard, responseId)));
      return responses.map(({ submittedAtMs }, index) => isDeletionNoted(deletionNotes[index], submittedAtMs));
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
    /** A shard has more in ClickHouse than before. */
    publishStored: ({ index }: Shard): void => messages.publish(storedChannel, { shard: index }),
    onStored: (listener: (shardIndex: number) => void): Promise<void> =>
      messages.subscribe(storedChannel, ({ shard }) => {
        if (typeof shard === 'number') listener(shard);
      }),
  };
}

export type LiveNotifications = ReturnType<typeof createLiveNotifications>;
