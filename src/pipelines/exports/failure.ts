import { PermanentFailure } from '../../errors.ts';
import { errorMessage } from '../../platform/start-error.ts';
import { isQueryLimit } from '../../stores/clickhouse/errors.ts';
import { isStatementTimeout, isStoreAway } from '../../stores/postgres/errors.ts';
import type { ExportResult } from './run-in-child-process.ts';

/**
 * The result of an attempt that failed. A query that takes too long or too much memory is no outage: each further
 * attempt would load the store with it again.
 */
export function resultOfFailure(error: unknown): ExportResult {
  const permanent = permanentReason(error);
  if (permanent !== undefined) return { kind: 'failed', reason: permanent };
  const isTooMuch = isQueryLimit(error) || isStatementTimeout(error);
  return {
    kind: isStoreAway(error) && !isTooMuch ? 'unavailable' : 'retryable',
    reason: errorMessage(error),
  };
}

/** The reason of a failure that another attempt would not change; undefined for others. */
function permanentReason(error: unknown): string | undefined {
  if (error instanceof PermanentFailure) return error.message;
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'There is no room left on the disk for the file';
  if (code === 'EFBIG') return 'The file is larger than the disk allows';
  return undefined;
}
