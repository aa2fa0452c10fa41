import { nilUuid } from '../../platform/ids.ts';
import { type Sql, type Tx, withPostgres } from './client.ts';
import { retryOnDeadlock } from './errors.ts';
import { partOfCall } from './refusable-call.ts';
import type { OwnedDataTransfer } from './users.ts';
import { removeDeliveries } from './webhook-delivery-pages.ts';
import {
  changedColumns,
  columnsOf,
  isUnchangedSince,
  type Webhook,
  type WebhookChanges,
  type WebhookRow,
  webhookOf,
} from './webhook-row.ts';

/** An endpoint that subscribes to a survey's events. */
export interface Subscription {
  webhookId: string;
  surveyId: string;
  events: readonly string[];
  isBatch: boolean;
  maxWaiting: number;
  /** When the endpoint was made: earlier events are not sent to it. */
  createdAt: Date;
  /** It is off, or its owner blocked: it gets no events now, but what waits for it is sent when that ends. */
  isSilent?: boolean;
}

/** When the rate limit of `webhook` allows the next event; null: now. */
export interface NextSend {
  webhook: Pick<Webhook, 'id' | 'maxPerSecond' | 'isBatch'>;
  at: Date | null;
}

/** An endpoint as it was when it was leased. */
export type LeasedWebhook = Pick<Webhook, 'id' | 'updatedAt'>;

/** Maximum endpoints of a user, and of those that name the same survey. */
export interface EndpointLimits {
  perUser: number;
  perSurvey: number;
}

export interface Lease {
  webhookId: string;
  holder: string;
  /** How long it lasts from now, by the clock of PostgreSQL: the clocks of processes may differ. */
  leaseMs: number;
}

export interface LeaseRenewal extends Lease {
  /** `updatedAt` of the endpoint as it was leased. */
  asOf: Date;
  nextSendAt: Date | null;
}

/** First key of the advisory locks under which endpoints are counted; the second is a hash of the user or survey. */
const endpointCountLock = 7_203;

/** The limit that one more endpoint would exceed. Concurrent calls for the same user or survey wait for one another. */
async function limitReached(
  tx: Tx,
  { ownerId, surveyId }: Pick<Webhook, 'ownerId' | 'surveyId'>,
  limits: Partial<EndpointLimits> | undefined,
): Promise<keyof EndpointLimits | undefined> {
  if (!limits) return undefined;
  for (const key of [ownerId, surveyId ?? ownerId].sort())
    await tx`SELECT pg_advisory_xact_lock(${endpointCountLock}, hashtext(${key}))`;
  const [count] = await tx<{ ofUser: number; ofSurvey: number }[]>`
    SELECT count(*) FILTER (WHERE owner_id = ${ownerId})::int AS "ofUser",
      count(*) FILTER (WHERE survey_id = ${surveyId})::int AS "ofSurvey"
    FROM webhooks WHERE owner_id = ${ownerId} OR survey_id = ${surveyId}`;
  const isReached = (limit = Number.POSITIVE_INFINITY, found = 0) => found >= limit;
  if (isReached(limits.perUser, count?.ofUser)) return 'perUser';
  return isReached(limits.perSurvey, count?.ofSurvey) ? 'perSurvey' : undefined;
}

