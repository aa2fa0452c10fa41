import type { Redis } from 'ioredis';
import { deletionKey, includesDeletion } from './deleted-responses.ts';
import { idAfter, isAtOrAfter } from './entry-id.ts';
import { intakeScript } from './scripts.ts';
import type { Shard } from './shards.ts';

/** One entry of a shard's stream: the submissions that one tick accepted. */
export interface StreamEntry {
  id: string;
  /** Rows in it. */
  count: number;
  /** Number of code positions that its rows may use. */
  codeColumns: number;
  /** Surveys that its rows belong to. */
  surveyIds: readonly string[];
  /** Bytes of each survey's rows, in the order of `surveyIds`. */
  sizes: readonly number[];
  /** Surveys whose quota was filled by it. */
  filled: readonly string[];
  /** Quotas by cell that it reached, each with the number of times that this has happened. */
  reachedQuotas: readonly ReachedQuota[];
  /** JSONCompactEachRow lines, joined by line feeds. */
  rows: Buffer;
  /** Named surveys: the invitations that its rows used. */
  invited: readonly UsedInvitation[];
  /** Idempotency records, JSONCompactEachRow lines joined by line feeds; empty where there are none. */
  records: Buffer;
}

export interface ReachedQuota {
  surveyId: string;
  code: number;
  /** How often it was reached. */
  times: number;
  /** Responses that it then counted; undefined in entries of earlier versions. */
  count?: number;
  /** The quota as it was when it was reached; undefined in entries of earlier versions. */
  quota?: { id: string; name: string; limit: number };
}

/** A save of a response that an invitation names. */
export interface UsedInvitation {
  /** Hash of the token in hexadecimal; '' where it was not known: an earlier entry of the shard names it. */
  tokenHash: string;
  /** '' in entries of earlier versions. */
  surveyId: string;
  responseId: string;
  isComplete: boolean;
}

/** An entry of a newer version, which this version cannot read. */
export class UnknownEntryFormat extends Error {
  constructor(id: string) {
    super(`stream entry ${id} is of a format that this version does not know`);
    this.name = 'UnknownEntryFormat';
  }
}

export interface ShardLease {
  shard: Shard;
  name: string;
  fence: number;
}

export interface ShardStats {
  /** Entries in the stream, and those of them that are not acknowledged. */
  length: number;
  lag: number;
  /** Id of the oldest entry that is not acknowledged; undefined if all are. */
  oldest: string | undefined;
  /** Id of the oldest entry that is acknowledged and not forwarded; undefined if there is none. */
  unforwarded: string | undefined;
}

export interface DeadLetter {
  id: string;
  reason: string;
  rows: Buffer;
  /** Whether its rows have a format that this version knows. */
  isKnown: boolean;
}

type StreamRedis = Redis & {
  leaseShard(key: string, ...args: (string | number)[]): Promise<number>;
  writeAsOwner(key: string, ...args: (string | number | Buffer)[]): Promise<number>;
  trimShard(stream: string, prefix: string, keepFrom: string, staysMs: number): Promise<number>;
  acknowledgedBefore(stream: string, prefix: string, ms: number): Promise<[id: string, keptFrom: string]>;
  requeueDeadLetter(stream: string, ...args: (string | number | Buffer)[]): Promise<number>;
  removeDeadLetters(stream: string, ...args: string[]): Promise<number>;
  shardStats(stream: string, prefix: string): Promise<[number, number, string, string]>;
  newestId(stream: string): Promise<string>;
  findDeadLettersBuffer(deadLetters: string, after: string, surveyId: string, responseId: string): Promise<Buffer[]>;
};

