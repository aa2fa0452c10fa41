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
 * Removes wordings that nothing names any more: no response, not even one that could not be stored, and no export. Nobody answers a version
 * that was replaced a day ago, so what names it by then is to be seen.
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
  /** Notes the versions that letters of these surveys name; undefined where one cannot be read. */
  const collectDeadLetterVersions = async (named: ReadonlyMap<string, Set<number | undefined>>): Promise<void> =>
    void (await deadLetters.filter(({ surveyId, head }) => {
      named.get(surveyId ?? '')?.add(head?.surveyVersion);
      return false;
    }));

  const removeOf = async (surveyId: string, inLetters: ReadonlySet<number | undefined>): Promise<void> => {
    if (inLetters.has(undefined)) return;
    const referenced = [
      ...(await responses.findSurveyVersions(surveyId)),
      ...[...inLetters].flatMap((version) => version ?? []),
    ];
    await versions.removeUnreferenced(surveyId, { referenced, replacedBefore: new Date(now() - dayMs) });
  };

  const logSkipped = (surveyId: string) => (error: unknown) =>
    log.debug({ err: error, surveyId }, 'checking the versions of a survey failed');

  const removeOfAll = async (surveyIds: readonly string[]): Promise<void> => {
    const named = new Map(surveyIds.map((id) => [id, new Set<number | undefined>()]));
    // Before and after, since what lies there may be put back at any moment; for all at once, since there may be a lot of it.
    await collectDeadLetterVersions(named);
    for (const surveyId of surveyIds)
      await reading.caughtUp(surveyId).catch((error: unknown) => (named.delete(surveyId), logSkipped(surveyId)(error)));
    await collectDeadLetterVersions(named);
    for (const [surveyId, inLetters] of named) {
      if (stopping?.aborted) return;
      await removeOf(surveyId, inLetters).catch(logSkipped(surveyId));
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