export function createWebhookStore(sql: Sql) {
  const subscriptionColumns = sql`
    w.id AS "webhookId", w.events, w.is_batch AS "isBatch", w.max_waiting AS "maxWaiting", w.created_at AS "createdAt"`;
  const blockedReason = sql`
    CASE WHEN ${mayReceive(sql)} THEN NULL WHEN ${isOwnerActive(sql)} THEN ${ownerWithoutAccess}
      ELSE ${ownerInactive} END`;
  /** Whether the endpoint's rate limit is this one; a field that is left out may have any value. */
  const hasRateLimitOf = ({ maxPerSecond, isBatch }: Pick<WebhookChanges, 'maxPerSecond' | 'isBatch'>) => sql`(
    (${maxPerSecond === undefined} OR max_per_second IS NOT DISTINCT FROM ${maxPerSecond ?? null}::integer)
    AND is_batch = coalesce(${isBatch ?? null}::boolean, is_batch))`;
  const leaseEnd = (leaseMs: number) => sql`clock_timestamp() + make_interval(secs => ${leaseMs / 1000})`;
  /**
   * Whether endpoint `w` may be leased. A lease that is longer than any is of a former version, or of a clock that was
   * set back since.
   */
  const isLeasable = (now: Date) => sql`
    w.is_active AND ${mayReceive(sql)} AND (paused_until IS NULL OR paused_until <= ${now})
    AND (next_turn_at IS NULL OR next_turn_at <= ${new Date(now.getTime() + leaseAheadMs)}
      OR next_turn_at > ${new Date(now.getTime() + longestTurnMs)})
    AND (leased_until IS NULL OR leased_until <= clock_timestamp()
      OR leased_until > clock_timestamp() + interval '1 minute')`;
  return {
    find: (id: string): Promise<Webhook | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<WebhookRow[]>`SELECT w.*, ${blockedReason} AS silence FROM webhooks w WHERE id = ${id}`;
        return row && webhookOf(row);
      }),

    /** Endpoints, newest first; `ownerId` null: of all users. */
    list: ({
      ownerId,
      surveyId,
      page,
      limit,
    }: {
      ownerId: string | null;
      surveyId?: string | undefined;
      page: number;
      limit: number;
    }): Promise<{ items: Webhook[]; total: number }> =>
      withPostgres(async () => {
        const which = sql`(${ownerId}::uuid IS NULL OR owner_id = ${ownerId})
          AND (${surveyId ?? null}::uuid IS NULL OR survey_id = ${surveyId ?? null})`;
        const [rows, [count]] = await Promise.all([
          sql<
            WebhookRow[]
          >`SELECT w.*, ${blockedReason} AS silence FROM webhooks w WHERE ${which} ORDER BY id DESC LIMIT ${limit}
            OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM webhooks WHERE ${which}`,
        ]);
        return { items: rows.map(webhookOf), total: count?.total ?? 0 };
      }),

    /** Stores an endpoint, unless its user or survey has the maximum already; then returns which of them. */
    create: (webhook: Webhook, limits?: EndpointLimits): Promise<keyof EndpointLimits | undefined> =>
      withPostgres(() =>
        sql.begin(async (tx) => {
          const reached = await limitReached(tx, webhook, limits);
          if (reached === undefined) await tx`INSERT INTO webhooks ${tx(columnsOf(webhook))}`;
          return reached;
        }),
      ),

    /**
     * Changes the given fields of an endpoint that still belongs to the same owner. Activating it or changing its
     * address resets its failures; another rate limit resets the next send time. Returns false if it does not exist,
     * and the limit that its move to another survey would exceed.
     */
    change: (
      { id, ownerId, updatedAt }: Pick<Webhook, 'id' | 'ownerId' | 'updatedAt'>,
      changes: WebhookChanges,
      { at, limits }: { at: Date; limits?: Pick<EndpointLimits, 'perSurvey'> | undefined },
    ): Promise<boolean | keyof EndpointLimits> =>
      withPostgres(() =>
        sql.begin(async (tx) => {
          const { surveyId = null, isActive, url } = changes;
          // A move makes its owner no more endpoints.
          const reached = await limitReached(tx, { ownerId, surveyId }, limits && { perSurvey: limits.perSurvey });
          if (reached !== undefined) return reached;
          const columns = {
            ...changedColumns(changes),
            ...((isActive || url !== undefined) && { failing_since: null, paused_until: null }),
            ...(isActive && { disabled_at: null, disabled_reason: null }),
            // Differs from the former time: the holder of the lease compares them.
            updated_at: new Date(Math.max(at.getTime(), updatedAt.getTime() + 1)),
          };
          const done = await tx`
            UPDATE webhooks SET ${tx(columns)},
              next_turn_at = CASE WHEN ${hasRateLimitOf(changes)} THEN next_turn_at END
            WHERE id = ${id} AND owner_id = ${ownerId}`;
          return done.count > 0;
        }),
      ),

    /**
     * Replaces the secret; the former one signs until `oldUntil`. Returns false if the endpoint does not exist or has
     * the maximum of former secrets.
     */
    rotate: (id: string, secretSealed: Buffer, { oldUntil, now }: { oldUntil: Date; now: Date }): Promise<boolean> =>
      withPostgres(async () => {
        const older = sql`
          older_secrets || CASE WHEN old_secret_sealed IS NULL THEN '[]'::jsonb
            ELSE jsonb_build_array(jsonb_build_object('sealed', encode(old_secret_sealed, 'base64'), 'until',
            old_secret_until)) END`;
        const signing = sql`(SELECT coalesce(jsonb_agg(old), '[]'::jsonb) FROM jsonb_array_elements(${older}) old
          WHERE (old->>'until')::timestamptz > ${now})`;
        const done = await sql`
          UPDATE webhooks
          SET older_secrets = ${signing}, old_secret_sealed = secret_sealed, old_secret_until = ${oldUntil},
            secret_sealed = ${secretSealed},
            updated_at = greatest(${now}, date_trunc('milliseconds', updated_at) + interval '1 millisecond')
          WHERE id = ${id} AND jsonb_array_length(${signing}) < ${maxOldSecrets}`;
        return done.count > 0;
      }),

    /**
     * Deletes the endpoint with its deliveries, which may be in progress. A call that is given up for its time has
     * deleted some of the deliveries, so that the next one has fewer.
     */
    remove: (id: string): Promise<boolean> =>
      withPostgres(async () => {
        const removeEndpoint = partOfCall(() =>
          retryOnDeadlock(async () => (await sql`DELETE FROM webhooks WHERE id = ${id}`).count > 0),
        );
        await removeDeliveries(sql, id);
        return removeEndpoint();
      }),

    /**
     * Active endpoints whose owner may see any of these surveys; on request also those that are silent. Endpoints for
     * all surveys are left out where their owner may not see the survey.
     */
    findSubscriptions: async (
      surveyIds: readonly string[],
      { withSilent = false }: { withSilent?: boolean } = {},
    ): Promise<Subscription[]> =>
      sql<Subscription[]>`
        SELECT s.id AS "surveyId", NOT listens AS "isSilent", ${subscriptionColumns}
        FROM webhooks w JOIN users u ON u.id = w.owner_id
        JOIN surveys s ON s.id = ANY(${surveyIds}::uuid[]) AND (w.survey_id IS NULL OR w.survey_id = s.id)
        CROSS JOIN LATERAL (SELECT ${mayViewSurvey(sql)} AS may_view) AS access
        CROSS JOIN LATERAL (
          SELECT w.is_active AND may_view AND ${mayHaveEndpoints(sql)} AS listens) AS state
        WHERE listens OR (${withSilent} AND (may_view OR w.survey_id IS NOT NULL))`,

    /** Finds endpoints by id with what they subscribe to; switched-off ones too. */
    findEndpoints: async (webhookIds: readonly string[]): Promise<Omit<Subscription, 'surveyId'>[]> =>
      sql<Omit<Subscription, 'surveyId'>[]>`
        SELECT ${subscriptionColumns} FROM webhooks w WHERE w.id = ANY(${webhookIds}::uuid[])`,

    /** Surveys that active endpoints subscribe to; null stands for all surveys of an owner. */
    listSubscribedSurveys: async (): Promise<(string | null)[]> =>
      (await sql<{ survey_id: string | null }[]>`SELECT DISTINCT survey_id FROM webhooks WHERE is_active`).map(
        (row) => row.survey_id,
      ),

    /**
     * Leases an endpoint to a process. Undefined while another process holds it, or if it must not be sent to:
     * inactive, paused, long before its next send time, or of an owner without the right to endpoints or to its survey.
     */
    lease: async ({ webhookId, holder, leaseMs, now }: Lease & { now: Date }): Promise<Webhook | undefined> => {
      const [row] = await sql<WebhookRow[]>`
        UPDATE webhooks w SET leased_by = ${holder}, leased_until = ${leaseEnd(leaseMs)}
        WHERE id = ${webhookId} AND ${isLeasable(now)}
        RETURNING *`;
      return row && webhookOf(row);
    },

    /**
     * Renews leases and notes the next send times, in case the holder dies; all in one statement. False: the lease was
     * lost, or the endpoint was deleted, changed since `asOf`, switched off, or must no longer be sent to. An endpoint
     * that is being changed at this moment is left out.
     */
    renewLeases: async (renewals: readonly LeaseRenewal[]): Promise<Map<string, boolean>> => {
      const field = <T>(of: (renewal: LeaseRenewal) => T) => renewals.map(of);
      const rows = await sql<{ id: string; isRenewed: boolean }[]>`
        WITH renewals AS (
          SELECT * FROM unnest(${field((one) => one.webhookId)}::uuid[], ${field((one) => one.holder)}::uuid[],
            ${field((one) => one.leaseMs)}::integer[], ${field((one) => one.asOf.toISOString())}::timestamptz[],
            ${field((one) => one.nextSendAt?.toISOString() ?? null)}::timestamptz[]) AS r (id, holder, lease_ms, as_of, next_send_at)
        ), free AS MATERIALIZED (
          SELECT w.id FROM webhooks w WHERE w.id IN (SELECT id FROM renewals) FOR NO KEY UPDATE SKIP LOCKED
        ), renewed AS (
          UPDATE webhooks w
          SET leased_until = clock_timestamp() + make_interval(secs => r.lease_ms / 1000.0), next_turn_at = r.next_send_at
          FROM renewals r
          WHERE w.id = r.id AND w.id IN (SELECT id FROM free) AND w.leased_by = r.holder
            AND date_trunc('milliseconds', w.updated_at) = r.as_of AND w.is_active AND ${mayReceive(sql)}
          RETURNING w.id
        )
        SELECT id, id IN (SELECT id FROM renewed) AS "isRenewed" FROM renewals
        WHERE id IN (SELECT id FROM free) OR NOT EXISTS (SELECT FROM webhooks w WHERE w.id = renewals.id)`;
      return new Map(rows.map(({ id, isRenewed }) => [id, isRenewed]));
    },

    /** Releases the lease and notes the next send time, unless the rate limit was changed meanwhile. */
    release: async ({ webhook, at }: NextSend, holder: string): Promise<void> =>
      void (await sql`
        UPDATE webhooks
        SET leased_by = NULL, leased_until = NULL,
          next_turn_at = CASE WHEN ${hasRateLimitOf(webhook)} THEN ${at}::timestamptz END
        WHERE id = ${webhook.id} AND leased_by = ${holder}`),

    /**
     * Notes the time of the first failure, or null after a success. Like `pause` and `disable`, a failure changes
     * nothing if the endpoint was changed since it was leased: the attempt went to its former address.
     */
    markFailing: async (leased: LeasedWebhook, since: Date | null): Promise<void> =>
      void (await sql`UPDATE webhooks w SET failing_since = ${since}
        WHERE id = ${leased.id}
          AND (${since}::timestamptz IS NULL OR (failing_since IS NULL AND ${isUnchangedSince(sql, leased.updatedAt)}))`),

    pause: async (leased: LeasedWebhook, until: Date): Promise<void> =>
      void (await sql`UPDATE webhooks w SET paused_until = ${until}
        WHERE id = ${leased.id} AND ${isUnchangedSince(sql, leased.updatedAt)}`),

    /** Returns whether it was active, and unchanged. */
    disable: async (leased: LeasedWebhook, { at, reason }: { at: Date; reason: string }): Promise<boolean> =>
      (
        await sql`
        UPDATE webhooks w SET is_active = false, disabled_at = ${at}, disabled_reason = ${reason}
        WHERE id = ${leased.id} AND is_active AND ${isUnchangedSince(sql, leased.updatedAt)}`
      ).count > 0,

    /** Deactivates endpoints of deleted surveys that have no waiting deliveries or events. */
    disableOrphans: async (now: Date): Promise<void> =>
      void (await sql`
        UPDATE webhooks w SET is_active = false, disabled_at = ${now}, disabled_reason = ${surveyDeleted} FROM surveys s
        WHERE s.id = w.survey_id AND s.deleted_at < ${now}::timestamptz - interval '1 minute' AND w.is_active
          AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'PENDING')
          AND NOT EXISTS (SELECT FROM webhook_response_events e WHERE e.survey_id = s.id)`),

    /** Unleased endpoints with due deliveries, with ids above `after`, by id. */
    findDue: async (now: Date, limit: number, after = nilUuid): Promise<string[]> => {
      const rows = await sql<{ id: string }[]>`
        SELECT w.id FROM webhooks w
        WHERE w.id > ${after} AND ${isLeasable(now)}
          AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.status = 'PENDING'
            AND d.next_attempt_at <= ${now})
        ORDER BY w.id LIMIT ${limit}`;
      return rows.map((row) => row.id);
    },

    /**
     * The oldest waiting delivery of an active endpoint whose owner may receive it, or event without deliveries, and
     * the number of endpoints that the service has deactivated. Looks at the oldest thousand deliveries of an endpoint:
     * where the owner may see the survey of none of them, none of the endpoint's counts.
     */
    stats: async (): Promise<{ oldestPending: Date | null; disabled: number }> => {
      const oldestVisible = sql`
        SELECT d.pending_since FROM (
          SELECT pending_since, data FROM webhook_deliveries
          WHERE webhook_id = w.id AND status = 'PENDING' ORDER BY pending_since LIMIT ${hiddenPassedOver}) d
        WHERE NOT EXISTS (
          SELECT FROM surveys s JOIN users u ON u.id = w.owner_id
          WHERE s.id = (d.data ->> 'surveyId')::uuid AND NOT ${mayViewSurvey(sql)})
        ORDER BY d.pending_since LIMIT 1`;
      const [row] = await sql<{ oldestPending: Date | null; disabled: number }[]>`
        SELECT least(min(CASE WHEN w.is_active AND ${mayReceive(sql)} THEN (${oldestVisible}) END),
            (SELECT created_at FROM webhook_response_events ORDER BY id LIMIT 1)) AS "oldestPending",
          count(*) FILTER (WHERE w.disabled_at IS NOT NULL) AS disabled
        FROM webhooks w`;
      return row ?? { oldestPending: null, disabled: 0 };
    },
  };
}

