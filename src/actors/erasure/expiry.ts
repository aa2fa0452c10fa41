import type { DeadLetterRow } from '../../domain/dead-letter-row.ts';
import type { Log } from '../../log.ts';
import { createBoundedWarnings } from '../../platform/bounded-warnings.ts';
import type { DeletionPlace } from '../../stores/clickhouse/write/erasure.ts';
import type { Audit } from '../../stores/postgres/audit.ts';
import type { ExportStore } from '../../stores/postgres/exports.ts';
import type { RetentionRule } from '../../stores/postgres/survey-retention.ts';
import { type DeadLetters, type ParsedDeadLetter, rejectedAtMs } from '../dead-letters.ts';
import type { EraseInBatches, EraseOptions } from './batches.ts';

export interface ExpiryDeps {
  erase: EraseInBatches;
  deadLetters: Pick<DeadLetters, 'filter'>;
  exports: Pick<ExportStore, 'limitExpiry'>;
  audit: Pick<Audit, 'record'>;
  /** In the order of the surveys' ids. */
  rules(now: Date): Promise<RetentionRule[]>;
  log: Pick<Log, 'warn'>;
  now(): number;
  monotonicMs?(): number;
}

/** Responses of a survey that have expired. */
interface ExpiredResponses {
  surveyId: string;
  days: number;
  before: Date;
  deadLetters: readonly ParsedDeadLetter[];
  /** Where its next turn goes on. */
  after?: DeletionPlace | undefined;
  /** How many were erased in this run, and of how many it was recorded. */
  erased: number;
  recorded: number;
}

const dayMs = 24 * 3_600_000;
/** Longest pause between batches of expired responses, which leaves the stores to submissions. */
const maxPauseMs = 500;
/** Number of responses of a survey after which the next survey has its turn. */
const turnSize = 20_000;
/** No turn is begun after this time, so that the next run finds what has expired meanwhile. */
const maxRunMs = 9 * 60_000;
/**
 * How long export files outlive expired responses; without it, files of a survey whose responses expire daily would
 * never last.
 */
const exportRetentionMs = dayMs;

/**
 * Makes what erases the responses whose retention period has ended. Surveys take turns; what is left at the end of a run
 * is erased by the next ones, which begin with the survey after the last. It writes at most two audit records for each
 * survey and run: one before its first batch, and one of the rest at the end. A survey whose responses cannot be deleted
 * delays no other.
 */
export function createExpiry(deps: ExpiryDeps) {
  const { monotonicMs = () => performance.now() } = deps;
  let lastSurveyId = '';
  // A store that is away fails all surveys, of which there may be thousands.
  const warn = createBoundedWarnings(deps.log);

  /** Expired dead letters by survey, found in one pass over all dead letters instead of one for each rule. */
  const expiredDeadLetters = async (
    rules: readonly { surveyId: string; before: Date }[],
  ): Promise<Map<string, ParsedDeadLetter[]>> => {
    const expired = new Map<string, ParsedDeadLetter[]>();
    if (rules.length === 0) return expired;
    const expiryTimes = new Map(rules.map(({ surveyId, before }) => [surveyId, before.getTime()]));
    // Nobody knows when a row that cannot be read was submitted: at the latest when it was rejected.
    const isExpired = ({ surveyId, head }: DeadLetterRow, id: string) =>
      (head?.submittedAtMs ?? rejectedAtMs(id)) < (expiryTimes.get(surveyId ?? '') ?? 0);
    for (const deadLetter of await deps.deadLetters.filter(isExpired)) {
      const surveyId = deadLetter.row.surveyId ?? '';
      const others = expired.get(surveyId);
      if (others) others.push(deadLetter);
      else expired.set(surveyId, [deadLetter]);
    }
    return expired;
  };

  const record = ({ surveyId, days, before }: ExpiredResponses, count: number): Promise<void> =>
    deps.audit.record({
      actor: null,
      action: 'responses.expired',
      objectKind: 'survey',
      objectId: surveyId,
      details: { erased: count, retentionDays: days, before: before.toISOString() },
    });

  const recordRest = async (expired: ExpiredResponses): Promise<void> => {
    const { surveyId } = expired;
    const unrecorded = expired.erased - expired.recorded;
    if (unrecorded <= 0) return;
    expired.recorded = expired.erased;
    await record(expired, unrecorded).catch((error: unknown) =>
      warn({ err: error, surveyId, unrecorded }, 'expired responses of a survey were deleted without an audit record'),
    );
  };

  /** One turn of a survey; notes how many responses it deleted, also before a failure, and where the next one begins. */
  const takeTurn = async (expired: ExpiredResponses, signal: AbortSignal | undefined): Promise<void> => {
    const { surveyId, before, deadLetters, after } = expired;
    const options: EraseOptions = {
      announce: async ({ length }) => {
        if (expired.recorded > 0 || length === 0) return;
        expired.recorded = length;
        await record(expired, length);
      },
      limit: turnSize,
      maxPauseMs,
      after,
      expireFiles: (affected) => deps.exports.limitExpiry(affected, new Date(deps.now() + exportRetentionMs)),
      deadLetters: async () => deadLetters,
      onBatchErased: (count) => {
        expired.erased += count;
      },
      signal,
    };
    expired.after = undefined;
    try {
      expired.after = (await deps.erase(surveyId, { before }, options)).next;
    } catch (error) {
      warn({ err: error, surveyId }, 'expired responses of a survey could not be deleted');
    }
  };

  return async (signal?: AbortSignal, nowMs = deps.now()): Promise<number> => {
    const beganAt = monotonicMs();
    const rules = (await deps.rules(new Date(nowMs))).map(({ surveyId, days }) => ({
      surveyId,
      days,
      before: new Date(nowMs - days * dayMs),
    }));
    const deadLetters = await expiredDeadLetters(rules);
    const expired = rules.map(
      (rule): ExpiredResponses => ({
        ...rule,
        deadLetters: deadLetters.get(rule.surveyId) ?? [],
        erased: 0,
        recorded: 0,
      }),
    );
    const turns = [
      ...expired.filter(({ surveyId }) => surveyId > lastSurveyId),
      ...expired.filter(({ surveyId }) => surveyId <= lastSurveyId),
    ];
    // A survey that has another turn is appended to what is gone through.
    for (const turn of turns) {
      if (signal?.aborted || monotonicMs() - beganAt >= maxRunMs) break;
      await takeTurn(turn, signal);
      lastSurveyId = turn.surveyId;
      if (turn.after) turns.push(turn);
      else await recordRest(turn);
    }
    for (const one of expired) await recordRest(one);
    return expired.reduce((sum, { erased }) => sum + erased, 0);
  };
}
