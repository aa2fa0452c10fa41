import { useEffect, useState, useSyncExternalStore } from 'react';
import { keepStatistics, recountSelections } from '../data/analytics.ts';
import { liveState, onLiveState, subscribeLive } from '../data/live.ts';

/** live: moves by itself; paused: by wish; connecting and away: what is shown may be old. */
export type LiveView = 'live' | 'paused' | 'connecting' | 'away';

/** Between two counts of the same view, for each call that it takes, since calls of a user are limited. */
const recountPauseMs = 1300;

/**
 * Keeps the statistics of a survey up to date while a view shows them. Those of all responses come with the live
 * stream; a selection is counted anew, at most every 1.3 seconds for each of its `calls`.
 */
export function useLiveStatistics(surveyId: string, { calls, isPaused }: { calls: number; isPaused: boolean }) {
  const connection = useSyncExternalStore(onLiveState, liveState);
  const [isSubscribed, setSubscribed] = useState(false);
  useEffect(() => {
    if (isPaused) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let countedAt = 0;
    const recountSoon = () => {
      if (calls === 0 || timer !== undefined) return;
      const waitMs = Math.max(0, countedAt + calls * recountPauseMs - Date.now());
      timer = setTimeout(() => {
        timer = undefined;
        countedAt = Date.now();
        void recountSelections(surveyId, false);
      }, waitMs);
    };
    const end = subscribeLive(surveyId, ['analytics'], (message) => {
      if (message.type === 'subscribed') {
        setSubscribed(true);
        // What came while nothing was streamed.
        void recountSelections(surveyId, true);
      } else if (message.type === 'analytics') {
        const { type: _type, surveyId: _id, ...statistics } = message;
        keepStatistics(surveyId, statistics);
        recountSoon();
      }
    });
    return () => {
      clearTimeout(timer);
      setSubscribed(false);
      end();
    };
  }, [surveyId, calls, isPaused]);
  const view: LiveView = isPaused
    ? 'paused'
    : connection === 'away'
      ? 'away'
      : connection === 'open' && isSubscribed
        ? 'live'
        : 'connecting';
  return view;
}
