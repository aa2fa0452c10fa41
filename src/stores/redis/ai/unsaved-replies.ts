import type { ChainableCommander, Redis } from 'ioredis';
import { z } from 'zod';
import { unavailable } from '../../../errors.ts';

/** The reply to a call about these answers, as it came. */
export interface UnsavedReply {
  /** A UUIDv7. */
  id: string;
  /** Digests in hexadecimal. */
  answers: { responseId: string; questionId: string; digest: string }[];
  text: string;
}

/** An analysis of a survey by one model in one wording. */
interface AnalysisTopic {
  surveyId: string;
  topic: string;
}

/** A job that nobody has gone on with by then pays again: who erases a response answers for no older reply. */
export const unsavedReplyTtlSeconds = 86_400;

/**
 * Keeps replies of analyses from the moment they come until what they say is stored, for who takes the job over. The server answers when it
 * has written them to its file, in a tenth of the time that a row takes: the end of any process loses none, that of the machine those of its last second.
 * A failure of any kind is SERVICE_UNAVAILABLE.
 */
export function createUnsavedReplies(redis: Redis) {
  const key = (surveyId: string): string => `ai:paid:${surveyId}`;
  const field = (id: string, topic: string): string => `${id} ${topic}`;
  /** Replies of one topic would else live on with those of another. */
  const removeExpired = async (surveyId: string, names: readonly string[]): Promise<void> => {
    const old = names.filter(isExpired);
    if (old.length > 0) await orUnavailable(redis.hdel(key(surveyId), ...old));
  };
  return {
    save: async ({ surveyId, topic }: AnalysisTopic, reply: UnsavedReply): Promise<void> => {
      const names = redis
        .pipeline()
        .hset(key(surveyId), field(reply.id, topic), JSON.stringify(reply))
        .expire(key(surveyId), unsavedReplyTtlSeconds)
        .hkeys(key(surveyId));
      const [, , all] = await orUnavailable(executeAll(names));
      await removeExpired(surveyId, z.array(z.string()).parse(all));
    },

    /** Oldest first. */
    list: async ({ surveyId, topic }: AnalysisTopic): Promise<UnsavedReply[]> => {
      const kept = Object.entries(await orUnavailable(redis.hgetall(key(surveyId))));
      await removeExpired(
        surveyId,
        kept.map(([name]) => name),
      );
      const texts = kept.filter(([name]) => name.endsWith(` ${topic}`) && !isExpired(name)).map(([, text]) => text);
      return texts.map((text): UnsavedReply => JSON.parse(text)).sort((one, other) => (one.id < other.id ? -1 : 1));
    },

    remove: async ({ surveyId, topic }: AnalysisTopic, ids: readonly string[]): Promise<void> => {
      if (ids.length > 0) await orUnavailable(redis.hdel(key(surveyId), ...ids.map((id) => field(id, topic))));
    },

    removeOfSurvey: async (surveyId: string): Promise<void> => void (await orUnavailable(redis.del(key(surveyId)))),
  };
}

export type UnsavedReplies = ReturnType<typeof createUnsavedReplies>;

/** By the milliseconds at the head of its id. */
const isExpired = (name: string): boolean =>
  Number.parseInt(name.slice(0, 8) + name.slice(9, 13), 16) < Date.now() - unsavedReplyTtlSeconds * 1000;

/** Runs what is gathered in one go; fails with the first that fails. */
async function executeAll(gathered: ChainableCommander): Promise<unknown[]> {
  return ((await gathered.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}

async function orUnavailable<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    throw unavailable('Replies of AI providers cannot be kept right now', 2, error);
  }
}
