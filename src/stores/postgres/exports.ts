import type { UserRole } from '../../auth/roles.ts';
import type { Editions } from '../../domain/analytics/annotation-variables.ts';
import type { ExportFormat } from '../../domain/export-formats.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { ParsedFilter } from '../../domain/questions/contract.ts';
import { type Sql, withPostgres } from './client.ts';
import { writeOutbox } from './outbox.ts';
import { isReadableBy } from './survey-list.ts';
import type { SurveyDefinition } from './survey-versions.ts';
import type { OwnedDataTransfer } from './users.ts';

/** How long the records of failed and expired exports are kept, as those of webhook deliveries and AI jobs are. */
export const endedRetentionDays = 30;

export const exportStatuses = ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'EXPIRED'] as const;
export type ExportStatus = (typeof exportStatuses)[number];

/** The request, as stored in JSON. */
export interface ExportOptions {
  /** ISO times; the end is exclusive. */
  startDate?: string | undefined;
  endDate?: string | undefined;
  isComplete?: boolean | undefined;
  /** Any of these; undefined: all. */
  outcomes?: readonly Outcome[] | undefined;
  /** As the client wrote them. */
  filters: readonly string[];
  /** What the filters mean, resolved at the request; undefined in requests of former versions. */
  conditions?: readonly ParsedFilter[] | undefined;
  /** Editions of the AI annotations that filters name, fixed at the request. */
  editions?: Editions | undefined;
  /** Names of columns and ids of questions, in order; undefined: all. */
  columns?: readonly string[] | undefined;
  labels: 'text' | 'value';
  /** Set: skipped answers are told from questions that were not asked. */
  missing?: 'labelled' | undefined;
}

export interface ExportRecord {
  id: string;
  surveyId: string;
  userId: string;
  format: ExportFormat;
  options: ExportOptions;
  surveyVersion: number;
  status: ExportStatus;
  /** 0 to 1. */
  progress: number;
  rowCount: number | null;
  fileSize: number | null;
  sha256: string | null;
  error: string | null;
  createdAt: Date;
  completedAt: Date | null;
  expiresAt: Date | null;
}

export type NewExport = Pick<
  ExportRecord,
  'id' | 'surveyId' | 'userId' | 'format' | 'options' | 'surveyVersion' | 'createdAt'
>;
/** What came of a request; `too large`: the finished files of the user are. */
export type CreatedExport = { kind: 'created' } | { kind: 'too many' } | { kind: 'too large'; userBytes: number };
export type FinishedExport = { rowCount: number; fileSize: number; sha256: string; expiresAt: Date };

/** Responses of a survey that were submitted in a span of time, both ends included. */
export interface AffectedResponses {
  surveyId: string;
  first: Date;
  last: Date;
}

export interface ExportQuery {
  userId: string;
  /** The user may read all surveys (ADMIN), not only those that are its own or shared with it. */
  readsAllSurveys: boolean;
  surveyId?: string | null | undefined;
  status?: ExportStatus | null | undefined;
  page: number;
  limit: number;
}

/** Maximum open exports of a user, because files are made one after the other. */
export const maxOpenExports = 20;
export const exportRequestedEvent = 'export.requested';
const outdatedReason = 'A response that the file may show was deleted; please ask for it again';
const withdrawnReason = 'A response was deleted while the file was made; please ask for it again';

