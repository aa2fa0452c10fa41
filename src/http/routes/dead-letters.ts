import { z } from 'zod';
import { type DeadLetterRow, readDeadLetterRow } from '../../domain/dead-letter-row.ts';
import { codePositionsOf } from '../../domain/response-row.ts';
import type { AuditActor } from '../../stores/postgres/audit.ts';
import type { Shard } from '../../stores/redis/intake/shards.ts';
import type { DeadLetter, Stream } from '../../stores/redis/intake/stream.ts';
import { ok, page, type Route, route } from '../routing/route.ts';
import { pageFields } from '../schemas/query-fields.ts';

export interface DeadLetterRoutesDeps {
  stream: Pick<
    Stream,
    'listDeadLetters' | 'findDeadLetters' | 'countDeadLetters' | 'requeueDeadLetter' | 'removeDeadLetters'
  >;
  shards: readonly Shard[];
  /** Dead letters of deleted surveys are dropped. */
  surveyExists(surveyId: string): Promise<boolean>;
  /** Records the audit event. */
  record(actor: AuditActor, revived: number): void;
}

/** Most dead letters of a shard that one call requeues. */
const maxRequeued = 1000;
/** A dead letter may take a quarter of a megabyte. */
const lettersPerRead = 50;

const deadLetterSchema = z
  .strictObject({
    id: z.string(),
    shard: z.number(),
    surveyId: z.string().nullable(),
    responseId: z.string().nullable(),
    reason: z.string(),
  })
  .meta({
    id: 'DeadLetter',
    description: 'An accepted response that ClickHouse could not read. It is kept until it is requeued.',
  });

/**
 * Accepted responses that ClickHouse refused, kept apart so that they do not block others, and requeued once the cause
 * is fixed.
 */
export function deadLetterRoutes({ stream, shards, surveyExists, record }: DeadLetterRoutesDeps): Route[] {
  /**
   * The oldest letters of a shard, read as they are taken: they may be large. Those that come back meanwhile, as they
   * still cannot be stored, are behind the ones that were there. Those of a newer version are skipped, so that they do
   * not block others.
   */
  async function* oldestLetters(shard: Shard): AsyncGenerator<DeadLetter> {
    let left = await stream.countDeadLetters(shard);
    let taken = 0;
    for await (const letter of stream.findDeadLetters(shard)) {
      if (left === 0 || taken === maxRequeued) return;
      left -= 1;
      if (!letter.isKnown) continue;
      taken += 1;
      yield letter;
    }
  }
  /** Whether it was requeued: not if it was erased meanwhile, nor if its survey was deleted. */
  const requeue = async (shard: Shard, letter: DeadLetter): Promise<boolean> => {
    const surveyId = idsIn(letter).surveyId ?? '';
    if (surveyId === '' || (await surveyExists(surveyId)))
      return stream.requeueDeadLetter(shard, letter, {
        count: rowCountIn(letter),
        codeColumns: codePositionsIn(letter),
        surveyIds: [surveyId],
      });
    await stream.removeDeadLetters(shard, [letter.id]);
    return false;
  };
  return [
    route({
      method: 'GET',
      path: '/dead-letters',
      operationId: 'listDeadLetters',
      tag: 'Service',
      summary: 'List accepted responses that could not be stored',
      description: 'Shard by shard, the oldest first.',
      access: { kind: 'admin' },
      limit: 'api',
      query: z.strictObject(pageFields(100)),
      reply: z.array(deadLetterSchema),
      replyStatus: 200,
      isPaged: true,
      handle: async ({ query }) => {
        const { items, total } = await listLetters(stream, shards, query);
        return page(
          items.map(({ shard, letter }) => ({
            id: letter.id,
            shard: shard.index,
            ...idsIn(letter),
            reason: letter.reason,
          })),
          { ...query, total },
        );
      },
    }),
    route({
      method: 'POST',
      path: '/dead-letters/replay',
      operationId: 'replayDeadLetters',
      tag: 'Service',
      summary: 'Requeue dead letters',
      description: `Each is stored again; those that still cannot be stored return to this list. One call takes at most the oldest ${maxRequeued} of every shard: call again for more. Those of deleted surveys are dropped.`,
      access: { kind: 'admin' },
      limit: 'api',
      reply: z.strictObject({ revived: z.number() }),
      replyStatus: 200,
      audit: 'by handler',
      handle: async ({ principal }) => {
        let revived = 0;
        try {
          for (const shard of shards)
            for await (const letter of oldestLetters(shard)) if (await requeue(shard, letter)) revived += 1;
        } finally {
          // Also if the replay failed half-way.
          record(principal, revived);
        }
        return ok({ revived });
      },
    }),
  ];
}

interface ShardLetter {
  shard: Shard;
  letter: DeadLetter;
}

/** One page over all shards. A stream has no access by offset, so the letters before the page are read and dropped. */
async function listLetters(
  stream: DeadLetterRoutesDeps['stream'],
  shards: readonly Shard[],
  { page, limit }: { page: number; limit: number },
): Promise<{ items: ShardLetter[]; total: number }> {
  const items: ShardLetter[] = [];
  let [total, skip] = [0, (page - 1) * limit];
  for (const shard of shards) {
    const count = await stream.countDeadLetters(shard);
    total += count;
    if (skip >= count) {
      skip -= count;
      continue;
    }
    let after: string | undefined;
    while (items.length < limit) {
      const letters = await stream.listDeadLetters(shard, { count: lettersPerRead, after });
      if (letters.length === 0) break;
      after = letters.at(-1)?.id;
      for (const letter of letters.slice(skip, skip + limit - items.length)) items.push({ shard, letter });
      skip = Math.max(0, skip - letters.length);
    }
  }
  return { items, total };
}

const idsIn = ({ rows }: DeadLetter): Pick<DeadLetterRow, 'surveyId' | 'responseId'> => {
  const { surveyId, responseId } = readDeadLetterRow(rows);
  return { surveyId, responseId };
};

const rowCountIn = ({ rows }: DeadLetter): number => rows.toString('latin1').split('\n').length;

/** The number of code columns that its rows need; more are not added, since the table keeps columns for ever. */
const codePositionsIn = ({ rows }: DeadLetter): number =>
  Math.max(0, ...rows.toString('latin1').split('\n').map(codePositionsOf));
