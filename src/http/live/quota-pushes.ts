import type { Log } from '../../log.ts';
import type { Feed } from './feed.ts';

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
  readAtMs: number;
  isReading: boolean;
  isStale: boolean;
  timer: NodeJS.Timeout | undefined;
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

  const schedule = (surveyId: string, survey: WatchedSurvey): void => {
    survey.isStale = true;
    if (survey.timer || survey.isReading || !isWatched(surveyId, survey)) return;
    survey.timer = setTimeout(
      () => void refresh(surveyId, survey),
      Math.max(0, survey.readAtMs + minIntervalMs - performance.now()),
    );
    survey.timer.unref();
  };

  const touch = (surveyId: string): void => {
    const survey = watched.get(surveyId);
    if (survey) schedule(surveyId, survey);
  };

  /** Surveys without quotas are not watched, so that they cost nothing. */
  const watch = async (surveyId: string, survey: WatchedSurvey): Promise<void> => {
    if (survey.unwatch || !survey.latest) return;
    const unwatch = await feed.onStored(surveyId, () => touch(surveyId));
    if (isWatched(surveyId, survey)) survey.unwatch = unwatch;
    else unwatch();
  };

  const refresh = async (surveyId: string, survey: WatchedSurvey): Promise<void> => {
    survey.timer = undefined;
    survey.isReading = true;
    survey.isStale = false;
    survey.readAtMs = performance.now();
    try {
      const found = await read(surveyId);
      const isChanged = JSON.stringify(found?.quotas) !== JSON.stringify(survey.latest);
      survey.latest = found?.quotas;
      // A count of stored responses ends without a stored row.
      if (found && !found.isSettled) survey.isStale = true;
      if (found && !survey.unwatch) {
        await watch(surveyId, survey);
        // What was stored before the watch began.
        survey.isStale = true;
      }
      if (isChanged && isWatched(surveyId, survey)) publish(surveyId);
    } catch (error) {
      survey.isStale = true;
      log.debug({ err: error, surveyId }, 'counts of quotas by cell for live connections could not be read');
    }
    survey.isReading = false;
    if (survey.isStale) schedule(surveyId, survey);
  };

  const open = (surveyId: string): WatchedSurvey => {
    const survey: WatchedSurvey = {
      subscribers: 0,
      latest: undefined,
      readAtMs: -minIntervalMs,
      isReading: false,
      isStale: true,
      timer: undefined,
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
      if (!known) await refresh(surveyId, survey);
      return () => {
        survey.subscribers -= 1;
        if (survey.subscribers > 0) return;
        clearTimeout(survey.timer);
        if (isWatched(surveyId, survey)) watched.delete(surveyId);
        survey.unwatch?.();
      };
    },
    /** To be called when the survey, and with it its quotas, may have changed. */
    touch,
  };
}

export type QuotaPushes = ReturnType<typeof createQuotaPushes>;
