import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { createLog } from '../../src/log.ts';
import { createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { type EmbeddedStores, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { createPostgres } from '../../src/stores/postgres/client.ts';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { finishedExport } from '../support/exports.ts';
import { type RunningService, startService } from '../support/service.ts';
import { assertRefusedInTime, assertWithin } from '../support/time-bars.ts';

/**
 * Stores that reply with errors. Accepted submissions must be stored once; refused ones may be sent again.
 */
describe('a store that fails', () => {
  const dataDir = temporaryDataDir();
  const smallDisk = join(dataDir, 'redis-intake');
  const smallResponseDisk = join(dataDir, 'clickhouse');
  const accepted = new Set<string>();
  const refused = new Set<string>();
  let refusalsMs: number[] = [];
  let isDiskSmall = false;
  let isResponseDiskSmall = false;
  let stores: EmbeddedStores;
  let service: RunningService;
  let admin: Client;
  let redis: Redis;
  let surveyId: string;

  before(async () => {
    mkdirSync(smallDisk);
    mkdirSync(smallResponseDisk);
    const mount = (folder: string, size: string): boolean =>
      spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'tmpfs', folder]).status === 0;
    isDiskSmall = mount(smallDisk, '96m');
    isResponseDiskSmall = mount(smallResponseDisk, '512m');
    stores = await startEmbeddedStores({
      dataDir,
      needed: { redis: true, redisJobs: true, postgres: true, clickhouse: true },
      log: createLog('fatal'),
      env: process.env,
    });
    const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = stores;
    service = await startService({
      env: {
        REDIS_URL: redisUrl,
        REDIS_JOBS_URL: redisJobsUrl,
        DATABASE_URL: databaseUrl,
        CLICKHOUSE_URL: clickhouseUrl,
      },
    });
    admin = await adminClient(service);
    redis = new Redis(redisUrl, { retryStrategy: () => 100, maxRetriesPerRequest: null });
    redis.on('error', () => undefined);
    surveyId = (await admin.create('/surveys', { title: 'Trouble', status: 'ACTIVE' })).id;
    await submit();
  });
  after(async () => {
    redis?.disconnect();
    await service?.stop();
    await stores?.stop();
    if (isDiskSmall) spawnSync('umount', [smallDisk]);
    if (isResponseDiskSmall) spawnSync('umount', [smallResponseDisk]);
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Submits once: accepted, or refused in time as the contract says. A broken connection fails the test too. */
  async function submit(responseId: string = randomUUID()): Promise<201 | 503> {
    const startedAt = performance.now();
    const { status, body, headers } = await admin.submit(surveyId, { responseId, answers: [] });
    const tookMs = performance.now() - startedAt;
    if (status === 201) {
      accepted.add(responseId);
      refused.delete(responseId);
      return 201;
    }
    assert.deepEqual([status, body.code], [503, 'SERVICE_UNAVAILABLE'], JSON.stringify(body));
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    refusalsMs.push(tookMs);
    refused.add(responseId);
    return 503;
  }

  /**
   * Begins a fault, checks that submissions are refused correctly, ends it, and checks that they are accepted again.
   */
  async function through(begin: () => Promise<unknown>, end: () => Promise<unknown>, isHurting = true): Promise<void> {
    refusalsMs = [];
    await begin();
    try {
      const statuses = await Promise.all(Array.from({ length: 20 }, () => submit()));
      if (isHurting) await eventually(async () => assert.equal(await submit(), 503));
      else
        assert.ok(
          statuses.every((status) => status === 201),
          String(statuses),
        );
    } finally {
      await end();
    }
    assertRefusedInTime(refusalsMs);
    await eventually(async () => assert.equal(await submit(), 201));
    for (const responseId of [...refused]) await eventually(async () => assert.equal(await submit(responseId), 201));
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, accepted.size),
    );
  }

  it('an intake without memory refuses', async () => {
    const [, before = ''] = (await redis.config('GET', 'maxmemory')) as string[];
    await through(
      () => redis.config('SET', 'maxmemory', '1mb'),
      () => redis.config('SET', 'maxmemory', before),
    );
  });

  it('an intake that may not write for want of replicas refuses', async () => {
    await through(
      () => redis.config('SET', 'min-replicas-to-write', '1'),
      () => redis.config('SET', 'min-replicas-to-write', '0'),
    );
  });

  it('an intake that is busy with a script refuses', async () => {
    await redis.config('SET', 'busy-reply-threshold', '100');
    const other = redis.duplicate();
    let busy: Promise<unknown> = Promise.resolve();
    await through(
      async () => {
        busy = other.eval('while true do end', 0).catch(() => undefined);
        await eventually(async () => assert.match(String(await redis.ping().catch((error: unknown) => error)), /BUSY/));
      },
      async () => {
        await redis.script('KILL');
        await busy;
      },
    );
    other.disconnect();
  });

  it('an intake that stops replying makes submissions late, and then refused', async () => {
    await through(
      async () => void redis.call('CLIENT', 'PAUSE', '60000', 'WRITE'),
      () => redis.call('CLIENT', 'UNPAUSE'),
    );
  });

  it('an intake that has cut its connections is reached again without a restart', async () => {
    await through(
      () => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
      async () => undefined,
      false,
    ).catch(async (error: unknown) => {
      // A submission that was on its way when the connection was cut is refused, and can be sent again.
      if (!(error instanceof assert.AssertionError) || refused.size === 0) throw error;
      for (const responseId of [...refused]) await eventually(async () => assert.equal(await submit(responseId), 201));
    });
  });

  it('an intake after SCRIPT FLUSH gets its scripts again without a refusal', async () => {
    await through(
      () => redis.script('FLUSH'),
      async () => undefined,
      false,
    );
  });

  it('an intake that rewrites its log under load accepts submissions', async () => {
    await through(
      () => redis.bgrewriteaof(),
      async () => undefined,
      false,
    );
    await eventually(
      async () =>
        assert.match(await redis.info('persistence'), /aof_rewrite_in_progress:0[\s\S]*aof_last_bgrewrite_status:ok/),
      20_000,
    );
  });

  it('an intake that loads its log refuses meanwhile, and accepts as soon as it is loaded', async () => {
    // In Redis's own words: so many microseconds a command, as if the log were a thousand times as long.
    const settings = join(dataDir, 'redis-intake', 'redis.conf');
    appendFileSync(settings, 'key-load-delay 1000\n');
    await Promise.all(Array.from({ length: 20_000 }, (_, n) => redis.set(`filler:${n}`, 'x')));
    /** Its reply on a connection of its own, as it gives it while it loads. */
    const ask = async (command: string, ...args: string[]): Promise<string> => {
      const probe = redis.duplicate({ enableReadyCheck: false, retryStrategy: () => null });
      probe.on('error', () => undefined);
      const said = String(await probe.call(command, ...args).catch((error: unknown) => error));
      probe.disconnect();
      return said;
    };
    await through(
      async () => {
        process.kill(stores.pid('redis') ?? 0, 'SIGKILL');
        await submit();
        await eventually(async () => assert.match(await ask('PING'), /LOADING/));
      },
      async () => {
        // Ends the loading, which would else go on for some twenty seconds.
        await eventually(async () => assert.equal(await ask('CONFIG', 'SET', 'key-load-delay', '0'), 'OK'));
        await eventually(async () => assert.equal(await ask('PING'), 'PONG'), 30_000);
        await eventually(async () => assert.equal(await submit(), 201));
      },
    );
    writeFileSync(settings, readFileSync(settings, 'utf8').replace('key-load-delay 1000\n', ''));
  });

  it('an intake with a full disk refuses, and accepts again when there is room', async (test) => {
    if (!isDiskSmall) return test.skip('a small disk cannot be mounted here');
    const filler = join(smallDisk, 'filler');
    const fill = async () => {
      await fillDisk(smallDisk, filler, 16_384);
      const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`key${n}`, 'x'.repeat(200)]));
      await eventually(
        async () => {
          const { status } = await admin
            .submit(surveyId, { responseId: randomUUID(), answers: [], metadata })
            .then((reply) => {
              if (reply.status === 201) accepted.add(reply.body.data.responseId);
              return reply;
            });
          assert.equal(status, 503);
        },
        20_000,
        0,
      );
    };
    await through(fill, async () => rmSync(filler, { force: true }));
  });

  it('a response store with a full disk loses nothing, and stores accepted responses when there is room', async (test) => {
    if (!isResponseDiskSmall) return test.skip('a small disk cannot be mounted here');
    const filler = join(smallResponseDisk, 'filler');
    const clickhouse = createClickHouse({ urls: [stores.clickhouseUrl ?? ''], log: createLog('fatal') });
    const storedIds = async (): Promise<Set<string>> => {
      const rows = await clickhouse.select<[string]>(
        `SELECT DISTINCT toString(response_id) FROM ${clickhouse.table('responses')} WHERE survey_id = '${surveyId}'`,
      );
      return new Set(rows.map(([id]) => id));
    };
    try {
      await fillDisk(smallResponseDisk, filler);
      for (let sent = 0; sent < 200; sent += 1) assert.equal(await submit(), 201, 'the intake has room');
      await eventually(
        () => assert.match(service.logs(), /"(a batch was|idempotency records were) not stored yet"/),
        20_000,
      );
      assert.ok((await storedIds()).size < accepted.size, 'the disk is full');
    } finally {
      rmSync(filler, { force: true });
    }
    await eventually(async () => {
      const stored = await storedIds();
      assert.deepEqual(
        [...accepted].filter((id) => !stored.has(id)),
        [],
      );
      assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, accepted.size);
    }, 60_000);
    await clickhouse.close();
  });

  it('a Redis for jobs without memory makes an accepted export late, and it is made when there is memory', async () => {
    const jobs = new Redis(stores.redisJobsUrl ?? '');
    const [, before = ''] = (await jobs.config('GET', 'maxmemory')) as string[];
    await jobs.config('SET', 'maxmemory', '1mb');
    let exportId = '';
    try {
      exportId = (await admin.expect(202, 'POST', `/exports/surveys/${surveyId}`, { format: 'CSV' })).exportId;
      await eventually(() => assert.match(service.logs(), /OOM command.*"kind":"export\.requested"/));
      assert.equal(await jobs.exists(`bull:exports:export-${exportId}`), 0, 'nothing is queued by half');
      assert.equal((await admin.get(`/exports/${exportId}`)).status, 'PENDING');
      await eventually(async () => {
        const { data }: any = await (await fetch(`${service.origin}/health/ready`)).json();
        assert.deepEqual(data.degraded, ['jobs']);
      });
    } finally {
      await jobs.config('SET', 'maxmemory', before);
      jobs.disconnect();
    }
    assert.equal((await finishedExport(admin, exportId)).status, 'COMPLETED');
  });

  it('calls while Redis or PostgreSQL hangs are answered or refused in time, never with INTERNAL_ERROR', async () => {
    const responseId = [...accepted].at(-1) ?? '';
    const calls: [string, string, unknown?][] = [
      ['GET', `/responses/${responseId}`],
      ['GET', '/dead-letters'],
      ['POST', '/dead-letters/replay'],
      ['GET', `/surveys/${surveyId}`],
      ['GET', '/surveys'],
      ['PUT', `/surveys/${surveyId}`, { title: 'Still' }],
      ['POST', '/surveys', { title: 'New' }],
      ['POST', `/surveys/${surveyId}/questions`, { type: 'NPS', text: 'New' }],
      ['POST', `/surveys/${surveyId}/publish`],
      ['GET', `/responses/surveys/${surveyId}`],
      ['GET', `/analytics/surveys/${surveyId}`],
      ['DELETE', `/surveys/${surveyId}/respondents/nobody`],
      ['DELETE', `/responses/${randomUUID()}`],
      ['POST', '/live/tickets'],
      ['GET', '/auth/me'],
      ['POST', '/auth/login', { email: 'nobody@example.org', password: 'whatever it is' }],
      ['GET', `/public/surveys/${surveyId}`],
      ['POST', `/exports/surveys/${surveyId}`, { format: 'CSV' }],
      ['GET', '/openapi.json'],
    ];
    for (const store of ['redis', 'redisJobs', 'postgres'] as const) {
      const pid = stores.pid(store) ?? 0;
      process.kill(pid, 'SIGSTOP');
      try {
        await Promise.all(
          calls.map(async ([method, path, body]) => {
            const startedAt = performance.now();
            const reply = await admin.call(method, path, body === undefined ? {} : { body });
            assert.ok(
              reply.status < 500 ||
                (reply.status === 503 &&
                  reply.body.code === 'SERVICE_UNAVAILABLE' &&
                  Number(reply.headers.get('retry-after')) >= 1),
              `${store}: ${method} ${path} gave ${reply.status} ${JSON.stringify(reply.body)}`,
            );
            assertWithin(25_000, performance.now() - startedAt, `${store}: ${method} ${path}`);
          }),
        );
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await eventually(
        async () => assert.equal((await admin.call('GET', `/responses/${responseId}`)).status, 200),
        20_000,
      );
      await eventually(async () => assert.equal(await submit(), 201));
    }
  });

  it('a PostgreSQL that ends all sessions is queried again, and submissions are unaffected', async () => {
    const sql = createPostgres(stores.databaseUrl ?? '', { log: createLog('silent'), poolSize: 1 });
    try {
      for (let round = 0; round < 3; round += 1) {
        await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`;
        assert.equal(await submit(), 201);
        const reply = await admin.call('GET', `/surveys/${surveyId}`);
        assert.ok(
          reply.status === 200 || (reply.status === 503 && reply.body.code === 'SERVICE_UNAVAILABLE'),
          JSON.stringify(reply.body),
        );
        await eventually(async () => assert.equal((await admin.call('GET', `/surveys/${surveyId}`)).status, 200));
      }
    } finally {
      await sql.end({ timeout: 1 });
    }
  });

  it('no reply was INTERNAL_ERROR', () => {
    assert.ok(
      !service.logs().includes('a handler failed'),
      service
        .logs()
        .split('\n')
        .find((line) => line.includes('a handler failed')),
    );
  });
});

/**
 * Leaves so many bytes free at most. In pieces: a process that writes all at once notices only afterwards which of its
 * idle connections were closed meanwhile, and sends its next call over one of them.
 */
async function fillDisk(folder: string, file: string, freeBytes = 0): Promise<void> {
  const piece = Buffer.alloc(1024 * 1024);
  const opened = await open(file, 'w');
  try {
    for (;;) {
      const { bavail, bsize } = await statfs(folder);
      const bytes = Math.min(piece.length, bavail * bsize - freeBytes);
      if (bytes <= 0) return;
      await opened.write(piece, 0, bytes);
    }
  } catch (error) {
    // The store itself has taken the rest meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await opened.close();
  }
}
