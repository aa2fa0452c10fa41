import { defaultCollectorCode } from '../domain/collectors/collector.ts';
import { type DeadLetterRow, mayNameRespondent } from '../domain/dead-letter-row.ts';
import { encodeTombstone } from '../domain/response-row.ts';
import { Problem } from '../errors.ts';
import type { Log } from '../log.ts';
import { createBoundedWarnings } from '../platform/bounded-warnings.ts';
import { isServerGeneratedId } from '../platform/ids.ts';
import type { AnnotationStore } from '../stores/annotations.ts';
import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { DeletionCriterion, ResponseMarkedForDeletion } from '../stores/clickhouse/write/erasure.ts';
import type { ExportFiles } from '../stores/export-files.ts';
import type { Audit, AuditActor } from '../stores/postgres/audit.ts';
import type { AffectedResponses, ExportStore } from '../stores/postgres/exports.ts';
import type { InvitationStore } from '../stores/postgres/invitations.ts';
import type { RetentionRule } from '../stores/postgres/survey-retention.ts';
import type { UploadRows } from '../stores/postgres/uploads.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';
import type { Uploads } from '../stores/uploads/uploads.ts';
import type { ConsistentReads } from './consistent-reads.ts';
import type { DeadLetters, ParsedDeadLetter } from './dead-letters.ts';
import { headsOf, uniqueResponses, withCompletions } from './response-saves.ts';

