import type { Log } from '../../log.ts';
import type { AuditAction, AuditObjectKind } from './audit-actions.ts';
import { type Sql, type Tx, withPostgres } from './client.ts';

/** The acting user or key, such as a `Principal`. Null: the service itself or an unknown caller. */
export interface AuditActor {
  userId: string;
  keyId: string | null;
}

export interface AuditRecord {
  actor: AuditActor | null;
  action: AuditAction;
  objectKind: AuditObjectKind;
  objectId: string;
  /** Must not contain passwords, tokens or answers. */
  details?: Readonly<Record<string, unknown>>;
}

export interface AuditEntry {
  id: string;
  at: Date;
  actorId: string | null;
  actorKind: 'USER' | 'API_KEY' | 'SYSTEM';
  keyId: string | null;
  action: string;
  objectKind: string;
  objectId: string;
  details: Record<string, unknown>;
}

export interface AuditQuery {
  actorId?: string | undefined;
  action?: AuditAction | undefined;
  objectKind?: AuditObjectKind | undefined;
  objectId?: string | undefined;
  /** Selects events of a survey and of its questions, responses and files. */
  surveyId?: string | undefined;
  /** The earliest and, not included, the latest time. */
  since?: Date | undefined;
  until?: Date | undefined;
  page: number;
  limit: number;
}

interface AuditRow {
  id: number;
  at: Date;
  actor_id: string | null;
  actor_kind: AuditEntry['actorKind'];
  key_id: string | null;
  action: string;
  object_kind: string;
  object_id: string;
  details: Record<string, unknown>;
}

/** Writes an event, for a change that is made only if its event is written too: both in one transaction. */
export const writeAuditEvent = (sql: Sql | Tx, { objectId, ...event }: AuditRecord): Promise<void> =>
  writeAuditEvents(sql, event, [objectId]);

/** The same of several objects, in one statement. */
export async function writeAuditEvents(
  sql: Sql | Tx,
  { actor, action, objectKind, details = {} }: Omit<AuditRecord, 'objectId'>,
  objectIds: readonly string[],
): Promise<void> {
  await sql`
    INSERT INTO audit (actor_id, actor_kind, key_id, action, object_kind, object_id, details)
    SELECT ${actor?.userId ?? null}::uuid, ${kindOf(actor)}, ${actor?.keyId ?? null}::uuid, ${action}, ${objectKind},
      object_id, ${sql.json(details as never)}
    FROM unnest(${[...objectIds]}::text[]) objects(object_id)`;
}

/** Audit events: who did what to which object, and when. The table refuses changes and deletions. */
export function createAudit(sql: Sql, log: Log) {
  return {
    /** Never rejects: an event that cannot be recorded is logged, and the action stands. */
    async record(event: AuditRecord): Promise<void> {
      // Made outside the call: what it records is done, so it is still written where waiting for it is given up.
      const written = writeAuditEvent(sql, event);
      try {
        await withPostgres(() => written);
      } catch (error) {
        const { actor, action, objectKind, objectId } = event;
        log.error(
          { err: error, action, objectKind, objectId, actorId: actor?.userId },
          'the audit event could not be written',
        );
      }
    },

    /** Events, newest first. */
    list: (query: AuditQuery): Promise<{ items: AuditEntry[]; total: number }> =>
      withPostgres(async () => {
        const only = (column: string, value: string | undefined) =>
          value === undefined ? sql`` : sql`AND ${sql(column)} = ${value}`;
        const about = (surveyId: string | undefined) =>
          surveyId === undefined
            ? sql``
            : sql`AND ((object_kind = 'survey' AND object_id = ${surveyId}) OR details->>'surveyId' = ${surveyId})`;
        const where = sql`WHERE true ${only('actor_id', query.actorId)} ${only('action', query.action)}
          ${only('object_kind', query.objectKind)} ${only('object_id', query.objectId)} ${about(query.surveyId)}
          ${query.since ? sql`AND at >= ${query.since}` : sql``} ${query.until ? sql`AND at < ${query.until}` : sql``}`;
        const [rows, [count]] = await Promise.all([
          sql<
            AuditRow[]
          >`SELECT * FROM audit ${where} ORDER BY id DESC LIMIT ${query.limit} OFFSET ${(query.page - 1) * query.limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total FROM audit ${where}`,
        ]);
        return { items: rows.map(entryOf), total: count?.total ?? 0 };
      }),
  };
}

export type Audit = ReturnType<typeof createAudit>;

function kindOf(actor: AuditActor | null): AuditEntry['actorKind'] {
  if (!actor) return 'SYSTEM';
  return actor.keyId === null ? 'USER' : 'API_KEY';
}

function entryOf(row: AuditRow): AuditEntry {
  return {
    id: String(row.id),
    at: row.at,
    actorId: row.actor_id,
    actorKind: row.actor_kind,
    keyId: row.key_id,
    action: row.action,
    objectKind: row.object_kind,
    objectId: row.object_id,
    details: row.details,
  };
}
