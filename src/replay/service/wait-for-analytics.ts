import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.ts';
import { type Analytics, analyticsSchema } from './replies.ts';

/** Seldom enough for the general limit of 100 calls a minute. */
const everyMs = 1000;
const maxWaitMs = 60_000;

/** Analytics once it counts as many responses as expected; as it is when a minute brought no further one. */
export async function waitForAnalytics(api: Api, surveyId: string, expected: number): Promise<Analytics> {
  let [shown, since] = [-1, performance.now()];
  for (;;) {
    const { data } = await api.call(analyticsSchema, ['GET', `/analytics/surveys/${surveyId}`]);
    if (data.totalResponses > shown) [shown, since] = [data.totalResponses, performance.now()];
    if (shown >= expected || performance.now() - since > maxWaitMs) return data;
    await delay(everyMs);
  }
}
