import { ClickHouseError } from '@clickhouse/client';
import { Problem, unavailable } from '../../errors.ts';

/** The server did not answer within the time limit of the call. */
export class CallTimeout extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'CallTimeout';
  }
}

/** Error types of a query that took longer than it may. */
const timeTypes = new Set(['TIMEOUT_EXCEEDED', 'TOO_SLOW']);

/** Error types for lack of memory; fewer rows at once may succeed. */
const memoryTypes = new Set([
  'MEMORY_LIMIT_EXCEEDED',
  'CANNOT_ALLOCATE_MEMORY',
  'MEMORY_RESERVATION_KILLED',
  'MEMORY_RESERVATION_FAILED',
]);

/** Error types of a server that is reachable but overloaded or not ready. */
const unavailableTypes = new Set([
  ...timeTypes,
  'SOCKET_TIMEOUT',
  'NETWORK_ERROR',
  'DNS_ERROR',
  'NO_FREE_CONNECTION',
  'ALL_CONNECTION_TRIES_FAILED',
  'TOO_MANY_SIMULTANEOUS_QUERIES',
  'SERVER_OVERLOADED',
  'TOO_MANY_PARTS',
  'CANNOT_SCHEDULE_TASK',
  'DISTRIBUTED_TOO_MANY_PENDING_BYTES',
  ...memoryTypes,
  'NOT_ENOUGH_SPACE',
  'TABLE_IS_READ_ONLY',
  'READONLY',
  'NO_ZOOKEEPER',
  'KEEPER_EXCEPTION',
  'UNEXPECTED_ZOOKEEPER_ERROR',
  'TOO_FEW_LIVE_REPLICAS',
  'NO_ACTIVE_REPLICAS',
  'REPLICA_IS_NOT_IN_QUORUM',
  'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE',
  'UNKNOWN_STATUS_OF_INSERT',
  'ALL_REPLICAS_ARE_STALE',
  'TOO_MANY_UNAVAILABLE_SHARDS',
  'ABORTED',
  'QUERY_WAS_CANCELLED',
  'QUERY_WAS_CANCELLED_BY_CLIENT',
  'UNFINISHED',
  'DEADLOCK_AVOIDED',
  'ASYNC_LOAD_CANCELED',
  'THREAD_WAS_CANCELED',
]);

/** Error types of a server that has lost its tables; they may come back from a backup. */
const lostTableTypes = new Set(['UNKNOWN_TABLE', 'UNKNOWN_DATABASE', 'TABLE_IS_DROPPED']);

/** Error types for failed reads and writes of the server's own files. */
const fileTypes = new Set([
  'CORRUPTED_DATA',
  'CHECKSUM_DOESNT_MATCH',
  'BAD_SIZE_OF_FILE_IN_DATA_PART',
  'NO_FILE_IN_DATA_PART',
  'UNEXPECTED_FILE_IN_DATA_PART',
  'BROKEN_PROJECTION',
  'FILE_DOESNT_EXIST',
  'CANNOT_OPEN_FILE',
  'CANNOT_READ_FROM_FILE_DESCRIPTOR',
  'CANNOT_WRITE_TO_FILE_DESCRIPTOR',
  'CANNOT_FSYNC',
  'CANNOT_CLOSE_FILE',
  'CANNOT_STAT',
  'STD_EXCEPTION',
  'POCO_EXCEPTION',
  'UNKNOWN_EXCEPTION',
]);
/** A part whose data end too early gives the same error type as a request body that does. */
const damagedPart = /while reading from part/i;

/** Error types for malformed rows: wrong format, or values that a column cannot hold. */
const malformedTypes = new Set([
  'CANNOT_PARSE_TEXT',
  'CANNOT_PARSE_ESCAPE_SEQUENCE',
  'CANNOT_PARSE_QUOTED_STRING',
  'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  'CANNOT_PARSE_NUMBER',
  'CANNOT_PARSE_DATE',
  'CANNOT_PARSE_DATETIME',
  'CANNOT_PARSE_UUID',
  'CANNOT_PARSE_BOOL',
  'CANNOT_READ_ALL_DATA',
  'ATTEMPT_TO_READ_AFTER_EOF',
  'CANNOT_READ_ARRAY_FROM_TEXT',
  'CANNOT_READ_MAP_FROM_TEXT',
  'INCORRECT_DATA',
  'INCORRECT_NUMBER_OF_COLUMNS',
  'TYPE_MISMATCH',
  'CANNOT_CONVERT_TYPE',
  'ARGUMENT_OUT_OF_BOUND',
  'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE',
  'TOO_LARGE_STRING_SIZE',
  'TOO_LARGE_ARRAY_SIZE',
  'CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN',
  'DECIMAL_OVERFLOW',
  'BAD_TYPE_OF_FIELD',
]);

/** Whether to retry at once on another server or connection: no ClickHouse server has refused the call. */
export function isUnreachable(error: unknown): boolean {
  return !(error instanceof ClickHouseError) && !(error instanceof Problem);
}

/** Converts an unavailable or overloaded store to SERVICE_UNAVAILABLE; other errors stay as they are. */
export function toProblem(error: unknown): unknown {
  if (error instanceof Problem) return error;
  if (error instanceof ClickHouseError && !isFailureOfServer(error)) return error;
  return unavailable('The response store cannot be reached', 2, error);
}

function isFailureOfServer({ type = '', message }: ClickHouseError): boolean {
  return unavailableTypes.has(type) || lostTableTypes.has(type) || fileTypes.has(type) || damagedPart.test(message);
}

/** Whether the rows are malformed, so that inserting them again cannot succeed. */
export function isMalformed(error: unknown): boolean {
  return error instanceof ClickHouseError && malformedTypes.has(error.type ?? '');
}

/** Whether an insert names a column that the table does not have. */
export function isMissingColumn(error: unknown): boolean {
  return error instanceof ClickHouseError && error.type === 'NO_SUCH_COLUMN_IN_TABLE';
}

/** Whether a query was refused because its result has more than `max_result_bytes`. */
export function isResultTooLarge(error: unknown): boolean {
  return error instanceof ClickHouseError && error.type === 'TOO_MANY_ROWS_OR_BYTES';
}

/** Error types of a statement for a cluster that the server does not know, or of a server without any. */
const clusterTypes = new Set(['CLUSTER_DOESNT_EXIST', 'NO_ELEMENTS_IN_CONFIG']);

export function isUnknownCluster(error: unknown): boolean {
  return error instanceof ClickHouseError && clusterTypes.has(error.type ?? '');
}

/** Whether the server's user lacks the right to read or write this. */
export function isAccessDenied(error: unknown): boolean {
  return error instanceof ClickHouseError && error.type === 'ACCESS_DENIED';
}

/** Whether a problem was caused by the server's lack of memory. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Problem && error.cause instanceof ClickHouseError && memoryTypes.has(error.cause.type ?? '');
}

/** Whether a problem was caused by a call that took longer than it may. */
export const isCallTimeout = (error: unknown): boolean =>
  error instanceof Problem && error.cause instanceof CallTimeout;

/** Whether a problem was caused by a query that met its limit of time or memory, at a server that answers. */
export function isQueryLimit(error: unknown): boolean {
  if (!(error instanceof Problem)) return false;
  const { cause } = error;
  const isTooLong = cause instanceof ClickHouseError && timeTypes.has(cause.type ?? '');
  return isTooLong || isCallTimeout(error) || isOutOfMemory(error);
}
