import { z } from 'zod';
import { type DeadLetterRow, readDeadLetterRow } from '../../domain/dead-letter-row.ts';
import { codePositionsOf } from '../../domain/response-row.ts';
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
  /** Whether there is such a survey; one that is gone gets nothing back. */
  surveyExists(surveyId: string): Promise<boolean>;
  /** Tells who did it. */
  record(actorId: string, revived: number): void;
}

/** Of a shard, by one call. */
const maxRequeued = 1000;
/** Of what may be a quarter of a megabyte each. */
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
    description: 'An accepted response that the response store could not read. It is kept until it is put back.',
  });

/** Accepted responses that ClickHouse refused: kept apart so that they hold up no others, and put back once the cause is gone. */
export function deadLetterRoutes({ stream, shards, surveyExists, record }: DeadLetterRoutesDeps): Route[] {
  const oldestLetters = async (shard: Shard): Promise<ShardLetter[]> => {
    const found: ShardLetter[] = [];
    for await (const letter of stream.findDeadLetters(shard)) {
      // Those that a newer version alone can put back hold up no others.
      if (letter.isKnown) found.push({ shard, letter });
      if (found.length === maxRequeued) break;
    }
    return found;
  };
  const oldest = async () => (await Promise.all(shards.map(oldestLetters))).flat();
  /** Whether it went back: not where it was erased meanwhile, nor where its survey is gone. */
  const requeue = async ({ shard, letter }: ShardLetter): Promise<boolean> => {
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
      tag: 'Service',
      summary: 'Accepted responses that could not be stored',
      description: 'Shard after shard, the oldest first.',
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
      tag: 'Service',
      summary: 'Put dead letters back into the stream',
      description: `Each is tried once more; what still cannot be stored comes back here. At most the oldest ${maxRequeued} of every shard: call again for more. Those of deleted surveys are dropped.`,
      access: { kind: 'admin' },
      limit: 'api',
      reply: z.strictObject({ revived: z.number() }),
      replyStatus: 200,
      audit: 'by handler',
      handle: async ({ principal }) => {
        let revived = 0;
        const letters = await oldest();
        try {
          for (const found of letters) if (await requeue(found)) revived += 1;
        } finally {
          // A replay that broke off has put back some all the same.
          record(principal.userId, revived);
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

/** One page over all shards. A shard can be counted but not entered at a place, so what lies before the page is read and let go. */
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

/** No more than its rows name: the table keeps for ever what columns are added for them. */
const codePositionsIn = ({ rows }: DeadLetter): number =>
  Math.max(0, ...rows.toString('latin1').split('\n').map(codePositionsOf));
