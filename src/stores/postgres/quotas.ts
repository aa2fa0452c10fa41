import type { Condition } from '../../domain/path/definition.ts';
import type { CellQuota } from '../../domain/quotas/cell-quota.ts';
import type { Sql, Tx } from './client.ts';

interface QuotaRow {
  id: string;
  code: number;
  name: string;
  seats: number;
  condition: Condition;
  counts: CellQuota['counts'];
  when_full: CellQuota['whenFull'];
  is_active: boolean;
  version: number;
}

/** The quotas by cell of a survey, in the order in which they were made. */
export async function readQuotas(db: Sql | Tx, surveyId: string): Promise<CellQuota[]> {
  const rows = await db<QuotaRow[]>`
    SELECT id, code, name, seats, condition, counts, when_full, is_active, version
    FROM quotas WHERE survey_id = ${surveyId} ORDER BY code`;
  return rows.map(({ seats, condition, when_full, is_active, ...same }) => ({
    ...same,
    limit: Number(seats),
    where: condition,
    whenFull: when_full,
    isActive: is_active,
  }));
}

/** Writes the quotas that differ (another object) from those before, and removes those that are gone. */
export async function writeQuotas(
  tx: Tx,
  surveyId: string,
  before: readonly CellQuota[],
  after: readonly CellQuota[],
): Promise<void> {
  const known = new Set(before);
  const kept = new Set(after.map(({ id }) => id));
  const removed = before.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  if (removed.length > 0) await tx`DELETE FROM quotas WHERE survey_id = ${surveyId} AND id = ANY(${removed})`;
  for (const quota of after) {
    if (known.has(quota)) continue;
    const columns = {
      id: quota.id,
      survey_id: surveyId,
      code: quota.code,
      name: quota.name,
      seats: quota.limit,
      condition: tx.json(quota.where as never),
      counts: quota.counts,
      when_full: quota.whenFull,
      is_active: quota.isActive,
      version: quota.version,
    };
    await tx`INSERT INTO quotas ${tx(columns)} ON CONFLICT (id) DO UPDATE SET ${tx(columns)}`;
  }
}
