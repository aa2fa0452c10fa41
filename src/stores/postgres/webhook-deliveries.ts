import { nilUuid } from '../../platform/ids.ts';
import { type Sql, withPostgres } from './client.ts';
import { retryOnDeadlock } from './errors.ts';
import { type DeliveryAttempt, newestAttempts } from './webhook-delivery-attempts.ts';
import { markSurveyDeleted, maxRowsPerStatement, purgeSurplus } from './webhook-delivery-pages.ts';
import { insertDeliveries, type NewDelivery } from './webhook-new-deliveries.ts';
import { isUnchangedSince } from './webhook-row.ts';

export const deliveryStatuses = ['PENDING', 'DELIVERED', 'FAILED'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** The delivery of an event to one endpoint, as it is sent. */
export interface DueDelivery {
  /** Also the `webhook-id` of every attempt where it is sent alone, and its `id` in batches. */
  id: string;
  webhookId: string;
  event: string;
  occurredAt: Date;
  data: Record<string, unknown>;
  status: DeliveryStatus;
  /** Failed attempts since it last became pending. */
  tries: number;
  nextAttemptAt: Date | null;
  pendingSince: Date;
  batchId: string | null;
  createdAt: Date;
}

/** A delivery with the log of its attempts, which may be large. */
export interface Delivery extends DueDelivery {
  attempts: readonly DeliveryAttempt[];
}

/** The result of an attempt. */
export interface DeliveryResult {
  id: string;
  /** Of the delivery as it was read for the attempt. */
  pendingSince: Date;
  status: DeliveryStatus;
  tries: number;
  nextAttemptAt: Date | null;
  attempt: DeliveryAttempt;
}

export interface DeliveryQuery {
  webhookId: string;
  status?: DeliveryStatus | undefined;
  event?: string | undefined;
  page: number;
  limit: number;
}

export interface DeliveryPage {
  pieces: AsyncIterable<readonly Delivery[]>;
  /** Number over all pages. */
  total: number;
}

const dueColumns = [
  'id',
  'webhook_id',
  'event',
  'occurred_at',
  'data',
  'status',
  'tries',
  'next_attempt_at',
  'pending_since',
  'batch_id',
  'created_at',
];
const columns = [...dueColumns, 'attempts'];
/** How long a delivery is postponed if its owner may not see the survey. */
const hiddenRetrySeconds = 300;
const deliveriesPerPiece = 10;
/** Longer than PostgreSQL lets a statement take. */
const addTimeoutMs = 12_000;

interface DueRow {
  id: string;
  webhook_id: string;
  event: string;
  occurred_at: Date;
  data: Record<string, unknown>;
  status: DeliveryStatus;
  tries: number;
  next_attempt_at: Date | null;
  pending_since: Date;
  batch_id: string | null;
  created_at: Date;
}

interface DeliveryRow extends DueRow {
  attempts: DeliveryAttempt[];
}

export function createDeliveryStore(sql: Sql) {
  return {
    /** Writes deliveries that are not written yet, without those of deleted endpoints. */
    async add(deliveries: readonly NewDelivery[]): Promise<void> {
      for (let at = 0; at < deliveries.length; at += maxRowsPerStatement)
        await withPostgres(() => insertDeliveries(sql, deliveries.slice(at, at + maxRowsPerStatement)), addTimeoutMs);
    },

    /** Number of waiting deliveries by endpoint, counted up to its limit. */
    countPending: (webhookIds: readonly string[]): Promise<Map<string, number>> =>
      withPostgres(async () => {
        const rows = await sql<{ id: string; waiting: number }[]>`
          SELECT w.id, (
            SELECT count(*) FROM (
              SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'PENDING' LIMIT w.max_waiting
            ) line) AS waiting
          FROM webhooks w WHERE w.id = ANY(${webhookIds}::uuid[])`;
        return new Map(rows.map((row) => [row.id, row.waiting]));
      }),

    /**
     * Marks the response as deleted in all deliveries, also in ended ones: they may be sent again. Each is found by a step
     * in the index that is in this order: to conditions of equality PostgreSQL, with old statistics or none, reads all
     * deliveries of the endpoints.
     */
    async markDeleted(webhookIds: readonly string[], eventKeys: readonly string[]): Promise<void> {
      await retryOnDeadlock(
        () => sql`
          UPDATE webhook_deliveries SET data = data || '{"deleted": true}'
          WHERE id = ANY(ARRAY(
            SELECT d.id FROM unnest(${webhookIds}::uuid[]) w (id) CROSS JOIN unnest(${eventKeys}::text[]) k (event_key)
            CROSS JOIN LATERAL (
              SELECT id, webhook_id, event_key, data FROM webhook_deliveries
              WHERE (webhook_id, event_key) >= (w.id, k.event_key) ORDER BY webhook_id, event_key LIMIT 1) d
            WHERE d.webhook_id = w.id AND d.event_key = k.event_key AND NOT d.data @> '{"deleted": true}'))`,
      );
    },

    /**
     * The same for everything of a survey, in pages. After a failure, a repeat does not write marked deliveries again.
     */
    markSurveyDeleted: (surveyId: string): Promise<void> => markSurveyDeleted(sql, surveyId),

    /**
     * Due deliveries, longest due first, without those that the caller holds and those of surveys that the owner may
     * not see. None if the endpoint was changed since `asOf`: whoever sends them must know its new address and secret.
     */
    findDue: async (
      webhookId: string,
      { now, asOf, excludedIds, limit }: { now: Date; asOf: Date; excludedIds: readonly string[]; limit: number },
    ): Promise<DueDelivery[]> => {
      for (;;) {
        const rows = await sql<CheckedRow[]>`
          SELECT ${sql(dueColumns)}, ${isHiddenFromOwner(sql, webhookId)} AS is_unseen FROM webhook_deliveries d
          WHERE webhook_id = ${webhookId} AND status = 'PENDING' AND next_attempt_at <= ${now}
            AND id <> ALL(${excludedIds}::uuid[])
            AND EXISTS (SELECT FROM webhooks w WHERE w.id = ${webhookId} AND ${isUnchangedSince(sql, asOf)})
          ORDER BY next_attempt_at LIMIT ${limit}`;
        const visible = await postponeHidden(sql, rows, now);
        if (visible.length > 0 || rows.length < limit) return visible.map(dueDeliveryOf);
      }
    },

    /** Waiting deliveries of a batch, without those of surveys that the owner may not see. */
    findPendingOfBatch: async (webhookId: string, batchIds: readonly string[], now: Date): Promise<DueDelivery[]> => {
      const rows = await sql<CheckedRow[]>`
        SELECT ${sql(dueColumns)}, ${isHiddenFromOwner(sql, webhookId)} AS is_unseen FROM webhook_deliveries d
        WHERE batch_id = ANY(${batchIds}::uuid[]) AND webhook_id = ${webhookId} AND status = 'PENDING' ORDER BY id`;
      return (await postponeHidden(sql, rows, now)).map(dueDeliveryOf);
    },

    /** Assigns deliveries to one request permanently, so that a repetition has the same content. */
    async bindBatch(batchId: string, ids: readonly string[]): Promise<void> {
      await sql`UPDATE webhook_deliveries SET batch_id = ${batchId}
        WHERE id = ANY(${ids}::uuid[]) AND status = 'PENDING'`;
    },

    /**
     * Stores the results of attempts. Repeating the call logs no second attempt. A late call of a former lease holder
     * changes no delivery that was delivered meanwhile. Results are logged only, and their deliveries stay as they are,
     * if the delivery was made pending again during the attempt; failures also if the endpoint was changed since `asOf`.
     * The deliveries of a batch share an attempt, which is sent once.
     */
    async saveResults(results: readonly DeliveryResult[], asOf: Date): Promise<'saved' | 'endpoint changed'> {
      const field = <T>(of: (settlement: DeliveryResult) => T): T[] => results.map(of);
      const attempts = [...new Set(field((item) => item.attempt))];
      const isAtFormerEndpoint = sql`(s.status <> 'DELIVERED' AND NOT ${isUnchangedSince(sql, asOf)})`;
      const isPendingAnew = sql`date_trunc('milliseconds', d.pending_since) <> s.pending_since::timestamptz`;
      const isKept = sql`d.status = 'DELIVERED' OR ${isAtFormerEndpoint} OR ${isPendingAnew}`;
      const rows = await sql<{ isAtFormerEndpoint: boolean }[]>`
        UPDATE webhook_deliveries d
        SET status = CASE WHEN ${isKept} THEN d.status ELSE s.status END,
          tries = CASE WHEN ${isKept} THEN d.tries ELSE s.tries END,
          next_attempt_at = CASE WHEN ${isKept} THEN d.next_attempt_at ELSE s.next_at::timestamptz END,
          attempts = CASE WHEN d.attempts -> -1 = a.attempt::jsonb THEN d.attempts
            ELSE ${newestAttempts(sql)} || a.attempt::jsonb END
        FROM unnest(${field((item) => item.id)}::uuid[], ${field((item) => item.status)}::text[],
          ${field((item) => item.tries)}::int[],
          ${field((item) => item.nextAttemptAt?.toISOString() ?? null)}::text[],
          ${field((item) => attempts.indexOf(item.attempt) + 1)}::int[],
          ${field((item) => item.pendingSince.toISOString())}::text[])
          AS s (id, status, tries, next_at, attempt_number, pending_since)
        JOIN unnest(${attempts.map((attempt) => JSON.stringify(attempt))}::text[]) WITH ORDINALITY
          AS a (attempt, number) ON a.number = s.attempt_number, webhooks w
        WHERE d.id = s.id AND w.id = d.webhook_id RETURNING ${isAtFormerEndpoint} AS "isAtFormerEndpoint"`;
      return rows.some((row) => row.isAtFormerEndpoint) ? 'endpoint changed' : 'saved';
    },

    find: (webhookId: string, id: string): Promise<Delivery | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<
          DeliveryRow[]
        >`SELECT ${sql(columns)} FROM webhook_deliveries WHERE id = ${id} AND webhook_id = ${webhookId}`;
        return row && deliveryOf(row);
      }),

    /** Deliveries, newest first. Each piece is read when it is taken, as their logs may hold megabytes. */
    list: ({ webhookId, status, event, page, limit }: DeliveryQuery): Promise<DeliveryPage> =>
      withPostgres(async () => {
        const which = sql`webhook_id = ${webhookId} ${status ? sql`AND status = ${status}` : sql``} ${event ? sql`AND event = ${event}` : sql``}`;
        const [rows, [count]] = await Promise.all([
          sql<{ id: string }[]>`
            SELECT id FROM webhook_deliveries WHERE ${which} ORDER BY id DESC LIMIT ${limit}
            OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM webhook_deliveries WHERE ${which}`,
        ]);
        const ids = rows.map(({ id }) => id);
        return { pieces: readPieces(sql, ids), total: count?.total ?? 0 };
      }),

    /** Makes a delivery pending again, with a new retry schedule. Undefined if there is none. */
    redeliver: (webhookId: string, id: string, now: Date): Promise<Delivery | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<DeliveryRow[]>`
          UPDATE webhook_deliveries d
          SET status = 'PENDING', tries = 0, next_attempt_at = ${now}, pending_since = ${now}, batch_id = NULL,
            data = ${dataNow(sql)}
          WHERE id = ${id} AND webhook_id = ${webhookId} RETURNING ${sql(columns)}`;
        return row && deliveryOf(row);
      }),

    /**
     * Makes deliveries of a span of time (end exclusive) pending again, optionally of one status only; returns how
     * many.
     */
    async replay(
      webhookId: string,
      { since, until, status, now }: { since: Date; until: Date; status?: DeliveryStatus | undefined; now: Date },
    ): Promise<number> {
      let after = nilUuid;
      for (let total = 0; ; ) {
        // A purge may delete rows of the page before they are updated: they end no replay.
        const [page] = await withPostgres(
          async () => sql<{ replayed: number; found: number; last: string | null }[]>`
          WITH part AS (
            SELECT id FROM webhook_deliveries
            WHERE webhook_id = ${webhookId} AND id > ${after} AND created_at >= ${since} AND created_at < ${until}
              AND status <> 'PENDING' ${status ? sql`AND status = ${status}` : sql``} ORDER BY id
                LIMIT ${maxRowsPerStatement}),
          done AS (
            UPDATE webhook_deliveries d
            SET status = 'PENDING', tries = 0, next_attempt_at = ${now}, pending_since = ${now}, batch_id = NULL,
              data = ${dataNow(sql)}
            FROM part WHERE d.id = part.id RETURNING d.id)
          SELECT (SELECT count(*) FROM done) AS replayed, count(*) AS found, (array_agg(id ORDER BY id DESC))[1] AS last
          FROM part`,
        );
        total += page?.replayed ?? 0;
        if (!page?.last || page.found < maxRowsPerStatement) return total;
        after = page.last;
      }
    },

    /**
     * Gives up deliveries older than their endpoint allows, up to a limit; returns how many. Those whose row another
     * call changes at this moment are left to the next time, here and in `purgeOld`: they may have been delivered, or
     * be pending anew.
     */
    async expire(now: Date): Promise<number> {
      const attempt: DeliveryAttempt = {
        at: now.toISOString(),
        httpStatus: null,
        latencyMs: 0,
        response: null,
        error: 'it was pending for longer than the endpoint allows',
      };
      const done = await sql`
        UPDATE webhook_deliveries d
        SET status = 'FAILED', next_attempt_at = NULL,
          attempts = ${newestAttempts(sql)} || ${JSON.stringify(attempt)}::text::jsonb
        WHERE id IN (
          SELECT old.id FROM webhooks w CROSS JOIN LATERAL (
            SELECT d.id FROM webhook_deliveries d
            WHERE d.webhook_id = w.id AND d.status = 'PENDING'
              AND d.pending_since < ${now}::timestamptz - make_interval(secs => w.max_age_seconds)
            ORDER BY d.pending_since LIMIT ${maxRowsPerStatement} FOR UPDATE SKIP LOCKED) old LIMIT ${maxRowsPerStatement})`;
      return done.count;
    },

    /** Deletes ended deliveries that were created before a time, up to a limit; returns how many. */
    async purgeOld(before: Date): Promise<number> {
      const done = await sql`
        DELETE FROM webhook_deliveries WHERE id IN (
          SELECT old.id FROM webhooks w CROSS JOIN LATERAL (
            SELECT d.id FROM webhook_deliveries d
            WHERE d.webhook_id = w.id AND d.status <> 'PENDING' AND d.created_at < ${before}
            ORDER BY d.created_at LIMIT ${maxRowsPerStatement} FOR UPDATE SKIP LOCKED) old LIMIT ${maxRowsPerStatement})`;
      return done.count;
    },

    /** Deletes ended deliveries beyond the newest `keptAtMost` of their endpoint. Reads an index entry of every row. */
    purgeSurplus: (keptAtMost: number): Promise<void> => purgeSurplus(sql, keptAtMost),
  };
}

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