export interface ResponseErasureDeps {
  intake: Pick<Intake, 'deleteResponse'>;
  responses: Pick<ResponseStore, 'findMarkedForDeletion' | 'findAll' | 'wasDeleted'>;
  reading: Pick<ConsistentReads, 'caughtUp'>;
  uploads: Pick<Uploads, 'removeOfResponses'>;
  uploadRows: Pick<UploadRows, 'markUnverified'>;
  annotations: Pick<AnnotationStore, 'removeOfResponses'>;
  /** Accepted rows that could not be stored; they may be requeued. */
  deadLetters: DeadLetters;
  exports: Pick<ExportStore, 'invalidate' | 'limitExpiry'>;
  exportFiles: Pick<ExportFiles, 'remove'>;
  audit: Pick<Audit, 'record'>;
  /** Without this no invitation is erased. */
  invitations?: Pick<InvitationStore, 'eraseOfResponses' | 'eraseOfReference'>;
  /**
   * Codes of the collectors by which responses of a survey came, by response id; without it, all by the default one.
   */
  collectorsOf?(surveyId: string, responseIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  rules(now: Date): Promise<RetentionRule[]>;
  log: Pick<Log, 'warn'>;
  now(): number;
}

interface EraseOptions {
  limit: number;
  pauseMs: number;
  /** Called once before anything is erased, with the number of responses that are erased first. */
  begin(count: number): Promise<void>;
  /** Called at the end, also after a failure, with the number of responses that were erased beyond those, if any. */
  recordOthers(count: number): Promise<void>;
  /**
   * Expires export files that show the responses; called before and after each batch, since files may be made
   * meanwhile.
   */
  expireFiles(affected: AffectedResponses): Promise<void>;
  /** The dead letters to be erased. */
  deadLetters(): Promise<readonly ParsedDeadLetter[]>;
  /** Called before every batch of stored responses with their ids. */
  beforeBatch?(responseIds: readonly string[]): Promise<void> | undefined;
  /** Called after every batch with the number of erased responses. */
  onBatchErased?(count: number): void;
  /** Aborted: it ends after the batch at hand. */
  signal?: AbortSignal | undefined;
}

const dayMs = 24 * 3_600_000;
const batchSize = 500;
const concurrency = 25;
/** Pause between batches of expired responses, which leaves the stores to submissions. */
const pauseBetweenBatchesMs = 500;
const maxOfRespondent = 5000;
/**
 * How long export files outlive expired responses; without it, files of a survey whose responses expire daily would
 * never last.
 */
const exportRetentionMs = dayMs;

/**
 * Erases responses: appends tombstones, and deletes uploads, annotations, dead letters and export files. The audit
 * event of an erasure is written before anything is erased, since a process that dies meanwhile writes nothing more.
 */
export function createResponseErasure(deps: ResponseErasureDeps) {
  // A store that is away fails all surveys, of which there may be thousands.
  const warn = createBoundedWarnings(deps.log);
  const removeDependents = async (responseId: string): Promise<void> => {
    await deps.uploads.removeOfResponses([responseId]);
    await deps.annotations.removeOfResponses([responseId]);
  };

  /** Deletes one response with its uploads and annotations. False: it was deleted before. */
  const remove = async (
    { surveyId, responseId, submittedAtMs, outcome }: ResponseMarkedForDeletion,
    collectors: ReadonlyMap<string, number> | undefined,
  ): Promise<boolean> => {
    // If this process dies here, the periodic task for uploads checks whether the response still exists.
    await deps.uploadRows.markUnverified([responseId]);
    const isRemoved = await deps.intake.deleteResponse({
      surveyId,
      responseId,
      submittedAtMs,
      outcome,
      collector: collectors?.get(responseId) ?? defaultCollectorCode,
      row: encodeTombstone(surveyId, responseId, submittedAtMs, deps.now()),
    });
    await removeDependents(responseId);
    return isRemoved;
  };

  /**
   * Waits until the tombstones are stored, so that no read shows the responses any more. The deletion holds whatever
   * happens: if the response store is away or far behind, this waits no longer than a read would.
   */
  const waitUntilHidden = async (surveyId: string): Promise<void> => {
    try {
      await deps.reading.caughtUp(surveyId);
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE')) throw error;
    }
  };

  /** All are of one survey. */
  const removeAll = async (marked: readonly ResponseMarkedForDeletion[]): Promise<number> => {
    const collectors = await deps.collectorsOf?.(
      marked[0]?.surveyId ?? '',
      marked.map(({ responseId }) => responseId),
    );
    let removed = 0;
    for (let from = 0; from < marked.length; from += concurrency) {
      const batch = marked.slice(from, from + concurrency);
      const results = await Promise.all(batch.map((response) => remove(response, collectors)));
      removed += results.filter(Boolean).length;
    }
    return removed;
  };

  /**
   * Expires files before and after the work: before, so that an erasure that was cut short can be repeated as long as
   * responses remain; after, for files that were made meanwhile.
   */
  const withExpiredFiles = async <T>(
    affected: AffectedResponses,
    expireFiles: EraseOptions['expireFiles'],
    work: () => Promise<T>,
  ): Promise<T> => {
    await expireFiles(affected);
    try {
      return await work();
    } finally {
      await expireFiles(affected);
    }
  };

  /** Other responses of the survey under the same id: a client's id may have been used again after it was evicted. */
  const othersOf = async ({
    surveyId,
    responseId,
    submittedAtMs,
  }: ResponseMarkedForDeletion): Promise<ResponseMarkedForDeletion[]> => {
    if (isServerGeneratedId(responseId)) return [];
    await deps.reading.caughtUp(surveyId);
    const ofSurvey = (await deps.responses.findAll(responseId)).filter((record) => record.surveyId === surveyId);
    const found = ofSurvey.map(({ submittedAt, outcome }) => ({
      surveyId,
      responseId,
      submittedAtMs: submittedAt.getTime(),
      outcome,
    }));
    return found.filter((other) => other.submittedAtMs !== submittedAtMs);
  };

  const deleteExports = async (affected: AffectedResponses): Promise<void> => {
    for (const id of await deps.exports.invalidate(affected)) await deps.exportFiles.remove(id);
  };

  /** The responses of the dead letters, without those that were deleted before. */
  const responsesOf = async (deadLetters: readonly ParsedDeadLetter[]): Promise<ResponseMarkedForDeletion[]> => {
    const remaining: ResponseMarkedForDeletion[] = [];
    for (const response of uniqueResponses(headsOf(deadLetters)))
      if (!(await deps.responses.wasDeleted(response.responseId, response.submittedAtMs))) remaining.push(response);
    return remaining;
  };

  /** Erases dead letters and their responses. The tombstones also delete a row that is requeued at this moment. */
  const eraseDeadLetters = async (surveyId: string, marked: readonly ParsedDeadLetter[]): Promise<number> => {
    // The uploads of an unreadable row are unknown, so the periodic task for uploads must check its response id.
    const unread = marked.flatMap(({ row: { head, responseId } }) => (head || responseId === null ? [] : [responseId]));
    if (unread.length > 0) await deps.uploadRows.markUnverified(unread);
    const count = await removeAll(await responsesOf(marked));
    await deps.deadLetters.remove(surveyId, marked);
    return count;
  };

  /** Expired dead letters by survey, found in one pass over all dead letters instead of one for each rule. */
  const expiredDeadLetters = async (
    rules: readonly { surveyId: string; before: Date }[],
  ): Promise<Map<string, ParsedDeadLetter[]>> => {
    const expired = new Map<string, ParsedDeadLetter[]>();
    if (rules.length === 0) return expired;
    const expiryTimes = new Map(rules.map(({ surveyId, before }) => [surveyId, before.getTime()]));
    const isExpired = ({ surveyId, head }: DeadLetterRow) =>
      head !== undefined && head.submittedAtMs < (expiryTimes.get(surveyId ?? '') ?? 0);
    for (const deadLetter of await deps.deadLetters.filter(isExpired)) {
      const surveyId = deadLetter.row.surveyId ?? '';
      const others = expired.get(surveyId);
      if (others) others.push(deadLetter);
      else expired.set(surveyId, [deadLetter]);
    }
    return expired;
  };

  const erase = async (
    surveyId: string,
    selection: DeletionCriterion,
    { begin, recordOthers, limit, pauseMs, expireFiles, deadLetters, beforeBatch, onBatchErased, signal }: EraseOptions,
  ): Promise<{ removed: number; isFinished: boolean }> => {
    // The save that completed a response may be a dead letter, while the stored save says that it is open.
    const deadLetterHeads = headsOf(await deadLetters());
    let first: number | undefined;
    let removed = 0;
    const beginOnce = async (count: number): Promise<void> => {
      if (first !== undefined) return;
      first = count;
      await begin(count);
    };
    const noteErased = (count: number): void => {
      removed += count;
      onBatchErased?.(count);
    };
    try {
      for (;;) {
        // Includes responses and tombstones that were accepted before now.
        await deps.reading.caughtUp(surveyId);
        const marked = await deps.responses.findMarkedForDeletion(surveyId, selection, batchSize);
        if (marked.length === 0) {
          const letters = await deadLetters();
          await beginOnce(uniqueResponses(headsOf(letters)).length);
          noteErased(await eraseDeadLetters(surveyId, letters));
          return { removed, isFinished: true };
        }
        if (removed >= limit || signal?.aborted) return { removed, isFinished: false };
        await beginOnce(marked.length);
        await beforeBatch?.(marked.map(({ responseId }) => responseId));
        const count = await withExpiredFiles(affectedExports(surveyId, marked), expireFiles, () =>
          removeAll(withCompletions(marked, deadLetterHeads)),
        );
        noteErased(count);
        // All of the batch was deleted before, yet is still read: another pass would not help.
        if (count === 0) return { removed, isFinished: false };
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    } finally {
      if (first !== undefined && removed > first) await recordOthers(removed - first);
    }
  };

  /** Applies one retention rule; returns how many responses it deleted, also before a failure. */
  const eraseExpiredOf = async (
    { surveyId, days, before }: RetentionRule & { before: Date },
    deadLetters: readonly ParsedDeadLetter[],
    signal: AbortSignal | undefined,
  ): Promise<number> => {
    let erased = 0;
    const record = (count: number): Promise<void> =>
      deps.audit.record({
        actor: null,
        action: 'responses.expired',
        objectKind: 'survey',
        objectId: surveyId,
        details: { erased: count, retentionDays: days, before: before.toISOString() },
      });
    try {
      await erase(
        surveyId,
        { before },
        {
          begin: async (count) => (count > 0 ? record(count) : undefined),
          recordOthers: record,
          limit: Number.POSITIVE_INFINITY,
          pauseMs: pauseBetweenBatchesMs,
          expireFiles: (affected) => deps.exports.limitExpiry(affected, new Date(deps.now() + exportRetentionMs)),
          deadLetters: async () => deadLetters,
          onBatchErased: (count) => {
            erased += count;
          },
          signal,
        },
      );
    } catch (error) {
      warn({ err: error, surveyId }, 'expired responses of a survey could not be deleted');
    }
    return erased;
  };

  return {
    /**
     * Erases one response, with the survey's other responses under its id, its dead letters and the export files that
     * may show it. `actor` stands in the audit; `stored`: the response as the response store has it. False: there is
     * none, or it was deleted before.
     */
    async eraseOne(
      { surveyId, responseId }: Pick<ResponseMarkedForDeletion, 'surveyId' | 'responseId'>,
      actor: AuditActor | null,
      stored?: ResponseMarkedForDeletion,
    ): Promise<boolean> {
      const deadLetters = await deps.deadLetters.ofResponse(surveyId, responseId);
      const known = stored ? [stored, ...(await othersOf(stored))] : [];
      if (deadLetters.length === 0 && known.length === 0) return false;
      const all = uniqueResponses([...known, ...(await responsesOf(deadLetters))]);
      await deps.audit.record({
        actor,
        action: 'response.deleted',
        objectKind: 'response',
        objectId: responseId,
        details: { surveyId },
      });
      const eraseAll = async () => {
        const removed = await removeAll(all);
        if (all.length === 0) await removeDependents(responseId);
        // Last, because the erasure can be repeated while a dead letter remains. Others may have been added meanwhile.
        await deps.deadLetters.remove(surveyId, [
          ...deadLetters,
          ...(await deps.deadLetters.ofResponse(surveyId, responseId)),
        ]);
        if (removed > 0) await waitUntilHidden(surveyId);
        return removed > 0 || deadLetters.length > 0;
      };
      return all.length > 0 ? withExpiredFiles(affectedExports(surveyId, all), deleteExports, eraseAll) : eraseAll();
    },

    /**
     * Erases one respondent's responses, with the export files that may show them. `actor` stands in the audit;
     * `isFinished` is false if there are more than 5000.
     */
    async eraseRespondent(
      surveyId: string,
      respondent: string,
      actor: AuditActor | null,
    ): Promise<{ removed: number; isFinished: boolean }> {
      // The respondent is not named: the audit outlives what was erased.
      const record = (deleted: number): Promise<void> =>
        deps.audit.record({
          actor,
          action: 'respondent.erased',
          objectKind: 'survey',
          objectId: surveyId,
          details: { deleted },
        });
      return erase(
        surveyId,
        { respondent },
        {
          begin: async (count) => {
            await record(count);
            await deps.invitations?.eraseOfReference(surveyId, respondent);
          },
          recordOthers: record,
          limit: maxOfRespondent,
          pauseMs: 0,
          expireFiles: deleteExports,
          beforeBatch: (responseIds) => deps.invitations?.eraseOfResponses(surveyId, responseIds),
          deadLetters: async () =>
            (await deps.deadLetters.ofSurvey(surveyId)).filter(({ row }) => mayNameRespondent(row, respondent)),
        },
      );
    },

    /**
     * Deletes the responses whose retention period has ended; export files that may show them expire within a day.
     * Writes an audit record for each survey. A survey whose responses cannot be deleted delays no other. Ends between
     * batches once `signal` is aborted. `nowMs`: the time from which ages count. Returns the number of deleted responses.
     */
    async eraseExpired(signal?: AbortSignal, nowMs = deps.now()): Promise<number> {
      let removed = 0;
      const rules = (await deps.rules(new Date(nowMs))).map(({ surveyId, days }) => ({
        surveyId,
        days,
        before: new Date(nowMs - days * dayMs),
      }));
      const deadLetters = await expiredDeadLetters(rules);
      for (const rule of rules) {
        if (signal?.aborted) break;
        removed += await eraseExpiredOf(rule, deadLetters.get(rule.surveyId) ?? [], signal);
      }
      return removed;
    },
  };
}

function affectedExports(
  surveyId: string,
  responses: readonly Pick<ResponseMarkedForDeletion, 'submittedAtMs'>[],
): AffectedResponses {
  const times = responses.map(({ submittedAtMs }) => submittedAtMs);
  return { surveyId, first: new Date(Math.min(...times)), last: new Date(Math.max(...times)) };
}

export type ResponseErasure = ReturnType<typeof createResponseErasure>;
