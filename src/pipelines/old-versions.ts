import type { BuriedLetters } from '../actors/buried-letters.ts';
import type { Reading } from '../actors/reading.ts';
import type { Log } from '../log.ts';
import type { ResponseStore } from '../stores/clickhouse/responses.ts';
import type { SurveyVersions } from '../stores/postgres/survey-versions.ts';

export interface OldVersionsDeps {
  versions: SurveyVersions;
  responses: Pick<ResponseStore, 'versionsNamed'>;
  reading: Pick<Reading, 'settled'>;
  buried: Pick<BuriedLetters, 'of'>;
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
  /** The versions that they name; undefined where one cannot be read. */
  const lettersOf = async (surveyId: string) => (await buried.of(surveyId)).map(({ row }) => row.head?.surveyVersion);

  const removeOf = async (surveyId: string): Promise<void> => {
    const replacedBefore = new Date(now() - dayMs);
    // Before and after, since what lies there may be put back at any moment.
    const letters = await lettersOf(surveyId);
    await reading.settled(surveyId);
    letters.push(...(await lettersOf(surveyId)));
    if (letters.includes(undefined)) return;
    const named = [...(await responses.versionsNamed(surveyId)), ...letters.flatMap((version) => version ?? [])];
    await versions.removeUnnamed(surveyId, { named, replacedBefore });
  };

  return async (): Promise<void> => {
    for (let after: string | undefined; !stopping?.aborted; ) {
      const page = await versions.crowded({ after, limit: pageSize });
      for (const surveyId of page) {
        if (stopping?.aborted) return;
        await removeOf(surveyId).catch((error: unknown) => log.debug({ err: error, surveyId }, 'the versions of a survey could not be looked through now'));
      }
      if (page.length < pageSize) return;
      after = page.at(-1);
    }
  };
}
