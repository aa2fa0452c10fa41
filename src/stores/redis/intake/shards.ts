/** Names of the intake's keys. What belongs to a shard carries its prefix. */
export interface Shard {
  index: number;
  prefix: string;
  stream: string;
}

export function createShards(count: number) {
  const shards: Shard[] = Array.from({ length: count }, (_, index) => ({
    index,
    prefix: `{s${index}}:`,
    stream: `{s${index}}:stream`,
  }));
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
/** The definition of an open survey, for when PostgreSQL is away. */
export const definitionKey = (shard: Shard, surveyId: string): string => `${shard.prefix}definition:${surveyId}`;
/** How many bytes all definitions of a shard take. */
export const definitionBytesKey = (shard: Shard): string => `${shard.prefix}definitions`;
/** Names the last batch in which responses of a survey were stored. */
export const dataVersionKey = (shard: Shard, surveyId: string): string => `${shard.prefix}stored:${surveyId}`;
/** One name space for all shards: an id must not be used in two surveys, since a response is found by its id alone. */
export const responseKey = (responseId: string): string => `response:${responseId}`;
/** What was saved of an open response, with the version that it is: `2:{…}`. */
export const answersKey = (responseId: string): string => `answers:${responseId}`;
