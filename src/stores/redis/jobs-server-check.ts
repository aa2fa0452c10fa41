import type { Redis } from 'ioredis';
import type { Log } from '../../log.ts';
import { compareConfiguration } from './server-configuration.ts';

/** How a server runs that keeps what was put in line, and replies that were paid for, whenever it ends. */
const jobsConfiguration = { appendonly: 'yes', 'maxmemory-policy': 'noeviction' };

/** Looks at the server of jobs and limits. What it loses is made again or counted anew, so it is used in any case: with a warning where it may lose something. */
export async function checkJobsServer(redis: Redis, log: Log): Promise<void> {
  const { unknown, mismatches } = await compareConfiguration(jobsConfiguration, redis);
  const cost =
    'replies of AI providers that are not stored yet are paid for again, jobs start late, and limits count anew';
  if (mismatches.length > 0)
    log.warn(
      { wanted: jobsConfiguration, ...(unknown.length > 0 && { unknown }) },
      `the server of REDIS_JOBS_URL may lose what it holds: ${mismatches.join(', ')}. Then ${cost}`,
    );
  else if (unknown.length > 0)
    log.warn(
      { wanted: jobsConfiguration, unknown },
      `the server of REDIS_JOBS_URL does not tell how it is configured: if it loses what it holds, ${cost}`,
    );
}
