import type { ChainableCommander, Redis } from 'ioredis';
import { z } from 'zod';
import { failingWith } from '../errors.ts';

/** The text of a provider's reply on these answers. */
export interface UnsavedReply {
  /** A UUIDv7. */
  id: string;
  /** Digests in hexadecimal. */
  answers: { responseId: string; questionId: string; digest: string }[];
  text: string;
}

/** Identifies the analyses of a survey by one model and prompt. */
interface AnalysisTopic {
  surveyId: string;
  topic: string;
}

/**
 * How long a reply is kept. A job that continues later pays again; this bounds where an erasure must search.
 */
export const unsavedReplyTtlSeconds = 86_400;

const orUnavailable = failingWith('Replies of AI providers cannot be kept right now');

/**
 * Keeps provider replies of analyses until their annotations are stored, for a job that takes over. Redis answers after
 * appending them to its file, so that the end of a process loses none, and the end of the machine those of the last
 * second. Failures are SERVICE_UNAVAILABLE.
 */
export function createUnsavedReplies(redis: Redis) {
  const key = (surveyId: string): string => `ai:paid:${surveyId}`;
  const field = (id: string, topic: string): string => `${id} ${topic}`;
  /** Deletes expired replies of all topics: the key of a survey expires only a day after its last reply. */
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

    /** Lists the replies of a topic, oldest first. */
    list: async ({ surveyId, topic }: AnalysisTopic): Promise<UnsavedReply[]> => {
      const replies = Object.entries(await orUnavailable(redis.hgetall(key(surveyId))));
      await removeExpired(
        surveyId,
        replies.map(([name]) => name),
      );
      const texts = replies.filter(([name]) => name.endsWith(` ${topic}`) && !isExpired(name)).map(([, text]) => text);
      return texts.map((text): UnsavedReply => JSON.parse(text)).sort((one, other) => (one.id < other.id ? -1 : 1));
    },

    remove: async ({ surveyId, topic }: AnalysisTopic, ids: readonly string[]): Promise<void> => {
      if (ids.length > 0) await orUnavailable(redis.hdel(key(surveyId), ...ids.map((id) => field(id, topic))));
    },

    removeOfSurvey: async (surveyId: string): Promise<void> => void (await orUnavailable(redis.del(key(surveyId)))),
  };
}

export type UnsavedReplies = ReturnType<typeof createUnsavedReplies>;

/** Whether a reply is too old, by the milliseconds at the beginning of its id. */
const isExpired = (name: string): boolean =>
  Number.parseInt(name.slice(0, 8) + name.slice(9, 13), 16) < Date.now() - unsavedReplyTtlSeconds * 1000;

/** Runs gathered commands in one round trip; rejects with the first failure. */
async function executeAll(commands: ChainableCommander): Promise<unknown[]> {
  return ((await commands.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}
