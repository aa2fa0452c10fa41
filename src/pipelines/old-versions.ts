import type { BuriedLetters } from '../actors/buried-letters.ts';
import type { Reading } from '../actors/reading.ts';
import type { Log } from '../log.ts';
import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { SurveyVersions } from '../stores/postgres/survey-versions.ts';

export interface OldVersionsDeps {
  versions: SurveyVersions;
  responses: Pick<ResponseStore, 'versionsNamed'>;
  reading: Pick<Reading, 'settled'>;
  buried: Pick<BuriedLetters, 'among'>;
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
export function createOldVersions({ versions, responses, reading, buried, now, log, stopping }: OldVersionsDeps) {
  /** Notes the versions that letters of these surveys name; undefined where one cannot be read. */
  const note = async (named: ReadonlyMap<string, Set<number | undefined>>): Promise<void> =>
    void (await buried.among(({ surveyId, head }) => {
      named.get(surveyId ?? '')?.add(head?.surveyVersion);
      return false;
    }));

  const removeOf = async (surveyId: string, inLetters: ReadonlySet<number | undefined>): Promise<void> => {
    if (inLetters.has(undefined)) return;
    const named = [...(await responses.versionsNamed(surveyId)), ...[...inLetters].flatMap((version) => version ?? [])];
    await versions.removeUnnamed(surveyId, { named, replacedBefore: new Date(now() - dayMs) });
  };

  const skipped = (surveyId: string) => (error: unknown) => log.debug({ err: error, surveyId }, 'the versions of a survey could not be looked through now');

  const removeOfAll = async (surveyIds: readonly string[]): Promise<void> => {
    const named = new Map(surveyIds.map((id) => [id, new Set<number | undefined>()]));
    // Before and after, since what lies there may be put back at any moment; for all at once, since there may be a lot of it.
    await note(named);
    for (const surveyId of surveyIds) await reading.settled(surveyId).catch((error: unknown) => (named.delete(surveyId), skipped(surveyId)(error)));
    await note(named);
    for (const [surveyId, inLetters] of named) {
      if (stopping?.aborted) return;
      await removeOf(surveyId, inLetters).catch(skipped(surveyId));
    }
  };

  return async (): Promise<void> => {
    for (let after: string | undefined; !stopping?.aborted; ) {
      const page = await versions.crowded({ after, limit: pageSize });
      if (page.length > 0) await removeOfAll(page);
      if (page.length < pageSize) return;
      after = page.at(-1);
    }
  };
}
