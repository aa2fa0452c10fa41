import { useEffect, useState, useSyncExternalStore } from 'react';
import { keepStatistics, recountSelections, whenStatisticsCame } from '../data/analytics.ts';
import { liveState, onLiveState, subscribeLive } from '../data/live.ts';

/** live: moves by itself; paused: by wish; connecting, away and failing: what is shown may be old. */
export type LiveView = 'live' | 'paused' | 'connecting' | 'away' | 'failing';

/** Between two counts of the same view, for each call that it takes, since calls of a user are limited. */
const recountPauseMs = 1300;

/**
 * Keeps the statistics of a survey up to date while a view shows them. Those of all responses come with the live
 * stream, first when it begins; a selection is counted anew, at most every 1.3 seconds for each of its `calls`. Nothing
 * is streamed before the view has its first figures or knows why it has none (`isReady`), which counts of all responses
 * would delay. `isFailing`: what the view shows could not be counted anew.
 */
export function useLiveStatistics(
  surveyId: string,
  { calls, isReady, isPaused, isFailing }: { calls: number; isReady: boolean; isPaused: boolean; isFailing: boolean },
) {
  const connection = useSyncExternalStore(onLiveState, liveState);
  const [isSubscribed, setSubscribed] = useState(false);
  useEffect(() => {
    if (connection !== 'open') setSubscribed(false);
  }, [connection]);
  useEffect(() => {
    if (isPaused || !isReady) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let countedAt = Number.NEGATIVE_INFINITY;
    let isOver = false;
    const recount = async () => {
      // A count that is under way may be older than what made this one necessary, but is not given up for it.
      await whenStatisticsCame(surveyId);
      timer = undefined;
      countedAt = performance.now();
      if (!isOver) void recountSelections(surveyId);
    };
    const recountSoon = () => {
      if (calls === 0 || timer !== undefined) return;
      const waitMs = Math.max(0, countedAt + calls * recountPauseMs - performance.now());
      timer = setTimeout(() => void recount(), waitMs);
    };
    const end = subscribeLive(surveyId, ['analytics'], (message) => {
      if (message.type === 'subscribed') setSubscribed(message.channels.includes('analytics'));
      else if (message.type === 'error') setSubscribed(false);
      else if (message.type === 'analytics') {
        const { type: _type, surveyId: _id, ...statistics } = message;
        keepStatistics(surveyId, statistics);
        recountSoon();
      }
    });
    return () => {
      isOver = true;
      clearTimeout(timer);
      setSubscribed(false);
      end();
    };
  }, [surveyId, calls, isReady, isPaused]);
  const view: LiveView = isPaused
    ? 'paused'
    : connection === 'away'
      ? 'away'
      : connection === 'open' && isSubscribed
        ? isFailing
          ? 'failing'
          : 'live'
        : 'connecting';
  return view;
}
