import { isPostgresAway } from '../stores/postgres/errors.ts';
import type { Subscription, WebhookStore } from '../stores/postgres/webhooks.ts';

export interface SubscriptionLookupDeps {
  webhooks: Pick<WebhookStore, 'findSubscriptions' | 'listSubscribedSurveys'>;
  /** Whether events may wait for PostgreSQL, as the intake has room for them. */
  mayWait(): boolean;
}

const refreshMs = 1000;

/**
 * Finds the endpoints that listen to surveys, in PostgreSQL each time. While it is away and the intake has no room for
 * waiting events, events of surveys without a listener at the last refresh are dropped, so that responses that no
 * endpoint listens to do not fill the intake. An endpoint created in the second before the outage may miss events.
 */
export function createSubscriptionLookup({ webhooks, mayWait }: SubscriptionLookupDeps) {
  /** Surveys that active endpoints listen to; null among them: some endpoint listens to all surveys of its owner. */
  let subscribed: ReadonlySet<string | null> | undefined;

  const refresh = async (): Promise<void> => {
    subscribed = new Set(await webhooks.listSubscribedSurveys());
  };
  const timer = setInterval(() => void refresh().catch(() => undefined), refreshMs);
  timer.unref();

  const isWithoutListener = (surveyIds: readonly string[]): boolean => {
    if (subscribed === undefined || subscribed.has(null)) return false;
    return !surveyIds.some((surveyId) => subscribed?.has(surveyId));
  };

  return {
    /** Also silent endpoints. */
    async forSurveys(surveyIds: readonly string[]): Promise<Subscription[]> {
      try {
        return await webhooks.findSubscriptions(surveyIds, { withSilent: true });
      } catch (error) {
        if (!isPostgresAway(error) || mayWait() || !isWithoutListener(surveyIds)) throw error;
        return [];
      }
    },
    stop: () => clearInterval(timer),
  };
}
