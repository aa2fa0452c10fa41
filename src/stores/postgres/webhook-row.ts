import type { Sql } from './client.ts';

/** Deliveries that one request to an endpoint with `batch: true` carries at most. */
export const fullBatch = 100;

/** An endpoint that receives events. */
export interface Webhook {
  id: string;
  ownerId: string;
  /** The role of the user who created or last changed it; limits the surveys whose events it receives. */
  scopeRole: 'ADMIN' | 'EDITOR';
  /** Null: all surveys that the owner may see. */
  surveyId: string | null;
  url: string;
  events: readonly string[];
  description: string | null;
  isActive: boolean;
  isBatch: boolean;
  maxPerSecond: number | null;
  maxAgeSeconds: number;
  /** Maximum waiting deliveries; further ones are written as overflow and not sent. */
  maxWaiting: number;
  secretSealed: Buffer;
  /** Replaced secrets, newest first; some may still sign. */
  oldSecrets: readonly OldSecret[];
  failingSince: Date | null;
  pausedUntil: Date | null;
  /** When the rate limit allows the next event, if that is in the future; written when the lease is released. */
  nextSendAt?: Date | null;
  disabledAt: Date | null;
  disabledReason: string | null;
  /** Why nothing is sent at present although it is active; null if nothing prevents it. */
  blockedReason?: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface OldSecret {
  sealed: Buffer;
  until: Date;
}

/** All columns of `webhooks`; `silence`: why nothing is sent at present, where it was asked for. */
export interface WebhookRow {
  id: string;
  owner_id: string;
  made_as: Webhook['scopeRole'];
  survey_id: string | null;
  url: string;
  events: string[];
  description: string | null;
  is_active: boolean;
  is_batch: boolean;
  max_per_second: number | null;
  max_age_seconds: number;
  max_waiting: number;
  secret_sealed: Buffer;
  old_secret_sealed: Buffer | null;
  old_secret_until: Date | null;
  older_secrets: { sealed: string; until: string }[];
  failing_since: Date | null;
  paused_until: Date | null;
  next_turn_at: Date | null;
  disabled_at: Date | null;
  disabled_reason: string | null;
  silence?: string | null;
  created_at: Date;
  updated_at: Date;
}

export function webhookOf(row: WebhookRow): Webhook {
  return {
    id: row.id,
    ownerId: row.owner_id,
    scopeRole: row.made_as,
    surveyId: row.survey_id,
    url: row.url,
    events: row.events,
    description: row.description,
    isActive: row.is_active,
    isBatch: row.is_batch,
    maxPerSecond: row.max_per_second,
    maxAgeSeconds: row.max_age_seconds,
    maxWaiting: row.max_waiting,
    secretSealed: row.secret_sealed,
    oldSecrets: oldSecretsOf(row),
    failingSince: row.failing_since,
    pausedUntil: row.paused_until,
    nextSendAt: row.next_turn_at,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason,
    blockedReason: row.silence ?? null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function oldSecretsOf(row: WebhookRow): OldSecret[] {
  const last =
    row.old_secret_sealed && row.old_secret_until
      ? [{ sealed: row.old_secret_sealed, until: row.old_secret_until }]
      : [];
  return [
    ...last,
    ...row.older_secrets
      .map(({ sealed, until }) => ({ sealed: Buffer.from(sealed, 'base64'), until: new Date(until) }))
      .reverse(),
  ];
}

/** Former secrets are only created by rotation. */
export function columnsOf(webhook: Webhook) {
  return {
    id: webhook.id,
    owner_id: webhook.ownerId,
    made_as: webhook.scopeRole,
    survey_id: webhook.surveyId,
    url: webhook.url,
    events: [...webhook.events],
    description: webhook.description,
    is_active: webhook.isActive,
    is_batch: webhook.isBatch,
    max_per_second: webhook.maxPerSecond,
    max_age_seconds: webhook.maxAgeSeconds,
    max_waiting: webhook.maxWaiting,
    secret_sealed: webhook.secretSealed,
    failing_since: webhook.failingSince,
    paused_until: webhook.pausedUntil,
    disabled_at: webhook.disabledAt,
    disabled_reason: webhook.disabledReason,
    created_at: webhook.createdAt,
    updated_at: webhook.updatedAt,
  };
}

/** SQL: endpoint `w` is as it was. `asOf` is its `updatedAt` as read: a Date, without microseconds. */
export const isUnchangedSince = (sql: Sql, asOf: Date) => sql`(date_trunc('milliseconds', w.updated_at) = ${asOf})`;

/** Columns of the fields that a user may change. */
const changeableColumns = {
  scopeRole: 'made_as',
  surveyId: 'survey_id',
  url: 'url',
  events: 'events',
  description: 'description',
  isActive: 'is_active',
  isBatch: 'is_batch',
  maxPerSecond: 'max_per_second',
  maxAgeSeconds: 'max_age_seconds',
  maxWaiting: 'max_waiting',
} as const;

/** Fields that are missing or undefined stay as they are. */
export type WebhookChanges = { [Name in keyof typeof changeableColumns]?: Webhook[Name] | undefined };

/** The columns of the given fields only: the others may be changed at the same time. */
export function changedColumns(changes: WebhookChanges): Record<string, unknown> {
  const names = Object.keys(changeableColumns) as (keyof WebhookChanges)[];
  return Object.fromEntries(
    names.filter((name) => changes[name] !== undefined).map((name) => [changeableColumns[name], changes[name]]),
  );
}