export interface SendingDeliveryStore extends DeliveryStore {
  /** `saveResults` without waiting for the disk: a crash of PostgreSQL undoes those of its last half second. */
  saveResultsUnsynced: DeliveryStore['saveResults'];
}

interface CheckedRow extends DueRow {
  is_unseen: boolean;
}

/**
 * SQL: the endpoint's owner may no longer see the survey of delivery `d`. Reads the owner once a query; for owners
 * other than ADMINs, two primary keys a row. A missing survey, as in test events, hides nothing.
 */
const isHiddenFromOwner = (sql: Sql, webhookId: string) => sql`
  CASE
    WHEN (SELECT u.role = 'ADMIN' AND w.made_as = 'ADMIN' FROM webhooks w JOIN users u ON u.id = w.owner_id
    WHERE w.id = ${webhookId}) THEN false ELSE EXISTS (
    SELECT FROM surveys s JOIN webhooks w ON w.id = ${webhookId}
    WHERE s.id = (d.data ->> 'surveyId')::uuid AND s.owner_id <> w.owner_id
      AND NOT EXISTS (SELECT FROM survey_members m WHERE m.survey_id = s.id AND m.user_id = w.owner_id)) END`;

/**
 * Postpones hidden deliveries, so that they are not read all the time and delay no others, and removes them from their
 * batch.
 */