/** Reads, acknowledges and trims the intake's streams. */
export function createStream(plain: Redis) {
  const redis = plain as StreamRedis;
  redis.defineCommand('leaseShard', { numberOfKeys: 1, lua: intakeScript('lease-shard') });
  redis.defineCommand('writeAsOwner', { numberOfKeys: 1, lua: intakeScript('write-as-owner') });
  redis.defineCommand('trimShard', { numberOfKeys: 1, lua: intakeScript('trim-stream') });
  redis.defineCommand('acknowledgedBefore', { numberOfKeys: 1, lua: intakeScript('acknowledged-before') });
  redis.defineCommand('requeueDeadLetter', { numberOfKeys: 1, lua: intakeScript('requeue-dead-letter') });
  redis.defineCommand('removeDeadLetters', { numberOfKeys: 1, lua: intakeScript('remove-dead-letters') });
  redis.defineCommand('shardStats', { numberOfKeys: 1, lua: intakeScript('shard-stats') });
  redis.defineCommand('newestId', { numberOfKeys: 1, lua: intakeScript('newest-id') });
  redis.defineCommand('findDeadLetters', { numberOfKeys: 1, lua: intakeScript('find-dead-letters') });
  const writeAsOwner = async (lease: ShardLease, ...args: (string | Buffer)[]): Promise<boolean> =>
    (await redis.writeAsOwner(`${lease.shard.prefix}owner`, lease.shard.prefix, lease.name, lease.fence, ...args)) ===
    1;
  const range = async (key: string, from: string, to: string, count: number): Promise<StreamEntry[]> => {
    const found: unknown = await redis.callBuffer('XRANGE', key, from, to, 'COUNT', String(count));
    return Array.isArray(found) ? found.map(readEntry) : [];
  };
  const acknowledged = async (shard: Shard): Promise<string> => (await redis.get(`${shard.prefix}acked`)) ?? '0-0';
  return {
    /** Leases the shard or renews the lease; undefined while another process owns it. */
    async lease(shard: Shard, name: string, leaseMs: number): Promise<ShardLease | undefined> {
      const fence = await redis.leaseShard(`${shard.prefix}owner`, shard.prefix, name, leaseMs);
      return fence > 0 ? { shard, name, fence } : undefined;
    },
    readAfter: (shard: Shard, id: string, count: number): Promise<StreamEntry[]> =>
      range(shard.stream, `(${id}`, '+', count),
    readRange: (shard: Shard, from: string, to: string, count: number): Promise<StreamEntry[]> =>
      range(shard.stream, from, to, count),
    acknowledged,
    /** Position up to which entries have been dispatched to webhooks and quotas. */
    dispatched: async (shard: Shard): Promise<string> =>
      (await redis.get(`${shard.prefix}handed-on`)) ?? acknowledged(shard),
    /** Writes new data versions of a stored batch's surveys, which invalidates their cached counts. */
    markStored: (lease: ShardLease, to: string, surveyIds: readonly string[]): Promise<boolean> =>
      writeAsOwner(lease, 'stored', to, surveyIds.join(',')),
    /** Notes that these entries, and all before them, are in the response store. */
    acknowledge: (
      lease: ShardLease,
      entries: readonly Pick<StreamEntry, 'id' | 'surveyIds' | 'sizes'>[],
    ): Promise<boolean> => {
      const bySurvey = bytesBySurvey(entries);
      const sum = [...bySurvey.values()].reduce((bytes, more) => bytes + more, 0);
      return writeAsOwner(
        lease,
        'acknowledge',
        entries.at(-1)?.id ?? '0-0',
        String(entries.length),
        String(sum),
        ...[...bySurvey].flatMap(([surveyId, bytes]) => [surveyId, String(bytes)]),
      );
    },
    markDispatched: (lease: ShardLease, to: string): Promise<boolean> => writeAsOwner(lease, 'dispatched', to),
    addDeadLetter: (lease: ShardLease, reason: string, rows: Buffer): Promise<boolean> =>
      writeAsOwner(lease, 'dead-letter', reason, rows),
    release: (lease: ShardLease): Promise<boolean> => writeAsOwner(lease, 'release'),
    /**
     * Removes entries older than this id, but none that is not stored or not dispatched yet, or was acknowledged less
     * than `staysMs` ago.
     */
    trim: async (shard: Shard, keepFrom: string, { staysMs = 0 }: { staysMs?: number } = {}): Promise<void> =>
      void (await redis.trimShard(shard.stream, shard.prefix, keepFrom, staysMs)),
    /** Id of an entry that was acknowledged at least so many milliseconds ago; '0-0' where none is known. */
    acknowledgedBefore: async (shard: Shard, ms: number): Promise<string> =>
      (await redis.acknowledgedBefore(shard.stream, shard.prefix, ms))[0],
    /** Whether every entry that was acknowledged in the last so many milliseconds is still there. */
    async keepsSince(shard: Shard, ms: number): Promise<boolean> {
      const [id, keptFrom] = await redis.acknowledgedBefore(shard.stream, shard.prefix, ms);
      return keptFrom !== '' && isAtOrAfter(idAfter(id), keptFrom);
    },
    /** The newest id of the shard, '0-0' if nothing was ever written. Sends no entry, as waiting readers ask often. */
    newestId: (shard: Shard): Promise<string> => redis.newestId(shard.stream),
    /** Whether an entry with this id or an older one is still there. */
    hasEntryUpTo: async (shard: Shard, id: string): Promise<boolean> =>
      (await range(shard.stream, '-', id, 1)).length > 0,
    async stats(shard: Shard): Promise<ShardStats> {
      const [length, lag, oldest, unforwarded] = await redis.shardStats(shard.stream, shard.prefix);
      return { length, lag, oldest: oldest || undefined, unforwarded: unforwarded || undefined };
    },
    countDeadLetters: (shard: Shard): Promise<number> => redis.xlen(`${shard.prefix}dead`),
    /** The oldest, or those that follow the one with the id `after`. */
    async listDeadLetters(
      shard: Shard,
      { count, after }: { count: number; after?: string | undefined },
    ): Promise<DeadLetter[]> {
      const found: unknown = await redis.callBuffer(
        'XRANGE',
        `${shard.prefix}dead`,
        after === undefined ? '-' : `(${after}`,
        '+',
        'COUNT',
        String(count),
      );
      if (!Array.isArray(found)) return [];
      return found.map((item: unknown) => {
        const { id, fields } = readFields(item);
        return {
          id,
          reason: fields.get('reason')?.toString() ?? '',
          rows: fields.get('rows') ?? emptyBuffer,
          isKnown: knownFormats.has(fields.get('v')?.toString()),
        };
      });
    },
    /**
     * All dead letters, or those of a survey or response, the oldest first. Redis filters them, so that only matches
     * are sent.
     */
    async *findDeadLetters(
      shard: Shard,
      { surveyId = '', responseId = '' }: { surveyId?: string; responseId?: string } = {},
    ): AsyncGenerator<DeadLetter> {
      for (let after = ''; ; ) {
        const [next, ...found] = await redis.findDeadLettersBuffer(`${shard.prefix}dead`, after, surveyId, responseId);
        for (let i = 0; i + 3 < found.length; i += 4) yield toDeadLetter(found.slice(i, i + 4));
        after = next?.toString() ?? '';
        if (after === '') return;
      }
    },
    /**
     * Moves a dead letter back to the end of the stream, atomically. False: it is not there any more, or has the format
     * of a newer version.
     */
    requeueDeadLetter: async (
      shard: Shard,
      deadLetter: DeadLetter,
      entry: { count: number; codeColumns: number; surveyIds: readonly string[] },
    ): Promise<boolean> =>
      (await redis.requeueDeadLetter(
        shard.stream,
        shard.prefix,
        deadLetter.id,
        entry.count,
        entry.codeColumns,
        entry.surveyIds.join(','),
        deadLetter.rows,
      )) === 1,
    /** They count as deletions: their answers stay in the append-only file until it is rewritten. */
    async removeDeadLetters(shard: Shard, ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return;
      await redis.removeDeadLetters(shard.stream, shard.prefix, ...ids);
    },
    /** Whether the response with this id and submission time was deleted lately. */
    async isDeleted(shard: Shard, responseId: string, submittedAtMs: number): Promise<boolean> {
      return includesDeletion(await redis.get(deletionKey(shard, responseId)), submittedAtMs);
    },
  };
}