/** How many deliveries of surveys that the owner may not see are passed over to find the oldest of another one. */
const hiddenPassedOver = 1000;

/** An endpoint may be leased this long before its next send time; the holder waits for it. */
export const leaseAheadMs = 1500;

/**
 * No next send time is later than this: a batch of a hundred events at one a second takes a hundred seconds. A later one
 * was written by a process whose clock is ahead, and counts as none.
 */
export const longestTurnMs = 120_000;

/** Maximum former secrets of an endpoint that sign at the same time. */
export const maxOldSecrets = 9;

/** SQL: the user `u` has the right to endpoints. */
const mayHaveEndpoints = (sql: Sql) => sql`NOT u.is_disabled AND u.role <> 'VIEWER'`;

/** SQL: the owner of endpoint `w` has it. */
const isOwnerActive = (sql: Sql) =>
  sql`EXISTS (SELECT FROM users u WHERE u.id = w.owner_id AND ${mayHaveEndpoints(sql)})`;

/** SQL: the owner `u` of endpoint `w` may see the survey `s`. Uses primary keys only, as it runs about every second. */
const mayViewSurvey = (sql: Sql) => sql`
  ((u.role = 'ADMIN' AND w.made_as = 'ADMIN') OR s.owner_id = u.id
    OR EXISTS (SELECT FROM survey_members m WHERE m.survey_id = s.id AND m.user_id = u.id))`;

