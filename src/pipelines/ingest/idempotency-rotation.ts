import type { Log } from '../../log.ts';
import { within } from '../../platform/within.ts';
import type { IdempotencyGenerations } from '../../stores/redis/intake/idempotency.ts';
import type { MemoryPressure } from '../../stores/redis/intake/memory-pressure.ts';

export interface IdempotencyRotationDeps {
  generations: IdempotencyGenerations;
  pressure: Pick<MemoryPressure, 'surplusBytes' | 'sliceBytes'>;
  log: Log;
}

const intervalMs = 250;
/** How long a stop waits for a call under way. */
const stopMs = 1000;

/** Closes and drops generations of idempotency records when they are due, in each process with the ingest role. */
export function startIdempotencyRotation({ generations, pressure, log }: IdempotencyRotationDeps) {
  let running: Promise<void> | undefined;
  let isStopping = false;

  const rotate = async (): Promise<void> => {
    let hasMore = true;
    while (hasMore && !isStopping)
      hasMore = await generations.rotate({
        maxBytes: pressure.sliceBytes(),
        isMemoryNeeded: pressure.surplusBytes() > 0,
      });
  };

  const timer = setInterval(() => {
    running ??= rotate()
      .catch((error: unknown) => log.debug({ err: error }, 'idempotency records could not be dropped yet'))
      .finally(() => (running = undefined));
  }, intervalMs);
  timer.unref();

  return {
    async stop(): Promise<void> {
      isStopping = true;
      clearInterval(timer);
      if (running) await within(stopMs, running, undefined);
    },
  };
}
