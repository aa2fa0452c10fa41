/** Names of the intake's keys. All keys of a shard carry one hash tag, so that a cluster keeps them together. */
export interface Shard {
  index: number;
  prefix: string;
  stream: string;
}

export function createShards(count: number) {
  const shards: Shard[] = Array.from({ length: count }, (_, index) => ({ index, prefix: `{s${index}}:`, stream: `{s${index}}:stream` }));
  return {
    all: shards as readonly Shard[],
    /** A survey's shard, by the last 32 bits of its id (random in every UUID version that we meet). */
    of(surveyId: string): Shard {
      const shard = shards[Number.parseInt(surveyId.slice(-8), 16) % count];
      if (!shard) throw new Error(`no shard for survey ${surveyId}`);
      return shard;
    },
  };
}

export type Shards = ReturnType<typeof createShards>;

export const surveyKey = (shard: Shard, surveyId: string): string => `${shard.prefix}survey:${surveyId}`;
export const responseKey = (shard: Shard, responseId: string): string => `${shard.prefix}response:${responseId}`;
