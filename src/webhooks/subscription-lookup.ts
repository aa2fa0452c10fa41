import { Problem } from '../errors.ts';
import { isPostgresUnavailable } from '../stores/postgres/errors.ts';
import type { Subscription, WebhookStore } from '../stores/postgres/webhooks.ts';

export interface SubscriptionLookupDeps {
  webhooks: Pick<WebhookStore, 'findSubscriptions' | 'listSubscribedSurveys'>;
  /** Whether events may wait for PostgreSQL; when they may not, what was last known of the endpoints decides. */
  mayWait(): boolean;
}

const refreshMs = 1000;

/**
 * Endpoints that listen to surveys. PostgreSQL is asked each time. While it is away and the intake has no room for events that wait, events of
 * surveys that no endpoint listened to when it was last there are let go, so that responses nobody is told of do not fill the intake. An
 * endpoint that was made within the second before the outage may miss events of that time.
 */
export function createSubscriptionLookup({ webhooks, mayWait }: SubscriptionLookupDeps) {
  /** Surveys that active endpoints listen to; null: an endpoint listens to all that its owner may see. */
  let scopes: ReadonlySet<string | null> | undefined;

  const refresh = async (): Promise<void> => {
    scopes = new Set(await webhooks.listSubscribedSurveys());
  };
  const timer = setInterval(() => void refresh().catch(() => undefined), refreshMs);
  timer.unref();

  return {
    async forSurveys(surveyIds: readonly string[]): Promise<Subscription[]> {
      try {
        return await webhooks.findSubscriptions(surveyIds);
      } catch (error) {
        const isAway =
          isPostgresUnavailable(error) || (error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE');
        const isUnheard =
          scopes !== undefined && !scopes.has(null) && surveyIds.every((surveyId) => !scopes?.has(surveyId));
        if (!isAway || !isUnheard || mayWait()) throw error;
        return [];
      }
    },
    stop: () => clearInterval(timer),
  };
}

export type SubscriptionLookup = ReturnType<typeof createSubscriptionLookup>;
