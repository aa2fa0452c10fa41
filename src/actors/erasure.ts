import { type DeadLetterRow, mayNameRespondent } from '../domain/dead-letter-row.ts';
import { encodeTombstone, type ResponseHead } from '../domain/response-row.ts';
import { isServerGeneratedId } from '../platform/ids.ts';
import type { AnnotationStore } from '../stores/annotations.ts';
import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { DeletionCriterion, ResponseMarkedForDeletion } from '../stores/clickhouse/write/erasure.ts';
import type { ExportFiles } from '../stores/export-files.ts';
import type { Audit } from '../stores/postgres/audit.ts';
import type { AffectedResponses, ExportStore } from '../stores/postgres/exports.ts';
import type { RetentionRule } from '../stores/postgres/survey-retention.ts';
import type { UploadRows } from '../stores/postgres/uploads.ts';
import type { Intake } from '../stores/redis/intake/intake.ts';
import type { Uploads } from '../stores/uploads/uploads.ts';
import type { ConsistentReads } from './consistent-reads.ts';
import type { DeadLetters, ParsedDeadLetter } from './dead-letters.ts';

export interface ResponseErasureDeps {
  intake: Pick<Intake, 'deleteResponse'>;
  responses: Pick<ResponseStore, 'findMarkedForDeletion' | 'findAll' | 'wasDeleted'>;
  reading: Pick<ConsistentReads, 'caughtUp'>;
  uploads: Pick<Uploads, 'removeOfResponses'>;
  uploadRows: Pick<UploadRows, 'markUnverified'>;
  annotations: Pick<AnnotationStore, 'removeOfResponses'>;
  /** What could not be stored, and may be put back. */
  deadLetters: DeadLetters;
  exports: Pick<ExportStore, 'invalidate' | 'limitExpiry'>;
  exportFiles: Pick<ExportFiles, 'remove'>;
  audit: Pick<Audit, 'record'>;
  rules(now: Date): Promise<RetentionRule[]>;
  now(): number;
}

interface EraseOptions {
  limit: number;
  pauseMs: number;
  /** What becomes of files that show them: called before and after each batch, since files may be asked for meanwhile. */
  expireFiles(concerned: AffectedResponses): Promise<void>;
  /** Of what could not be stored, that which the reason holds for. */
  deadLetters(): Promise<readonly ParsedDeadLetter[]>;
  /** Told of every batch that is gone. */
  onBatchErased?(gone: number): void;
}

const dayMs = 24 * 3_600_000;
const batchSize = 500;
const concurrency = 25;
/** Between batches that time alone asks for: submissions come first. */
const pauseBetweenBatchesMs = 500;
const maxOfRespondent = 5000;
/** Files outlive what time has deleted by so much: where responses grow old all day, no file would otherwise last. */
const exportRetentionMs = dayMs;

