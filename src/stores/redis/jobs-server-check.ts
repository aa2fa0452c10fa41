import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import { compareConfiguration } from './server-configuration.ts';

/** The configuration with which Redis keeps jobs and unsaved provider replies through a restart. */
const jobsConfiguration = { appendonly: 'yes', 'maxmemory-policy': 'noeviction' };

/**
 * Warns where the server of jobs and limits may lose data. It is used all the same, since jobs are recreated and limits
 * count anew.
 */
export async function checkJobsServer(redis: Redis, log: Log): Promise<void> {
  const { unknown, mismatches } = await compareConfiguration(jobsConfiguration, redis);
  const cost =
    'replies of AI providers that are not stored yet are paid for again, jobs start late, and limits count anew';
  if (mismatches.length > 0)
    log.warn(
      { wanted: jobsConfiguration, ...(unknown.length > 0 && { unknown }) },
      `the server of REDIS_JOBS_URL may lose its data: ${mismatches.join(', ')}. Then ${cost}`,
    );
  else if (unknown.length > 0)
    log.warn(
      { wanted: jobsConfiguration, unknown },
      `the server of REDIS_JOBS_URL does not show its configuration: if it loses its data, ${cost}`,
    );
}
