import type { Redis } from 'ioredis';
import { type Problem, unavailable } from '../../../errors.ts';
import { failingWith } from '../errors.ts';
import { intakeScript } from './scripts.ts';
import { definitionBytesKey, definitionKey, type Shards, surveyKey } from './shards.ts';

/** The survey's row with all questions, compressed: from it submissions are taken while PostgreSQL is away. */
export interface StoredDefinition {
  revision: number;
  compressed: Buffer;
}

export interface DefinitionStoreDeps {
  redis: Redis;
  shards: Shards;
  /** Bytes that the definitions of all surveys may take together. */
  maxBytes(): number;
}

/** `unchanged`: it was saved before, or another revision is in force. `no room`: it is not stored. */
export type SaveResult = 'saved' | 'unchanged' | 'no room';

/**
 * Format of a stored definition. A version with another format takes the next number: it does not read definitions of
 * older formats, and older versions do not replace its own.
 */
const formatVersion = 1;
/**
 * Maximum bytes of one compressed definition. The interface bounds questions to 2 MiB; a larger survey of an earlier
 * version has no stored definition.
 */
const maxDefinitionBytes = 4 * 1024 * 1024;

const unreachableMessage = 'Definitions of surveys cannot be reached right now';
const unreachable = (cause: unknown): Problem => unavailable(unreachableMessage, 2, cause);
const orUnavailable = failingWith(unreachableMessage);

type DefinitionRedis = Redis & {
  saveDefinition(...keysAndArgs: (string | number | Buffer)[]): Promise<number>;
};

/** Stores definitions of open surveys in the intake's Redis, each beside what the intake knows of its survey. */
export function createDefinitionStore({ redis: plain, shards, maxBytes }: DefinitionStoreDeps) {
  const redis = plain as DefinitionRedis;
  redis.defineCommand('saveDefinition', {
    numberOfKeys: 3,
    lua: intakeScript('definition'),
  });
  const write = (surveyId: string, revision: number, compressed: Buffer | ''): Promise<number> => {
    const shard = shards.of(surveyId);
    const keys = [definitionKey(shard, surveyId), surveyKey(shard, surveyId), definitionBytesKey(shard)];
    const availableBytes = Math.floor(maxBytes() / shards.all.length);
    return orUnavailable(redis.saveDefinition(...keys, revision, formatVersion, compressed, availableBytes));
  };
  return {
    /** Saves the definition of the revision in force; another revision is ignored. */
    save: async (surveyId: string, { revision, compressed }: StoredDefinition): Promise<SaveResult> => {
      const isTooLarge = compressed.length > maxDefinitionBytes;
      const outcome = await write(surveyId, revision, isTooLarge ? '' : compressed);
      return outcome < 0 || isTooLarge ? 'no room' : outcome === 1 ? 'saved' : 'unchanged';
    },

    /** Removes the definition, unless it is of a later revision than this. */
    remove: async (surveyId: string, revision: number): Promise<void> => void (await write(surveyId, revision, '')),

    /** The definition of the revision in force, if it is stored in the format of this version. */
    find: async (surveyId: string): Promise<StoredDefinition | undefined> => {
      const shard = shards.of(surveyId);
      // One transaction, since a change may come between two reads.
      const transaction = redis.multi().hget(surveyKey(shard, surveyId), 'rev');
      const results = await orUnavailable(
        transaction.hmgetBuffer(definitionKey(shard, surveyId), 'rev', 'v', 'data').exec(),
      );
      const failed = results?.find(([error]) => error)?.[0];
      if (failed) throw unreachable(failed);
      const [inForce, fields] = (results ?? []).map(([, result]) => result) as [string | null, (Buffer | null)[]];
      const [revision, storedFormat, compressed] = fields;
      if (!revision || !compressed || revision.toString() !== inForce || Number(storedFormat) !== formatVersion)
        return undefined;
      return { revision: Number(inForce), compressed };
    },

    /** The surveys that have no stored definition of their revision, or one of an older format. */
    findMissing: async <S extends { id: string; revision: number }>(surveys: readonly S[]): Promise<S[]> => {
      const pipeline = redis.pipeline();
      for (const { id } of surveys) pipeline.hmget(definitionKey(shards.of(id), id), 'rev', 'v');
      const results = (await orUnavailable(pipeline.exec())) ?? [];
      return surveys.filter((survey, index) => {
        const [error, fields] = results[index] ?? [];
        if (error) throw unreachable(error);
        const [revision, storedFormat] = fields as (string | null)[];
        return revision !== String(survey.revision) || Number(storedFormat) < formatVersion;
      });
    },
  };
}

export type DefinitionStore = ReturnType<typeof createDefinitionStore>;