export type Stream = ReturnType<typeof createStream>;

function readFields(item: unknown): { id: string; fields: Map<string, Buffer> } {
  const [id, flat] = item as [Buffer, Buffer[]];
  const fields = new Map<string, Buffer>();
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(String(flat[i]), flat[i + 1] as Buffer);
  return { id: id.toString(), fields };
}

const toDeadLetter = ([id, reason, format, rows]: readonly (Buffer | undefined)[]): DeadLetter => ({
  id: String(id),
  reason: String(reason),
  rows: rows ?? emptyBuffer,
  isKnown: knownFormats.has(format?.toString() || undefined),
});

const emptyBuffer = Buffer.alloc(0);

const listOf = (field: Buffer | undefined): string[] => (field && field.length > 0 ? field.toString().split(',') : []);

/** Known versions of the entry format (field `v`). New fields need no new version; a changed meaning does. */
const knownFormats = new Set([undefined, '1']);

function readUsedInvitation(text: string): UsedInvitation {
  const [tokenHash = '', responseId = '', outcome = '0', surveyId = ''] = text.split(':');
  return { tokenHash, surveyId, responseId, isComplete: outcome !== '0' };
}

function readEntry(item: unknown): StreamEntry {
  const { id, fields } = readFields(item);
  const [count, codeColumns] = [toInteger(fields.get('n')), toInteger(fields.get('codes'))];
  const rows = fields.get('rows');
  if (!knownFormats.has(fields.get('v')?.toString()) || count === undefined || codeColumns === undefined || !rows)
    throw new UnknownEntryFormat(id);
  return {
    id,
    count,
    codeColumns,
    surveyIds: listOf(fields.get('surveys')),
    sizes: listOf(fields.get('sizes')).map(Number),
    filled: listOf(fields.get('filled')),
    reachedQuotas: listOf(fields.get('quotas')).map(readReachedQuota),
    invited: listOf(fields.get('invited')).map(readUsedInvitation),
    rows,
    records: withReplies(fields.get('records') ?? emptyBuffer, fields.get('replies')),
  };
}