async function postponeHidden(sql: Sql, rows: readonly CheckedRow[], now: Date): Promise<CheckedRow[]> {
  const hiddenIds = rows.filter((row) => row.is_unseen).map(({ id }) => id);
  if (hiddenIds.length > 0)
    await sql`
      UPDATE webhook_deliveries
      SET next_attempt_at = greatest(next_attempt_at,
        ${now}::timestamptz + make_interval(secs => ${hiddenRetrySeconds})), batch_id = NULL
      WHERE id = ANY(${hiddenIds}::uuid[]) AND status = 'PENDING'`;
  return rows.filter((row) => !row.is_unseen);
}

async function* readPieces(sql: Sql, ids: readonly string[]): AsyncGenerator<Delivery[]> {
  for (let at = 0; at < ids.length; at += deliveriesPerPiece) {
    const part = ids.slice(at, at + deliveriesPerPiece);
    const rows = await withPostgres(
      async () => sql<DeliveryRow[]>`
        SELECT ${sql(columns)} FROM webhook_deliveries WHERE id = ANY(${part}::uuid[]) ORDER BY id DESC`,
    );
    yield rows.map(deliveryOf);
  }
}

/** SQL: the data of delivery `d`, which say so if its survey was deleted after it had been sent. */
const dataNow = (sql: Sql) => sql`
  CASE WHEN EXISTS (SELECT FROM surveys s WHERE s.id = (d.data ->> 'surveyId')::uuid AND s.deleted_at IS NOT NULL)
    THEN d.data || '{"deleted": true}' ELSE d.data END`;

const deliveryOf = (row: DeliveryRow): Delivery => ({ ...dueDeliveryOf(row), attempts: row.attempts });

function dueDeliveryOf(row: DueRow): DueDelivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    event: row.event,
    occurredAt: row.occurred_at,
    data: row.data,
    status: row.status,
    tries: row.tries,
    nextAttemptAt: row.next_attempt_at,
    pendingSince: row.pending_since,
    batchId: row.batch_id,
    createdAt: row.created_at,
  };
}
