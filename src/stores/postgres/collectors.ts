import type { Collector, CollectorKind } from '../../domain/collectors/collector.ts';
import { type Sql, selectAll, type Tx, withPostgres } from './client.ts';

interface CollectorRow {
  id: string;
  survey_id: string;
  code: number;
  link_id: string;
  name: string;
  kind: CollectorKind;
  is_active: boolean;
  opens_at: Date | null;
  closes_at: Date | null;
  response_quota: number | null;
  language: string | null;
  metadata: Record<string, string>;
  is_deleted: boolean;
  created_at: Date;
  updated_at: Date;
}

/** All collectors of a survey in the order of their codes, deleted ones included. */
export async function collectorsOf(db: Sql | Tx, surveyId: string): Promise<Collector[]> {
  const rows = await selectAll<CollectorRow>(db, 'collectors WHERE survey_id = $1 ORDER BY code', surveyId);
  return rows.map(collectorFromRow);
}

/** Writes new and changed collectors, in the transaction that changes their survey. */
export async function writeCollectors(tx: Tx, collectors: readonly Collector[]): Promise<void> {
  for (const collector of collectors) {
    const keys = {
      id: collector.id,
      survey_id: collector.surveyId,
      code: collector.code,
      link_id: collector.linkId,
    };
    const columns = {
      name: collector.name,
      kind: collector.kind,
      is_active: collector.isActive,
      opens_at: collector.opensAt,
      closes_at: collector.closesAt,
      response_quota: collector.responseQuota,
      language: collector.language,
      metadata: tx.json(collector.metadata as never),
      is_deleted: collector.isDeleted,
      created_at: collector.createdAt,
      updated_at: collector.updatedAt,
    };
    // Keys do not change: an update that names one would wait for each upload of invitations to the collector.
    await tx`INSERT INTO collectors ${tx({ ...keys, ...columns })} ON CONFLICT (id) DO UPDATE SET ${tx(columns)}`;
  }
}

/** Looks collectors up by their ids; a survey's own are loaded with it. */
export function createCollectorStore(sql: Sql) {
  return {
    /** The survey of a collector that is not deleted. */
    findSurveyId: (id: string): Promise<string | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<{ survey_id: string }[]>`
          SELECT survey_id FROM collectors WHERE id = ${id} AND NOT is_deleted`;
        return row?.survey_id;
      }),

    /** The collector that a link names, unless it is deleted. */
    findByLink: (linkId: string): Promise<{ id: string; surveyId: string } | undefined> =>
      withPostgres(async () => {
        const [row] = await sql<{ id: string; survey_id: string }[]>`
          SELECT id, survey_id FROM collectors WHERE link_id = ${linkId} AND NOT is_deleted`;
        return row && { id: row.id, surveyId: row.survey_id };
      }),
  };
}

export type CollectorStore = ReturnType<typeof createCollectorStore>;

const collectorFromRow = (row: CollectorRow): Collector => ({
  id: row.id,
  surveyId: row.survey_id,
  code: row.code,
  linkId: row.link_id,
  name: row.name,
  kind: row.kind,
  isActive: row.is_active,
  opensAt: row.opens_at,
  closesAt: row.closes_at,
  responseQuota: row.response_quota,
  language: row.language,
  // Former versions left the metadata of deleted collectors in their rows.
  metadata: row.is_deleted ? {} : row.metadata,
  isDeleted: row.is_deleted,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
