import { isPostgresAway } from '../stores/postgres/client.ts';
import type { Listener, WebhookStore } from '../stores/postgres/webhooks.ts';
import { Problem } from '../errors.ts';

export interface ListenersDeps {
  webhooks: Pick<WebhookStore, 'listeners' | 'scopes'>;
  /** Whether events may wait for PostgreSQL; when they may not, what was last known of the endpoints decides. */
  mayWait(): boolean;
}

const refreshMs = 1000;

/**
 * Endpoints that listen to surveys. PostgreSQL is asked each time. While it is away and the intake has no room for events that wait, events of
 * surveys that no endpoint listened to when it was last there are let go, so that responses nobody is told of do not fill the intake. An
 * endpoint that was made within the second before the outage may miss events of that time.
 */
export function createListeners({ webhooks, mayWait }: ListenersDeps) {
  /** Surveys that active endpoints listen to; null: an endpoint listens to all that its owner may see. */
  let scopes: ReadonlySet<string | null> | undefined;

  const refresh = async (): Promise<void> => {
    scopes = new Set(await webhooks.scopes());
  };
  const timer = setInterval(() => void refresh().catch(() => undefined), refreshMs);
  timer.unref();

  return {
    async of(surveyIds: readonly string[]): Promise<Listener[]> {
      try {
        return await webhooks.listeners(surveyIds);
      } catch (error) {
        const isAway = isPostgresAway(error) || (error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE');
        const isUnheard = scopes !== undefined && !scopes.has(null) && surveyIds.every((surveyId) => !scopes?.has(surveyId));
        if (!isAway || !isUnheard || mayWait()) throw error;
        return [];
      }
    },
    stop: () => clearInterval(timer),
  };
}

export type Listeners = ReturnType<typeof createListeners>;
