import type { Condition } from '../path/definition.ts';

/** A quota by cell: at most `limit` responses for which a condition holds. */
export interface CellQuota {
  id: string;
  /** Its number in the intake, from 1; never reused in a survey. */
  code: number;
  name: string;
  limit: number;
  /** May name any question of the survey; sees the answers on the respondent's path. */
  where: Condition;
  /** COMPLETED: completed responses; STARTED: those saved in part too. */
  counts: 'COMPLETED' | 'STARTED';
  whenFull: 'OVER_QUOTA' | 'CLOSE' | 'COUNT_ONLY';
  /** Whether it counts and limits at all. */
  isActive: boolean;
  /** Increases with every change of what it counts: then the stored responses are counted again. */
  version: number;
}

export const maxCellQuotas = 1000;

export const activeQuotas = (quotas: readonly CellQuota[] | undefined): readonly CellQuota[] =>
  (quotas ?? []).filter(({ isActive }) => isActive);
