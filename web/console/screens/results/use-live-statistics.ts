import { useEffect } from 'react';
import { keepStatistics, recountSelections, type SurveyStatistics } from '../../data/analytics.ts';
import { subscribeLive } from '../../data/live.ts';

/** The stream brings the statistics of all responses each second; selections are counted anew, not more often. */
const recountMs = 1500;

/** Keeps the statistics of a survey as the stream says while the view is shown. */
export function useLiveStatistics(surveyId: string): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = subscribeLive(surveyId, ['analytics'], (message) => {
      if (message.type !== 'analytics') return;
      const { type: _type, surveyId: _surveyId, ...statistics } = message;
      keepStatistics(surveyId, statistics satisfies SurveyStatistics);
      timer ??= setTimeout(() => {
        timer = undefined;
        void recountSelections(surveyId, false);
      }, recountMs);
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [surveyId]);
}
