import { z } from 'zod';
import type { Shard } from '../../stores/redis/shards.ts';
import type { DeadLetter, Stream } from '../../stores/redis/stream.ts';
import { ok, route, type Route } from '../route.ts';

export interface DeadLetterRoutesDeps {
  stream: Pick<Stream, 'deadLetters' | 'revive'>;
  shards: readonly Shard[];
  /** Tells who did it. */
  record(actorId: string, revived: number): void;
}

const shownAtMost = 1000;

const deadLetterSchema = z
  .strictObject({ id: z.string(), shard: z.number(), surveyId: z.string().nullable(), responseId: z.string().nullable(), reason: z.string() })
  .meta({ id: 'DeadLetter', description: 'An accepted response that the response store could not read. It is kept until it is put back.' });

/** Accepted responses that ClickHouse refused: kept apart so that they hold up no others, and put back once the cause is gone. */
export function deadLetterRoutes({ stream, shards, record }: DeadLetterRoutesDeps): Route[] {
  const lettersOf = async (shard: Shard) => (await stream.deadLetters(shard, shownAtMost)).map((letter) => ({ shard, letter }));
  const all = async () => (await Promise.all(shards.map(lettersOf))).flat();
  return [
    route({
      method: 'GET', path: '/dead-letters', tag: 'Service', summary: 'Accepted responses that could not be stored',
      access: { kind: 'admin' }, limit: 'api', reply: z.array(deadLetterSchema), replyStatus: 200,
      handle: async () => ok((await all()).map(({ shard, letter }) => ({ id: letter.id, shard: shard.index, ...namesIn(letter), reason: letter.reason }))),
    }),
    route({
      method: 'POST', path: '/dead-letters/replay', tag: 'Service', summary: 'Put dead letters back into the stream',
      description: 'Each is tried once more; what still cannot be stored comes back here.',
      access: { kind: 'admin' }, limit: 'api', reply: z.strictObject({ revived: z.number() }), replyStatus: 200,
      handle: async ({ principal }) => {
        const letters = await all();
        for (const { shard, letter } of letters) await stream.revive(shard, letter, { count: linesIn(letter), codeColumns: codePositionsIn(letter), surveyIds: [namesIn(letter).surveyId ?? ''] });
        record(principal.userId, letters.length);
        return ok({ revived: letters.length });
      },
    }),
  ];
}

const idPattern = '([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})';
const head = new RegExp(`^\\["${idPattern}","${idPattern}"`);

/** The row may not be readable as a whole; its ids stand first. */
function namesIn({ rows }: DeadLetter): { surveyId: string | null; responseId: string | null } {
  const found = head.exec(rows.toString('utf8', 0, 200));
  return { surveyId: found?.[1] ?? null, responseId: found?.[2] ?? null };
}

const linesIn = ({ rows }: DeadLetter): number => rows.toString('latin1').split('\n').length;

/** Never too few: every comma could stand before one. */
const codePositionsIn = ({ rows }: DeadLetter): number => Math.min(4096, rows.toString('latin1').split(',').length);