/** Deletes responses for good: their tombstones end counts and rows, and their files go. */
export function createResponseErasure(deps: ResponseErasureDeps) {
  const removeTraces = async (responseId: string): Promise<void> => {
    await deps.uploads.removeOfResponses([responseId]);
    await deps.annotations.removeOfResponses([responseId]);
  };

  /** As the intake's own; the response's files go too, and what analyses found in it. */
  const remove = async ({
    surveyId,
    responseId,
    submittedAtMs,
    isComplete,
  }: ResponseMarkedForDeletion): Promise<boolean> => {
    // Should this be cut short, the sweep of uploads asks whether the response is still there.
    await deps.uploadRows.markUnverified([responseId]);
    const isRemoved = await deps.intake.deleteResponse({
      surveyId,
      responseId,
      submittedAtMs,
      isComplete,
      row: encodeTombstone(surveyId, responseId, submittedAtMs, deps.now()),
    });
    await removeTraces(responseId);
    return isRemoved;
  };

  const removeAll = async (marked: readonly ResponseMarkedForDeletion[]): Promise<number> => {
    let removed = 0;
    for (let from = 0; from < marked.length; from += concurrency) {
      const results = await Promise.all(marked.slice(from, from + concurrency).map(remove));
      removed += results.filter(Boolean).length;
    }
    return removed;
  };

  /** Should this be cut short, what is still there can be deleted again: files go first. Those that came to be meanwhile go after. */
  const withExpiredFiles = async <T>(
    concerned: AffectedResponses,
    expireFiles: EraseOptions['expireFiles'],
    work: () => Promise<T>,
  ): Promise<T> => {
    await expireFiles(concerned);
    try {
      return await work();
    } finally {
      await expireFiles(concerned);
    }
  };

  /** An id that a client has made may have come again after it was forgotten. */
  const othersOf = async ({
    surveyId,
    responseId,
    submittedAtMs,
  }: ResponseMarkedForDeletion): Promise<ResponseMarkedForDeletion[]> => {
    if (isServerGeneratedId(responseId)) return [];
    await deps.reading.caughtUp(surveyId);
    const ofSurvey = (await deps.responses.findAll(responseId)).filter((record) => record.surveyId === surveyId);
    const found = ofSurvey.map(({ submittedAt, isComplete }) => ({
      surveyId,
      responseId,
      submittedAtMs: submittedAt.getTime(),
      isComplete,
    }));
    return found.filter((other) => other.submittedAtMs !== submittedAtMs);
  };

  const withdraw = async (concerned: AffectedResponses): Promise<void> => {
    for (const id of await deps.exports.invalidate(concerned)) await deps.exportFiles.remove(id);
  };

  /** The responses that letters belong to, but for those that were deleted before: a letter may have stayed behind then. */
  const responsesOf = async (letters: readonly ParsedDeadLetter[]): Promise<ResponseMarkedForDeletion[]> => {
    const left: ResponseMarkedForDeletion[] = [];
    for (const response of uniqueResponses(headsOf(letters)))
      if (!(await deps.responses.wasDeleted(response.responseId, response.submittedAtMs))) left.push(response);
    return left;
  };

  /** Ends those too that could not be stored: their tombstones outlive them, should one be put back in this moment. */
  const eraseDeadLetters = async (surveyId: string, marked: readonly ParsedDeadLetter[]): Promise<number> => {
    // Of what cannot be read nobody knows what it was: the sweep of uploads asks whether anything is left of it.
    const unread = marked.flatMap(({ row: { head, responseId } }) => (head || responseId === null ? [] : [responseId]));
    if (unread.length > 0) await deps.uploadRows.markUnverified(unread);
    const count = await removeAll(await responsesOf(marked));
    await deps.deadLetters.drop(surveyId, marked);
    return count;
  };

  /** By survey. All at once: with a rule for every survey each of them would otherwise read what lies there of all. */
  const expiredDeadLetters = async (
    rules: readonly { surveyId: string; before: Date }[],
  ): Promise<Map<string, ParsedDeadLetter[]>> => {
    const expired = new Map<string, ParsedDeadLetter[]>();
    if (rules.length === 0) return expired;
    const ends = new Map(rules.map(({ surveyId, before }) => [surveyId, before.getTime()]));
    const isExpired = ({ surveyId, head }: DeadLetterRow) =>
      head !== undefined && head.submittedAtMs < (ends.get(surveyId ?? '') ?? 0);
    for (const letter of await deps.deadLetters.filter(isExpired)) {
      const surveyId = letter.row.surveyId ?? '';
      const others = expired.get(surveyId);
      if (others) others.push(letter);
      else expired.set(surveyId, [letter]);
    }
    return expired;
  };

  const erase = async (
    surveyId: string,
    selection: DeletionCriterion,
    { limit, pauseMs, expireFiles, deadLetters, onBatchErased = () => undefined }: EraseOptions,
  ): Promise<{ removed: number; isFinished: boolean }> => {
    // A completion may lie there: what is stored does not say so.
    const deadLetterHeads = headsOf(await deadLetters());
    for (let removed = 0; ; ) {
      // What was accepted, and deleted, before now is to be seen.
      await deps.reading.caughtUp(surveyId);
      const marked = await deps.responses.findMarkedForDeletion(surveyId, selection, batchSize);
      if (marked.length === 0) {
        const erasedDeadLetters = await eraseDeadLetters(surveyId, await deadLetters());
        onBatchErased(erasedDeadLetters);
        return { removed: removed + erasedDeadLetters, isFinished: true };
      }
      if (removed >= limit) return { removed, isFinished: false };
      const count = await withExpiredFiles(affectedExports(surveyId, marked), expireFiles, () =>
        removeAll(withCompletions(marked, deadLetterHeads)),
      );
      removed += count;
      onBatchErased(count);
      // Deleted before, and yet still shown: going round would not help.
      if (count === 0) return { removed, isFinished: false };
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };

  return {
    /**
     * Erases one response, and what else its survey has under its id, also what could not be stored of it, with the export files that may
     * show it. `stored`: what the response store has of it. False: there is nothing of it, or it was deleted before.
     */
    async eraseOne(
      { surveyId, responseId }: Pick<ResponseMarkedForDeletion, 'surveyId' | 'responseId'>,
      stored?: ResponseMarkedForDeletion,
    ): Promise<boolean> {
      const letters = await deps.deadLetters.ofResponse(surveyId, responseId);
      const known = stored ? [stored, ...(await othersOf(stored))] : [];
      if (letters.length === 0 && known.length === 0) return false;
      const all = uniqueResponses([...known, ...(await responsesOf(letters))]);
      const end = async () => {
        const removed = await removeAll(all);
        if (all.length === 0) await removeTraces(responseId);
        // Last, as the response can be deleted again while one of them is there; some may have come meanwhile.
        await deps.deadLetters.drop(surveyId, [
          ...letters,
          ...(await deps.deadLetters.ofResponse(surveyId, responseId)),
        ]);
        return removed > 0 || letters.length > 0;
      };
      return all.length > 0 ? withExpiredFiles(affectedExports(surveyId, all), withdraw, end) : end();
    },

    /** Erases one respondent's responses, with the export files that may show them. Not finished: there are more than is done at once. */
    eraseRespondent: (surveyId: string, respondent: string): Promise<{ removed: number; isFinished: boolean }> =>
      erase(
        surveyId,
        { respondent },
        {
          limit: maxOfRespondent,
          pauseMs: 0,
          expireFiles: withdraw,
          deadLetters: async () =>
            (await deps.deadLetters.ofSurvey(surveyId)).filter(({ row }) => mayNameRespondent(row, respondent)),
        },
      ),

    /** Deletes the responses whose time is over (export files that may show them expire within a day), and notes in the audit how many of which survey; gives how many of all. */
    async eraseExpired(): Promise<number> {
      let removed = 0;
      const rules = (await deps.rules(new Date(deps.now()))).map(({ surveyId, days }) => ({
        surveyId,
        days,
        before: new Date(deps.now() - days * dayMs),
      }));
      const deadLetters = await expiredDeadLetters(rules);
      for (const { surveyId, days, before } of rules) {
        const expireFiles = (concerned: AffectedResponses) =>
          deps.exports.limitExpiry(concerned, new Date(deps.now() + exportRetentionMs));
        let erased = 0;
        try {
          await erase(
            surveyId,
            { before },
            {
              limit: Number.POSITIVE_INFINITY,
              pauseMs: pauseBetweenBatchesMs,
              expireFiles,
              deadLetters: async () => deadLetters.get(surveyId) ?? [],
              onBatchErased: (count) => {
                erased += count;
              },
            },
          );
        } finally {
          // A run that broke off has erased all the same.
          if (erased > 0)
            await deps.audit.record({
              actor: null,
              action: 'responses.expired',
              objectKind: 'survey',
              objectId: surveyId,
              details: { erased, retentionDays: days, before: before.toISOString() },
            });
        }
        removed += erased;
      }
      return removed;
    },
  };
}

const headsOf = (letters: readonly ParsedDeadLetter[]): ResponseHead[] =>
  letters.flatMap(({ row: { head } }) => head ?? []);

const responseKey = ({ responseId, submittedAtMs }: ResponseMarkedForDeletion): string =>
  `${responseId} ${submittedAtMs}`;

/** Complete too where one of these saves of them is. */
function withCompletions(
  responses: readonly ResponseMarkedForDeletion[],
  saves: readonly ResponseMarkedForDeletion[],
): ResponseMarkedForDeletion[] {
  const completed = new Set(saves.filter(({ isComplete }) => isComplete).map(responseKey));
  return responses.map((response) => ({
    ...response,
    isComplete: response.isComplete || completed.has(responseKey(response)),
  }));
}

/** Of several saves of a response one, complete if any of them is. */
function uniqueResponses(saves: readonly ResponseMarkedForDeletion[]): ResponseMarkedForDeletion[] {
  const first = new Map<string, ResponseMarkedForDeletion>();
  for (const save of saves) if (!first.has(responseKey(save))) first.set(responseKey(save), save);
  return withCompletions([...first.values()], saves);
}

function affectedExports(
  surveyId: string,
  responses: readonly Pick<ResponseMarkedForDeletion, 'submittedAtMs'>[],
): AffectedResponses {
  const moments = responses.map(({ submittedAtMs }) => submittedAtMs);
  return { surveyId, first: new Date(Math.min(...moments)), last: new Date(Math.max(...moments)) };
}

export type ResponseErasure = ReturnType<typeof createResponseErasure>;
