import type { SurveyActors } from '../../actors/survey-actors.ts';
import { activeQuotas } from '../../domain/quotas/cell-quota.ts';
import type { Log } from '../../log.ts';
import { createBoundedWarnings } from '../../platform/bounded-warnings.ts';
import type { SurveyStore } from '../../stores/postgres/surveys.ts';
import type { Intake } from '../../stores/redis/intake/intake.ts';
import type { ScheduledTask } from '../schedule.ts';
import type { CountQuotas } from './count-quotas.ts';

export interface CountTurnsDeps {
  count: CountQuotas;
  actors: Pick<SurveyActors, 'sync'>;
  intake: Pick<Intake, 'quotas'>;
  surveys: Pick<SurveyStore, 'idsWithQuotas'>;
  log: Log;
  /** Aborted when the service stops: further surveys are counted after the next start. */
  stopping?: AbortSignal;
  monotonicMs?(): number;
}

/**
 * Counting again after deletions, or to compare, takes at most `busyShare` of the time, with pauses of `minPauseMs` at
 * least. So does any count after one that failed, since submissions wait for each, but it is put off for `maxRetryMs`
 * at most, and for `maxFrozenRetryMs` where submissions are frozen until the quotas are counted.
 */
const [busyShare, minPauseMs, maxRetryMs, maxFrozenRetryMs] = [0.1, 5000, 30_000, 2000];

/**
 * The tasks that decide which surveys' quotas by cell are counted when: those with quotas that are new or count
 * something else, two at once; those with deletions, two at once; and all from time to time, to compare. None of the
 * three kinds waits for another. A survey that fails is counted in a later run.
 */
export function quotaCountTasks(deps: CountTurnsDeps): ScheduledTask[] {
  const { intake, monotonicMs = () => performance.now() } = deps;
  // A store that is away fails all surveys, of which there may be thousands.
  const warn = createBoundedWarnings(deps.log);
  /** When a survey whose counts are only compared may be counted again. */
  const notBefore = new Map<string, number>();
  /** Surveys whose last count has failed, and how long the next one is put off. */
  const failures = new Map<string, { atMs: number; pauseMs: number }>();

  const isPutOff = async (surveyId: string): Promise<boolean> => {
    const failure = failures.get(surveyId);
    const sinceMs = failure ? monotonicMs() - failure.atMs : 0;
    if (!failure || sinceMs >= failure.pauseMs) return false;
    return sinceMs < maxFrozenRetryMs || !(await intake.quotas.areUnknown(surveyId));
  };

  const mayBegin = async (surveyId: string): Promise<boolean> => {
    if (await isPutOff(surveyId)) return false;
    return monotonicMs() >= (notBefore.get(surveyId) ?? 0) || !(await intake.quotas.areCounted(surveyId));
  };

  /** A quota that was added since the survey was read has asked for its count before the request is dropped. */
  const dropRequest = async (surveyId: string): Promise<void> => {
    await intake.quotas.dropRequest(surveyId);
    if (!(await intake.quotas.areCounted(surveyId))) await intake.quotas.requestCount(surveyId);
  };

  const forget = async (surveyId: string): Promise<void> => {
    notBefore.delete(surveyId);
    failures.delete(surveyId);
    await intake.quotas.dropRequest(surveyId);
  };

  const countSurvey = async (surveyId: string): Promise<void> => {
    const cached = await deps.actors.sync(surveyId);
    if (!cached) return forget(surveyId);
    if (activeQuotas(cached.survey.quotas).length === 0) return dropRequest(surveyId);
    if (!(await mayBegin(surveyId))) return;
    const beganAt = monotonicMs();
    try {
      if (!(await deps.count(cached))) await dropRequest(surveyId);
      failures.delete(surveyId);
    } catch (error) {
      const pauseMs = Math.min(maxRetryMs, (monotonicMs() - beganAt) / busyShare);
      failures.set(surveyId, { atMs: monotonicMs(), pauseMs });
      throw error;
    } finally {
      const tookMs = monotonicMs() - beganAt;
      notBefore.set(surveyId, monotonicMs() + Math.max(minPauseMs, tookMs / busyShare));
    }
  };

  const underWay = new Set<string>();

  const count = async (surveyId: string, countIt = countSurvey): Promise<void> => {
    if (underWay.has(surveyId)) return;
    underWay.add(surveyId);
    try {
      await countIt(surveyId);
    } catch (error) {
      warn({ err: error, surveyId }, 'the responses in quotas by cell could not be counted yet');
    } finally {
      underWay.delete(surveyId);
    }
  };

  /**
   * Makes a task that counts one survey after the other, those with the first of the needs first. What is needed is
   * read anew before each. One that fails is not begun again for two seconds, so that it keeps no other waiting.
   */
  const countWhere = (...needs: ((surveyId: string) => Promise<boolean>)[]) => {
    const nextAmong = async (surveyIds: string[], begun: readonly Set<string>[]): Promise<string | undefined> => {
      for (const [index, isNeeded] of needs.entries())
        for (const surveyId of surveyIds) {
          if (underWay.has(surveyId) || begun[index]?.has(surveyId)) continue;
          if (!(await isNeeded(surveyId)) || !(await mayBegin(surveyId))) continue;
          begun[index]?.add(surveyId);
          return surveyId;
        }
      return undefined;
    };
    return async (): Promise<void> => {
      let [begun, sinceMs] = [needs.map(() => new Set<string>()), monotonicMs()];
      while (!deps.stopping?.aborted) {
        // A run lasts as long as counts are asked for: what has failed in it must not wait for its end.
        if (monotonicMs() - sinceMs >= maxFrozenRetryMs)
          [begun, sinceMs] = [needs.map(() => new Set<string>()), monotonicMs()];
        const surveyId = await nextAmong(await intake.quotas.surveysToCount(), begun);
        if (surveyId === undefined) return;
        await count(surveyId);
      }
    };
  };

  const { areUnknown, areCounted } = intake.quotas;
  /** Submissions wait for the first ones; the others refuse nobody meanwhile. */
  const countNew = countWhere(areUnknown, async (id) => !(await areUnknown(id)) && !(await areCounted(id)));
  const recount = countWhere(areCounted);

  const compare = async (surveyId: string): Promise<void> => {
    if (!(await mayBegin(surveyId))) return;
    // The request stays where the count fails or is cut short, so that it begins again soon.
    await intake.quotas.requestCount(surveyId);
    await countSurvey(surveyId);
  };

  const compareAll = async (): Promise<void> => {
    const surveyIds = new Set(await deps.surveys.idsWithQuotas());
    for (const surveyId of surveyIds) {
      if (deps.stopping?.aborted) return;
      await count(surveyId, compare);
    }
    // Nothing is remembered of surveys without quotas, or that were deleted.
    for (const remembered of [notBefore, failures])
      for (const surveyId of remembered.keys()) if (!surveyIds.has(surveyId)) remembered.delete(surveyId);
  };

  return [
    { name: 'count stored responses in new quotas by cell', everyMs: 1000, run: countNew },
    { name: 'count stored responses in new quotas by cell of a second survey', everyMs: 1000, run: countNew },
    { name: 'count stored responses in quotas by cell again', everyMs: 1000, run: recount },
    { name: 'count stored responses in quotas by cell of a second survey again', everyMs: 1000, run: recount },
    { name: 'compare quotas by cell with the stored responses', everyMs: 3_600_000, run: compareAll },
  ];
}