export function createExportStore(sql: Sql) {
  const open = sql`status IN ('PENDING', 'PROCESSING')`;
  const live = sql`status IN ('PENDING', 'PROCESSING', 'COMPLETED')`;
  /** A file contains the responses submitted before its request, within its dates. */
  const mayContain = ({ surveyId, first, last }: AffectedResponses) => sql`
    survey_id = ${surveyId} AND created_at >= ${first}
      AND coalesce((options->>'startDate')::timestamptz <= ${last}, true)
      AND coalesce((options->>'endDate')::timestamptz > ${first}, true)`;
  /** The survey `s` is there, and the user may read it. */
  const isReadable = (userId: string, readsAllSurveys: boolean) =>
    readsAllSurveys ? sql`s.deleted_at IS NULL` : sql`s.deleted_at IS NULL AND ${isReadableBy(sql, userId)}`;
  return {
    /**
     * Writes the row and its outbox event in one transaction, unless the user has the maximum of open exports, or files
     * of so many bytes, those apart that the user can neither see nor remove, as of surveys that it may not read any
     * more. Returns what the user has.
     */
    create: (record: NewExport, { maxUserBytes }: { maxUserBytes: number }): Promise<CreatedExport> =>
      withPostgres(async () =>
        sql.begin(async (tx): Promise<CreatedExport> => {
          // Exports of one user are made one after another, so that the bound is exact.
          const [user] = await tx<{ role: UserRole }[]>`
            SELECT role FROM users WHERE id = ${record.userId} FOR NO KEY UPDATE`;
          const [held = { count: 0, bytes: 0 }] = await tx<{ count: number; bytes: number }[]>`
            SELECT count(*) FILTER (WHERE ${open}) AS count,
              coalesce(sum(file_size) FILTER (WHERE status = 'COMPLETED' AND survey_id IN (
                SELECT s.id FROM surveys s WHERE ${isReadable(record.userId, user?.role === 'ADMIN')})), 0)::bigint AS bytes
            FROM exports WHERE user_id = ${record.userId}`;
          if (held.count >= maxOpenExports) return { kind: 'too many' };
          if (held.bytes >= maxUserBytes) return { kind: 'too large', userBytes: held.bytes };
          await tx`
            INSERT INTO exports (id, survey_id, user_id, format, options, survey_version, created_at)
            VALUES (${record.id}, ${record.surveyId}, ${record.userId}, ${record.format},
              ${tx.json(record.options as never)}, ${record.surveyVersion}, ${record.createdAt})`;
          await writeOutbox(tx, [
            { kind: exportRequestedEvent, cause: `export:${record.id}`, payload: { exportId: record.id } },
          ]);
          return { kind: 'created' };
        }),
      ),

    find: (id: string): Promise<ExportRecord | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<ExportRow[]>`SELECT * FROM exports WHERE id = ${id}`;
        return row && recordOf(row);
      }),

    /** How many open exports the same user had requested before this one. */
    countOpenBefore: (id: string): Promise<number> =>
      withPostgres(
        async () =>
          (
            await sql<{ count: number }[]>`
              SELECT count(*) AS count FROM exports own JOIN exports earlier ON earlier.user_id = own.user_id
              WHERE own.id = ${id} AND earlier.status IN ('PENDING', 'PROCESSING')
                AND (earlier.created_at, earlier.id) < (own.created_at, own.id)`
          )[0]?.count ?? 0,
      ),

    findSurveyId: (id: string): Promise<string | undefined> =>
      withPostgres(
        async () => (await sql<{ survey_id: string }[]>`SELECT survey_id FROM exports WHERE id = ${id}`)[0]?.survey_id,
      ),

    /** Exports of a user, newest first, without those of surveys that are deleted or that the user may not read. */
    list: ({
      userId,
      readsAllSurveys,
      surveyId = null,
      status = null,
      page,
      limit,
    }: ExportQuery): Promise<{ items: ExportRecord[]; total: number }> =>
      withPostgres(async () => {
        const from = sql`FROM exports e JOIN surveys s ON s.id = e.survey_id
          WHERE e.user_id = ${userId} AND ${isReadable(userId, readsAllSurveys)}
            AND (${surveyId}::uuid IS NULL OR e.survey_id = ${surveyId})
            AND (${status}::text IS NULL OR e.status = ${status})`;
        const [rows, [count]] = await Promise.all([
          sql<
            ExportRow[]
          >`SELECT e.* ${from} ORDER BY e.created_at DESC, e.id DESC LIMIT ${limit} OFFSET ${(page - 1) * limit}`,
          sql<{ total: number }[]>`SELECT count(*) AS total ${from}`,
        ]);
        return { items: rows.map(recordOf), total: count?.total ?? 0 };
      }),

    /** Marks an open export as running, with its progress so far; undefined if it has ended or was removed. */
    start: (id: string): Promise<ExportRecord | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<
          ExportRow[]
        >`UPDATE exports SET status = 'PROCESSING' WHERE id = ${id} AND ${open} RETURNING *`;
        return row && recordOf(row);
      }),

    /**
     * Notes the progress, which never falls, also where a file is begun again. Returns what is noted then; undefined if
     * the export was cancelled.
     */
    saveProgress: (id: string, progress: number): Promise<number | undefined> =>
      withPostgres(
        async () =>
          (
            await sql<{ progress: number }[]>`
              UPDATE exports SET progress = greatest(progress, ${progress})
              WHERE id = ${id} AND status = 'PROCESSING' RETURNING progress`
          )[0]?.progress,
      ),

    complete: (id: string, { rowCount, fileSize, sha256, expiresAt }: FinishedExport): Promise<boolean> =>
      withPostgres(async () => {
        const done = await sql`
          UPDATE exports
          SET status = 'COMPLETED', progress = 1, row_count = ${rowCount}, file_size = ${fileSize}, sha256 = ${sha256},
            error = NULL, completed_at = now(), expires_at = least(expires_at, ${expiresAt})
          WHERE id = ${id} AND ${open}`;
        return done.count > 0;
      }),

    /** Returns false if it had ended already. */
    fail: (id: string, reason: string): Promise<boolean> =>
      withPostgres(
        async () =>
          (
            await sql`UPDATE exports SET status = 'FAILED', error = ${reason}, completed_at = now()
              WHERE id = ${id} AND ${open}`
          ).count > 0,
      ),

    remove: (id: string): Promise<boolean> =>
      withPostgres(async () => (await sql`DELETE FROM exports WHERE id = ${id}`).count > 0),

    /** Removes all exports of a survey; returns their ids. */
    removeOfSurvey: (surveyId: string): Promise<string[]> =>
      withPostgres(async () =>
        (await sql<{ id: string }[]>`DELETE FROM exports WHERE survey_id = ${surveyId} RETURNING id`).map(
          (row) => row.id,
        ),
      ),

    /** Expires files that may contain these responses and cancels running exports of them; returns the ids of all. */
    invalidate: (affected: AffectedResponses): Promise<string[]> =>
      withPostgres(async () => {
        const rows = await sql<{ id: string }[]>`
          UPDATE exports
          SET status = CASE status WHEN 'COMPLETED' THEN 'EXPIRED' ELSE 'FAILED' END,
            error = CASE status WHEN 'COMPLETED' THEN ${outdatedReason} ELSE ${withdrawnReason} END,
            completed_at = coalesce(completed_at, now()), expires_at = least(expires_at, now())
          WHERE ${live} AND ${mayContain(affected)} RETURNING id`;
        return rows.map((row) => row.id);
      }),

    /** Limits the expiry of files that may contain these responses. */
    limitExpiry: (affected: AffectedResponses, until: Date): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`UPDATE exports SET expires_at = ${until}
            WHERE ${live} AND ${mayContain(affected)} AND coalesce(expires_at > ${until}, true)`),
      ),

    /** Marks expired files; returns their ids. */
    expire: (now: Date): Promise<string[]> =>
      withPostgres(async () =>
        (
          await sql<
            { id: string }[]
          >`UPDATE exports SET status = 'EXPIRED' WHERE status = 'COMPLETED' AND expires_at <= ${now} RETURNING id`
        ).map((row) => row.id),
      ),

    /** Removes the records of exports that failed or expired before that moment. */
    removeEnded: (before: Date): Promise<void> =>
      withPostgres(
        async () =>
          void (await sql`DELETE FROM exports
            WHERE status IN ('FAILED', 'EXPIRED') AND greatest(completed_at, expires_at) < ${before}`),
      ),

    /** Ids of open exports requested before that moment. */
    listUnfinished: (before: Date): Promise<string[]> =>
      withPostgres(async () =>
        (
          await sql<
            { id: string }[]
          >`SELECT id FROM exports WHERE ${open} AND created_at < ${before} ORDER BY created_at LIMIT 1000`
        ).map((row) => row.id),
      ),

    /** The ids among these whose file may exist. */
    findWithFile: (ids: readonly string[]): Promise<string[]> =>
      withPostgres(async () =>
        (
          await sql<{ id: string }[]>`SELECT id FROM exports WHERE id = ANY(${ids as string[]}::uuid[]) AND ${live}`
        ).map((row) => row.id),
      ),

    findDefinition: (surveyId: string, version: number): Promise<SurveyDefinition | undefined> =>
      withPostgres(
        async () =>
          (
            await sql<
              { definition: SurveyDefinition }[]
            >`SELECT definition FROM survey_versions WHERE survey_id = ${surveyId} AND version = ${version}`
          )[0]?.definition,
      ),
  };
}

