import type { Log } from '../../log.ts';
import type { Feed } from './feed.ts';
import { createPacedWork, type PacedWork } from './paced-work.ts';

/** A quota by cell, as `status` messages show it. */
export interface LiveQuota {
  id: string;
  count: number;
  limit: number;
}

export interface QuotaPushesDeps {
  feed: Pick<Feed, 'onStored'>;
  /**
   * The active quotas by cell of a survey; undefined if it has none. `isSettled`: counts change only with responses;
   * otherwise stored responses are being counted.
   */
  read(surveyId: string): Promise<{ quotas: readonly LiveQuota[]; isSettled: boolean } | undefined>;
  /** Called when the quotas of a survey with subscribers have changed. */
  publish(surveyId: string): void;
  /** Least time between two reads for one survey. */
  minIntervalMs?: number;
  log: Log;
}

interface WatchedSurvey {
  subscribers: number;
  latest: readonly LiveQuota[] | undefined;
  reading: PacedWork;
  /** Ends the watch of stored rows; undefined while the survey has no quotas. */
  unwatch: (() => void) | undefined;
}

/**
 * Reads the counts of quotas by cell after changes, at most once a second a survey in this process, and only for surveys
 * with subscribers.
 */
export function createQuotaPushes({ feed, read, publish, minIntervalMs = 1000, log }: QuotaPushesDeps) {
  const watched = new Map<string, WatchedSurvey>();

  const isWatched = (surveyId: string, survey: WatchedSurvey): boolean => watched.get(surveyId) === survey;

  const touch = (surveyId: string): void => watched.get(surveyId)?.reading.touch();

  /** Surveys without quotas are not watched, so that they cost nothing. */
  const watch = async (surveyId: string, survey: WatchedSurvey): Promise<void> => {
    if (survey.unwatch || !survey.latest) return;
    const unwatch = await feed.onStored(surveyId, () => touch(surveyId));
    if (isWatched(surveyId, survey)) survey.unwatch = unwatch;
    else unwatch();
  };

  const refresh = async (surveyId: string, survey: WatchedSurvey): Promise<void> => {
    const found = await read(surveyId);
    const isChanged = JSON.stringify(found?.quotas) !== JSON.stringify(survey.latest);
    survey.latest = found?.quotas;
    // Before the watch, which may fail: the next read finds no change.
    if (isChanged && isWatched(surveyId, survey)) publish(surveyId);
    // A count of stored responses ends without a stored row.
    if (found && !found.isSettled) survey.reading.touch();
    if (found && !survey.unwatch) {
      await watch(surveyId, survey);
      // What was stored before the watch began.
      survey.reading.touch();
    }
  };

  const open = (surveyId: string): WatchedSurvey => {
    const survey: WatchedSurvey = {
      subscribers: 0,
      latest: undefined,
      reading: createPacedWork(() => refresh(surveyId, survey), {
        minIntervalMs,
        onFailure: (err) =>
          log.debug({ err, surveyId }, 'counts of quotas by cell for live connections could not be read'),
      }),
      unwatch: undefined,
    };
    watched.set(surveyId, survey);
    return survey;
  };

  return {
    /** What was read last; undefined for surveys without quotas by cell or without subscribers. */
    latest: (surveyId: string): readonly LiveQuota[] | undefined => watched.get(surveyId)?.latest,
    /** Begins to read; `latest` has the quotas once it resolves. Returns a function that ends the subscription. */
    async subscribe(surveyId: string): Promise<() => void> {
      const known = watched.get(surveyId);
      const survey = known ?? open(surveyId);
      survey.subscribers += 1;
      if (!known) await survey.reading.runNow();
      return () => {
        survey.subscribers -= 1;
        if (survey.subscribers > 0) return;
        survey.reading.end();
        if (isWatched(surveyId, survey)) watched.delete(surveyId);
        survey.unwatch?.();
      };
    },
    /** To be called when the survey, and with it its quotas, may have changed. */
    touch,
    /** To be called when any survey may have changed. */
    touchAll(): void {
      for (const { reading } of watched.values()) reading.touch();
    },
  };
}

export type QuotaPushes = ReturnType<typeof createQuotaPushes>;
