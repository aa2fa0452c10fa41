import { mayNameRespondent } from '../../domain/dead-letter-row.ts';
import { Problem } from '../../errors.ts';
import { isServerGeneratedId } from '../../platform/ids.ts';
import type { ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { ResponseMarkedForDeletion } from '../../stores/clickhouse/write/erasure.ts';
import type { ExportFiles } from '../../stores/export-files.ts';
import type { AuditActor } from '../../stores/postgres/audit.ts';
import type { AffectedResponses, ExportStore } from '../../stores/postgres/exports.ts';
import type { InvitationStore } from '../../stores/postgres/invitations.ts';
import type { ParsedDeadLetter } from '../dead-letters.ts';
import { affectedExports, createErasureBatches, withExpiredFiles } from './batches.ts';
import { createExpiry, type ExpiryDeps } from './expiry.ts';
import { createResponseRemoval, type ResponseRemovalDeps } from './removal.ts';
import { uniqueResponses } from './response-saves.ts';

export interface ResponseErasureDeps extends ResponseRemovalDeps, Omit<ExpiryDeps, 'erase' | 'deadLetters'> {
  responses: Pick<ResponseStore, 'findMarkedForDeletion' | 'findUses' | 'findAll' | 'wasDeleted'>;
  exports: Pick<ExportStore, 'invalidate' | 'limitExpiry'>;
  exportFiles: Pick<ExportFiles, 'remove'>;
  /** Without this no invitation is erased. */
  invitations?: Pick<InvitationStore, 'responsesOfReference' | 'eraseOfResponses' | 'eraseOfReference'>;
}

const maxOfRespondent = 5000;

/**
 * Erases responses: appends tombstones, and deletes uploads, annotations, dead letters and export files. The audit
 * event of an erasure is written before anything is erased, since a process that dies meanwhile writes nothing more.
 */
export function createResponseErasure(deps: ResponseErasureDeps) {
  const removal = createResponseRemoval(deps);
  const erase = createErasureBatches({ ...deps, removal });

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

  /** Other responses of the survey under the same id: a client's id may have been used again after it was evicted. */
  const othersOf = async ({
    surveyId,
    responseId,
    submittedAtMs,
  }: ResponseMarkedForDeletion): Promise<ResponseMarkedForDeletion[]> => {
    if (isServerGeneratedId(responseId)) return [];
    await deps.reading.caughtUp(surveyId);
    const found = (await deps.responses.findAll(responseId, surveyId)).map(({ submittedAt, outcome }) => ({
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
      const all = uniqueResponses([...known, ...(await removal.responsesOf(deadLetters))]);
      await deps.audit.record({
        actor,
        action: 'response.deleted',
        objectKind: 'response',
        objectId: responseId,
        details: { surveyId },
      });
      const eraseAll = async () => {
        const removed = await removal.removeAll(all);
        if (all.length === 0) await removal.removeDependents(surveyId, responseId);
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
     * Erases one respondent's responses, with the export files that may show them: those that name the respondent, and
     * those by invitations that have the respondent as reference. `actor` stands in the audit; `isFinished` is false if
     * there are more than 5000.
     */
    async eraseRespondent(
      surveyId: string,
      respondent: string,
      actor: AuditActor | null,
    ): Promise<{ removed: number; isFinished: boolean }> {
      // The respondent is not named: the audit outlives what was erased. By the ids it can be erased again after a
      // restore.
      const record = (responseIds: readonly string[]): Promise<void> =>
        deps.audit.record({
          actor,
          action: 'respondent.erased',
          objectKind: 'survey',
          objectId: surveyId,
          details: { deleted: responseIds.length, responseIds },
        });
      const invited = new Set(await deps.invitations?.responsesOfReference(surveyId, respondent));
      const isNamedIn = ({ row }: ParsedDeadLetter) =>
        mayNameRespondent(row, respondent) || invited.has(row.responseId ?? '');
      const erased = await erase(
        surveyId,
        { respondent, responseIds: [...invited] },
        {
          announce: record,
          limit: maxOfRespondent,
          maxPauseMs: 0,
          expireFiles: deleteExports,
          beforeBatch: (responseIds) => {
            const others = responseIds.filter((id) => !invited.has(id));
            return deps.invitations?.eraseOfResponses(surveyId, others);
          },
          deadLetters: async () => (await deps.deadLetters.ofSurvey(surveyId)).filter(isNamedIn),
        },
      );
      // Last, because an erasure that was cut short finds the invited responses by the reference when it is repeated.
      if (erased.isFinished) await deps.invitations?.eraseOfReference(surveyId, respondent);
      return erased;
    },

    /**
     * Deletes the responses whose retention period has ended; export files that may show them expire within a day. Ends
     * between batches once `signal` is aborted. `nowMs`: the time from which ages count. Returns the number of deleted
     * responses.
     */
    eraseExpired: createExpiry({ ...deps, erase }),
  };
}

export type ResponseErasure = ReturnType<typeof createResponseErasure>;
