import type { Redis } from 'ioredis';
import { type Problem, unavailable } from '../../../errors.ts';
import { intakeScript } from './scripts.ts';
import { definitionBytesKey, definitionKey, type Shards, surveyKey } from './shards.ts';

/** What takes submissions to a survey while PostgreSQL is away: its row with all questions, packed. */
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

/** `unchanged`: it is kept already, or another revision is in force. `no room`: it is not kept. */
export type SaveResult = 'kept' | 'unchanged' | 'no room';

/**
 * Says from what and how a definition is packed. A version that packs it otherwise takes the next number: it does not
 * read what an older one wrote, and an older one does not replace what it wrote.
 */
const formatVersion = 1;
/** Of one, packed. The interface bounds its questions to 2 MiB; a survey that is larger from before is not kept. */
const maxDefinitionBytes = 4 * 1024 * 1024;

type DefinitionRedis = Redis & {
  saveDefinition(...keysAndArgs: (string | number | Buffer)[]): Promise<number>;
};

/** Definitions of open surveys in the intake's Redis, each beside what the intake knows of its survey. */
export function createDefinitionStore({ redis: plain, shards, maxBytes }: DefinitionStoreDeps) {
  const redis = plain as DefinitionRedis;
  redis.defineCommand('saveDefinition', {
    numberOfKeys: 3,
    lua: intakeScript('definition'),
  });
  const put = (surveyId: string, revision: number, packed: Buffer | ''): Promise<number> => {
    const shard = shards.of(surveyId);
    const keys = [definitionKey(shard, surveyId), surveyKey(shard, surveyId), definitionBytesKey(shard)];
    const roomBytes = Math.floor(maxBytes() / shards.all.length);
    return orUnavailable(redis.saveDefinition(...keys, revision, formatVersion, packed, roomBytes));
  };
  return {
    /** Keeps the definition of the revision in force; any other is passed over. */
    save: async (surveyId: string, { revision, compressed }: StoredDefinition): Promise<SaveResult> => {
      const isTooLarge = compressed.length > maxDefinitionBytes;
      const outcome = await put(surveyId, revision, isTooLarge ? '' : compressed);
      return outcome < 0 || isTooLarge ? 'no room' : outcome === 1 ? 'kept' : 'unchanged';
    },

    /** Removes the definition, unless it is of a later revision than this. */
    remove: async (surveyId: string, revision: number): Promise<void> => void (await put(surveyId, revision, '')),

    /** The definition of the revision in force, if it is kept in a form that this version reads. */
    find: async (surveyId: string): Promise<StoredDefinition | undefined> => {
      const shard = shards.of(surveyId);
      // At one moment: a change may come between two looks.
      const look = redis.multi().hget(surveyKey(shard, surveyId), 'rev');
      const results = await orUnavailable(look.hmgetBuffer(definitionKey(shard, surveyId), 'rev', 'v', 'data').exec());
      const failed = results?.find(([error]) => error)?.[0];
      if (failed) throw away(failed);
      const [inForce, fields] = (results ?? []).map(([, result]) => result) as [string | null, (Buffer | null)[]];
      const [revision, storedForm, compressed] = fields;
      if (!revision || !compressed || revision.toString() !== inForce || Number(storedForm) !== formatVersion)
        return undefined;
      return { revision: Number(inForce), compressed };
    },

    /** Which of these surveys have no definition of their revision, or one of an older form. */
    findMissing: async <S extends { id: string; revision: number }>(surveys: readonly S[]): Promise<S[]> => {
      const look = redis.pipeline();
      for (const { id } of surveys) look.hmget(definitionKey(shards.of(id), id), 'rev', 'v');
      const results = (await orUnavailable(look.exec())) ?? [];
      return surveys.filter((survey, index) => {
        const [error, fields] = results[index] ?? [];
        if (error) throw away(error);
        const [revision, storedForm] = fields as (string | null)[];
        return revision !== String(survey.revision) || Number(storedForm) < formatVersion;
      });
    },
  };
}

export type DefinitionStore = ReturnType<typeof createDefinitionStore>;

const away = (cause: unknown): Problem => unavailable('Definitions of surveys cannot be reached right now', 2, cause);

async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw away(error);
  }
}