/**
 * SQL: the owner may see the survey of endpoint `w`. For an endpoint of all surveys, each delivery is checked instead.
 */
export const mayReceive = (sql: Sql) => sql`
  EXISTS (
    SELECT FROM users u WHERE u.id = w.owner_id AND ${mayHaveEndpoints(sql)}
      AND (w.survey_id IS NULL OR EXISTS (SELECT FROM surveys s WHERE s.id = w.survey_id AND ${mayViewSurvey(sql)})))`;

const ownerInactive = 'Its owner is disabled or a VIEWER: nothing is sent, or kept for later, until that ends';
const ownerWithoutAccess =
  'Its owner may not see the survey any more: nothing is sent, or kept for later, until that ends';
const ownerDeleted = 'Its owner was deleted: switch it on if it should go on';
const surveyDeleted = 'Its survey was deleted';

/**
 * Gives a deleted user's endpoints to the new owner of the surveys. Those of surveys that the new owner gets too stay
 * active; the others are deactivated, because they would send events of other surveys to the deleted user's systems.
 */
export const transferWebhooks: OwnedDataTransfer = async (tx, fromUserId, toUserId) => {
  const goesOn = tx`EXISTS (SELECT FROM surveys s WHERE s.id = w.survey_id AND s.owner_id = ${fromUserId})`;
  await tx`
    UPDATE webhooks w SET is_active = false, disabled_at = now(), disabled_reason = ${ownerDeleted}
    WHERE owner_id = ${fromUserId} AND is_active AND NOT ${goesOn}`;
  await tx`UPDATE webhooks SET owner_id = ${toUserId}, updated_at = now() WHERE owner_id = ${fromUserId}`;
};

export type WebhookStore = ReturnType<typeof createWebhookStore>;
