import type { ConsistentReads } from '../../actors/consistent-reads.ts';
import type { DeadLetters } from '../../actors/dead-letters.ts';
import type { Log } from '../../log.ts';
import type { ResponseStore } from '../../stores/clickhouse/responses.ts';
import type { SurveyVersions } from '../../stores/postgres/survey-versions.ts';

export interface RemoveOldVersionsDeps {
  versions: SurveyVersions;
  responses: Pick<ResponseStore, 'findSurveyVersions'>;
  reading: Pick<ConsistentReads, 'caughtUp'>;
  deadLetters: Pick<DeadLetters, 'filter'>;
  now(): number;
  log: Pick<Log, 'debug'>;
  stopping?: AbortSignal;
}

const dayMs = 86_400_000;
const pageSize = 100;

/**
 * Removes survey versions that nothing refers to: no response, no dead letter, no export. A version that was replaced a
 * day ago gets no new responses, so its references are complete.
 */
export function createRemoveOldVersions({
  versions,
  responses,
  reading,
  deadLetters,
  now,
  log,
  stopping,
}: RemoveOldVersionsDeps) {
  /** Adds the versions that dead letters of these surveys refer to; undefined for one that cannot be read. */
  const collectDeadLetterVersions = async (referring: ReadonlyMap<string, Set<number | undefined>>): Promise<void> =>
    void (await deadLetters.filter(({ surveyId, head }) => {
      referring.get(surveyId ?? '')?.add(head?.surveyVersion);
      return false;
    }));

  const removeOf = async (surveyId: string, inDeadLetters: ReadonlySet<number | undefined>): Promise<void> => {
    if (inDeadLetters.has(undefined)) return;
    const referenced = [
      ...(await responses.findSurveyVersions(surveyId)),
      ...[...inDeadLetters].flatMap((version) => version ?? []),
    ];
    await versions.removeUnreferenced(surveyId, { referenced, replacedBefore: new Date(now() - dayMs) });
  };

  const logSkipped = (surveyId: string) => (error: unknown) =>
    log.debug({ err: error, surveyId }, 'checking the versions of a survey failed');

  const removeOfAll = async (surveyIds: readonly string[]): Promise<void> => {
    const referring = new Map(surveyIds.map((id) => [id, new Set<number | undefined>()]));
    // Before and after, because dead letters may be requeued at any moment; for all surveys at once, because there may
    // be many.
    await collectDeadLetterVersions(referring);
    for (const surveyId of surveyIds)
      await reading.caughtUp(surveyId).catch((error: unknown) => {
        referring.delete(surveyId);
        logSkipped(surveyId)(error);
      });
    await collectDeadLetterVersions(referring);
    for (const [surveyId, inDeadLetters] of referring) {
      if (stopping?.aborted) return;
      await removeOf(surveyId, inDeadLetters).catch(logSkipped(surveyId));
    }
  };

  return async (): Promise<void> => {
    for (let after: string | undefined; !stopping?.aborted; ) {
      const page = await versions.surveysWithSurplusVersions({ after, limit: pageSize });
      if (page.length > 0) await removeOfAll(page);
      if (page.length < pageSize) return;
      after = page.at(-1);
    }
  };
}
