import type { Log } from '../../log.ts';
import type { IdempotencyGenerations } from '../../stores/redis/idempotency.ts';
import type { Pressure } from '../../stores/redis/pressure.ts';

export interface GenerationsDeps {
  generations: IdempotencyGenerations;
  pressure: Pick<Pressure, 'surplusBytes' | 'portionBytes'>;
  log: Log;
}

const turnEveryMs = 250;

/** Looks several times a second whether idempotency records have to be closed or dropped; beside each process that stores responses. */
export function startGenerations({ generations, pressure, log }: GenerationsDeps) {
  let running: Promise<void> | undefined;
  let isStopping = false;

  const turn = async (): Promise<void> => {
    let hasMore = true;
    while (hasMore && !isStopping) hasMore = await generations.turn({ bytesAtMost: pressure.portionBytes(), isWanted: pressure.surplusBytes() > 0 });
  };

  const timer = setInterval(() => {
    running ??= turn()
      .catch((error: unknown) => log.debug({ err: error }, 'idempotency records could not be dropped yet'))
      .finally(() => (running = undefined));
  }, turnEveryMs);
  timer.unref();

  return {
    async stop(): Promise<void> {
      isStopping = true;
      clearInterval(timer);
      await running;
    },
  };
}
