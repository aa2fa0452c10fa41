import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { ClickHouse } from './clickhouse/client.ts';
import { migrateClickHouse } from './clickhouse/migrate.ts';
import type { Placement } from './clickhouse/placement.ts';
import { createContact, type Attempt, type Contact, type ContactOptions } from './contact.ts';
import { firstContact, isAbsence, placeOf, wordsFor } from './first-contact.ts';
import { createPostgres, withPostgres, type Sql } from './postgres/client.ts';
import { migratePostgres } from './postgres/migrate.ts';
import { createSharedRedis } from './redis/clients.ts';
import { whileFormerKeysLast } from './redis/idempotency.ts';
import { checkIntake } from './redis/intake-check.ts';
import { checkJobs } from './redis/jobs-check.ts';

export interface ContactsOptions {
  urls: { redis: string; redisJobs: string; postgres: string; clickhouse: readonly string[] };
  settings: Pick<Settings, 'intakeShards'> & Partial<Pick<Settings, 'intakeMayLose'>>;
  placement: Placement;
  log: Log;
  clickhouse: ClickHouse;
  /** Open the connections of this process, once their server was found to be right. */
  openIntake: readonly (() => Promise<void>)[];
  openJobs: readonly (() => Promise<void>)[];
}

export interface Contacts {
  intake: Contact;
  jobs: Contact;
  postgres: Contact;
  clickhouse: Contact;
  all: readonly Contact[];
  /** Whether keys of a former version may still come; true until the intake could be asked. */
  isFormerKnown(): boolean;
  stop(): void;
}

/** A server that falls silent while it is brought up to date is noticed within so long. */
const stillThereMs = 5000;

/** Begins the first contact of this process with each of its stores. */
export function beginContacts(options: ContactsOptions): Contacts {
  const { urls, settings, placement, log, clickhouse, openIntake, openJobs } = options;
  let isFormerKnown = (): boolean => true;
  const contact = (words: Words, at: readonly string[], meet: ContactOptions['meet']): Contact => {
    const place = `${words.setting} ${at.map(placeOf).join(', ')}`;
    return createContact({ ...words, place, meet, isAbsence, wordsFor, log });
  };

  const intake = contact({ name: 'Redis', part: 'The intake', setting: 'REDIS_URL' }, [urls.redis], ({ signal }) =>
    asking(urls.redis, log, signal, async (redis) => {
      await firstContact.redis(redis, 'REDIS_URL', urls.redis);
      isFormerKnown = await whileFormerKeysLast(redis);
      await checkIntake(redis, { shards: settings.intakeShards, mayLose: settings.intakeMayLose ?? false, log });
      await Promise.all(openIntake.map((open) => open()));
    }),
  );
  const jobsWords = { name: 'Redis for jobs', part: 'The store of jobs', setting: 'REDIS_JOBS_URL' };
  const jobs = contact(jobsWords, [urls.redisJobs], ({ signal }) =>
    asking(urls.redisJobs, log, signal, async (redis) => {
      await firstContact.redis(redis, 'REDIS_JOBS_URL', urls.redisJobs);
      await checkJobs(redis, log);
      await Promise.all(openJobs.map((open) => open()));
    }),
  );
  const postgresWords = { name: 'PostgreSQL', part: 'The control plane', setting: 'DATABASE_URL' };
  const postgres = contact(postgresWords, [urls.postgres], (attempt) => meetPostgres(urls.postgres, log, attempt));
  const clickhouseWords = { name: 'ClickHouse', part: 'The response store', setting: 'CLICKHOUSE_URL' };
  const responses = contact(clickhouseWords, urls.clickhouse, async ({ answered }) => {
    await firstContact.clickhouse(clickhouse, urls.clickhouse);
    answered();
    await migrateClickHouse(clickhouse, placement);
  });
  const all = [intake, jobs, postgres, responses];
  const stop = (): void => all.forEach((one) => one.stop());
  return { intake, jobs, postgres, clickhouse: responses, all, isFormerKnown: () => isFormerKnown(), stop };
}

type Words = Pick<ContactOptions, 'name' | 'part'> & { setting: string };
type Step = (redis: Redis) => Promise<void>;

/** Over a connection of the attempt's own, so that a server that fails its checks gets no other call. */
async function asking(url: string, log: Log, signal: AbortSignal, step: Step): Promise<void> {
  const redis = createSharedRedis(url, log);
  signal.addEventListener('abort', () => redis.disconnect());
  await step(redis);
}

/** Over connections of the attempt's own: an attempt that is given up leaves nothing behind that waits. */
async function meetPostgres(url: string, log: Log, { signal, answered }: Attempt): Promise<void> {
  const sql = createPostgres(url, { log, poolSize: 2 });
  signal.addEventListener('abort', () => void sql.end({ timeout: 0 }).catch(() => undefined));
  await firstContact.postgres(sql, url);
  answered();
  await whileThere(sql, migratePostgres(sql, log));
}

/** A migration may take long. Meanwhile the server is asked again and again whether it is there. */
async function whileThere(sql: Sql, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const gone = new Promise<never>((_, reject) => {
    timer = setInterval(() => void withPostgres(() => sql`SELECT 1`, stillThereMs).catch(reject), stillThereMs);
  });
  await Promise.race([work, gone]).finally(() => clearInterval(timer));
}
