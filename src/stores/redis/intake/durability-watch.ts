import type { Redis } from 'ioredis';
import type { Problem } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { isRewriting } from '../append-only-file.ts';
import { compareConfiguration } from '../server-configuration.ts';
import { intakeConfiguration } from './server-check.ts';
import { notStored } from './shard-queue.ts';

export interface DurabilityWatch {
  /** The refusal of submissions while the server would lose them; undefined while it keeps them. */
  refusal(): Problem | undefined;
  stop(): void;
}

export interface DurabilityWatchOptions {
  /** INTAKE_MAY_LOSE: the operator accepts that accepted responses are lost with the server. */
  mayLose: boolean;
  log: Log;
  /** Between two checks; short in tests. */
  everyMs?: number;
}

const defaultEveryMs = 2000;

/**
 * Checks while the service runs what `checkIntakeServer` checks at the start: the configuration of a running server can
 * be changed, and a server that restarts may read another one.
 */
export function watchDurability(
  redis: Redis,
  { mayLose, log, everyMs = defaultEveryMs }: DurabilityWatchOptions,
): DurabilityWatch {
  let problem: string | undefined;

  const check = async (): Promise<void> => {
    const { mismatches } = await compareConfiguration(intakeConfiguration, redis);
    const found = mismatches.length === 0 ? undefined : mismatches.join(', ');
    // An append-only file that was switched on is complete only when it has been rewritten.
    if (found === problem || (found === undefined && (await isRewriting(redis)))) return;
    problem = found;
    if (found === undefined) log.info('the server of REDIS_URL keeps accepted responses again');
    else
      log.error(
        { wanted: intakeConfiguration },
        `the server of REDIS_URL would lose accepted responses: ${found}. Submissions are refused until it is as wanted`,
      );
  };
  // While the server is away, nothing is accepted either.
  const timer = mayLose ? undefined : setInterval(() => void check().catch(() => undefined), everyMs);
  timer?.unref();
  return {
    refusal: () => (problem === undefined ? undefined : notStored(new Error(problem))),
    stop: () => clearInterval(timer),
  };
}
