import type { Log } from '../log.ts';
import type { DeliveryResult, DeliveryStore } from '../stores/postgres/webhook-deliveries.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { Message } from './message.ts';

export interface OutcomeWriterDeps {
  settle: DeliveryStore['saveResults'];
  log: Log;
  pause?(ms: number): Promise<void>;
}

const maxWriteTries = 60;
/** Messages sent whose outcome is not written yet: what a crash sends once more, beside those under way. */
export const maxUnwrittenMessages = 6;

/** Writes down outcomes, all that have come in meanwhile in one statement. While Postgres is away it tries again, for about a minute and a half. */
export function createOutcomeWriter({
  settle,
  log,
  pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}: OutcomeWriterDeps) {
  let open: DeliveryResult[] = [];
  let waiting: Promise<void> | undefined;
  let writing: Promise<void> = Promise.resolve();
  let unwritten = 0;

  const write = async (): Promise<void> => {
    const settlements = open;
    open = [];
    waiting = undefined;
    for (let tries = 1; ; tries += 1) {
      try {
        return await settle(settlements);
      } catch (error) {
        log.warn(
          { err: error, tries, deliveries: settlements.length },
          'outcomes of deliveries could not be written yet',
        );
        // Given up, the deliveries stay due: they are sent again, under the same webhook-id.
        if (tries === maxWriteTries) return;
        await pause(Math.min(2000, 50 * 2 ** tries));
      }
    }
  };

  return {
    /** Resolves when the outcome is written, or given up. */
    add(message: Message, verdict: AttemptOutcome): Promise<void> {
      const { status, tries, attempt } = verdict;
      const nextAttemptAt = verdict.nextAttemptAtMs === undefined ? null : new Date(verdict.nextAttemptAtMs);
      for (const { id } of message.deliveries) open.push({ id, status, tries, nextAttemptAt, attempt });
      if (!waiting) writing = waiting = writing.then(write);
      unwritten += 1;
      return waiting.finally(() => (unwritten -= 1));
    },
    /** Resolves when so little is unwritten that more may be sent. */
    async waitForRoom(): Promise<void> {
      while (unwritten >= maxUnwrittenMessages) await writing;
    },
    flush: (): Promise<void> => writing,
  };
}