/** Gives the exports of a deleted user to the owners of their surveys. */
export const transferExports: OwnedDataTransfer = async (tx, fromUserId, toUserId) => {
  await tx`
    UPDATE exports e SET user_id = CASE WHEN s.owner_id = ${fromUserId} THEN ${toUserId} ELSE s.owner_id END
    FROM surveys s WHERE s.id = e.survey_id AND e.user_id = ${fromUserId}`;
};

export type ExportStore = ReturnType<typeof createExportStore>;

interface ExportRow {
  id: string;
  survey_id: string;
  user_id: string;
  format: ExportFormat;
  options: ExportOptions;
  survey_version: number;
  status: ExportStatus;
  progress: number;
  row_count: number | null;
  file_size: number | null;
  sha256: string | null;
  error: string | null;
  created_at: Date;
  completed_at: Date | null;
  expires_at: Date | null;
}

function recordOf(row: ExportRow): ExportRecord {
  return {
    id: row.id,
    surveyId: row.survey_id,
    userId: row.user_id,
    format: row.format,
    options: row.options,
    surveyVersion: row.survey_version,
    status: row.status,
    progress: row.progress,
    rowCount: row.row_count,
    fileSize: row.file_size,
    sha256: row.sha256,
    error: row.error,
    createdAt: row.created_at,
    completedAt: row.completed_at,
    expiresAt: row.expires_at,
  };
}
