/** One shard of the intake. Keys that belong to a shard begin with its prefix; docs/architecture.md lists all keys. */
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
/** Bytes of all definitions of a shard. */
export const definitionBytesKey = (shard: Shard): string => `${shard.prefix}definitions`;
/** Counts and limits of a survey's quotas by cell. */
export const quotasKey = (shard: Shard, surveyId: string): string => `${shard.prefix}quotas:${surveyId}`;
/** Ids of surveys with quotas by cell whose stored responses must be counted. */
export const quotasToCountKey = (shard: Shard): string => `${shard.prefix}quotas-to-count`;
/** Data version of a survey: names the last batch in which responses of it were stored. */
export const dataVersionKey = (shard: Shard, surveyId: string): string => `${shard.prefix}stored:${surveyId}`;
/** Marks of the tokens of an anonymous survey that were used. */
export const spentTokensKey = (shard: Shard, surveyId: string): string => `${shard.prefix}spent:${surveyId}`;
/** Without a prefix: an id must not be used in two surveys, since a response is found by its id alone. */
export const responseKey = (responseId: string): string => `response:${responseId}`;
/** Saved answers of an open response, after their version: `2:{…}`. */
export const answersKey = (responseId: string): string => `answers:${responseId}`;
