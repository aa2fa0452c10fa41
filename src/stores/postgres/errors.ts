import { setTimeout as pause } from 'node:timers/promises';
import { Problem } from '../../errors.ts';
import { connectionErrorCodes } from '../../platform/connection-errors.ts';
import { isRedisUnavailable } from '../redis/errors.ts';
import { partOfCall } from './refusable-call.ts';

const deadlockCode = '40P01';
const serializationFailureCode = '40001';
const foreignKeyViolationCode = '23503';
const lockTimeoutCode = '55P03';
/** A statement is cancelled with it after statement_timeout. */
const canceledCode = '57014';
/** A standby refuses changes with it, until it is promoted. */
const readOnlyCode = '25006';

/**
 * Error codes of Node, postgres.js and PostgreSQL for a database that is unavailable or overloaded, as opposed to a
 * wrong statement.
 */
const unavailableCodes: ReadonlySet<string> = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  ...connectionErrorCodes,
  deadlockCode,
  serializationFailureCode,
  readOnlyCode,
  '57P01',
  '57P02',
  '57P03',
  '08006',
  '08001',
  '53300',
  canceledCode,
  lockTimeoutCode,
  '53100',
]);

export function isPostgresUnavailable(error: unknown): boolean {
  return unavailableCodes.has(codeOf(error) ?? '');
}

/** Error codes of a server that refuses the user, its password or the database: at the start, wrong settings. */
const refusedCodes = new Set(['28P01', '28000', '3D000']);

const insufficientPrivilegeCode = '42501';

/** Whether the user of the connection lacks a right. */
export const isMissingRight = (error: unknown): boolean => codeOf(error) === insufficientPrivilegeCode;

/** Whether a statement has waited for a lock for longer than lock_timeout. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === lockTimeoutCode;

/** Whether a statement took longer than it may, at a server that answers; also where `withPostgres` has refused it. */
export const isStatementTimeout = (error: unknown): boolean =>
  codeOf(isUnavailable(error) ? error.cause : error) === canceledCode;

/** Whether the database cannot be used now: it is unavailable, or has refused the service since the start. */
export function isPostgresUnusable(error: unknown): boolean {
  return isPostgresUnavailable(error) || refusedCodes.has(codeOf(error) ?? '');
}

/** The same, or a refusal because it is not reached yet. */
export function isPostgresAway(error: unknown): boolean {
  return isPostgresUnusable(error) || isUnavailable(error);
}

/** Whether a step failed because a store is unavailable: PostgreSQL, Redis, or one that was refused as such. */
export function isStoreAway(error: unknown): boolean {
  return isPostgresUnavailable(error) || isRedisUnavailable(error) || isUnavailable(error);
}

/**
 * Which owner of a row was deleted while the row was written, from a foreign-key violation: the caller, or another user
 * named by the call. Undefined for other errors.
 */
export function missingOwnerOf(error: unknown): 'caller' | 'person' | undefined {
  if (!(error instanceof Error) || codeOf(error) !== foreignKeyViolationCode) return undefined;
  const constraint = 'constraint_name' in error ? String(error.constraint_name) : '';
  if (constraint === 'survey_members_user_id_fkey') return 'person';
  return /_(owner|user)_id_fkey$/.test(constraint) ? 'caller' : undefined;
}

/**
 * Repeats a statement or transaction that was rolled back by a deadlock or serialization failure, at most three times.
 */
export async function retryOnDeadlock<T>(step: () => Promise<T>): Promise<T> {
  const again = partOfCall(step);
  for (let attempt = 1; ; attempt += 1)
    try {
      return await again();
    } catch (error) {
      const code = codeOf(error);
      const isDeadlock = code === deadlockCode || code === serializationFailureCode;
      if (!isDeadlock || attempt === maxDeadlockAttempts) throw error;
    }
}

const maxDeadlockAttempts = 3;

/**
 * Repeats a step while PostgreSQL or Redis is unavailable, after each of these waits. For results that are expensive to
 * make; the step must be repeatable.
 */
export async function retryOnOutage<T>(
  step: () => Promise<T>,
  waitsMs: readonly number[] = [250, 1000, 4000],
): Promise<T> {
  for (let tries = 0; ; tries += 1)
    try {
      return await step();
    } catch (error) {
      const waitMs = waitsMs[tries];
      if (!isStoreAway(error) || waitMs === undefined) throw error;
      await pause(waitMs);
    }
}

const isUnavailable = (error: unknown): error is Problem =>
  error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE';

function codeOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}