/** Adds to each record, as a further column, what its reply said of the path. */
function withReplies(records: Buffer, replies: Buffer | undefined): Buffer {
  if (!replies) return records;
  const texts = replies.toString().split('\n');
  const lines = records.toString().split('\n');
  return Buffer.from(lines.map((line, index) => `${line.slice(0, -1)},"${texts[index] ?? ''}"]`).join('\n'));
}

function bytesBySurvey(entries: readonly Pick<StreamEntry, 'surveyIds' | 'sizes'>[]): Map<string, number> {
  const bytes = new Map<string, number>();
  for (const { surveyIds, sizes } of entries)
    for (const [index, surveyId] of surveyIds.entries())
      bytes.set(surveyId, (bytes.get(surveyId) ?? 0) + (sizes[index] ?? 0));
  return bytes;
}

function toInteger(field: Buffer | undefined): number | undefined {
  const text = field?.toString() ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Reads `survey:code:times:count:limit:id:name`; entries of earlier versions lack what came later. */
function readReachedQuota(text: string): ReachedQuota {
  const [surveyId = '', code, times, count, limit, id = '', name = ''] = text.split(':');
  return {
    surveyId,
    code: Number(code),
    times: Number(times),
    ...(count !== undefined && { count: Number(count) }),
    ...(id !== '' && { quota: { id, name: decodeURIComponent(name), limit: Number(limit) } }),
  };
}
