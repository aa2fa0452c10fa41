import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { createLog } from '../../../../src/log.ts';
import { checkIntakeServer } from '../../../../src/stores/redis/intake/server-check.ts';
import { checkJobsServer } from '../../../../src/stores/redis/jobs-server-check.ts';
import { openPatientRedis } from '../../../support/patient-redis.ts';
import { sharedStores } from '../../../support/stores.ts';

/** The lines of a log, as JSON. */
function written() {
  const lines: string[] = [];
  const log = pino(
    {},
    new Writable({
      write: (line, _, done) => {
        lines.push(String(line));
        return done();
      },
    }),
  );
  return { log, warnings: () => lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40) };
}

describe('the number of shards of an intake without `intake:shards`', () => {
  let redis: Redis;
  before(async () => {
    redis = await openPatientRedis(new URL('/12', (await sharedStores()).redisUrl).href);
  });
  beforeEach(() => redis.flushdb());
  after(async () => {
    await redis.flushdb();
    await redis.quit();
  });

  const entry = (shard: number) =>
    redis.xadd(`{s${shard}}:stream`, '*', 'n', 0, 'codes', 0, 'surveys', '', 'filled', '', 'rows', '');
  const stored = async (shard: number) => redis.set(`{s${shard}}:acked`, String(await entry(shard)));
  const start = async (shards: number) => {
    const { log, warnings } = written();
    await checkIntakeServer(redis, { shards, mayLose: false, log });
    return warnings();
  };

  it('may be smaller than before if the other streams are stored, with a warning', async () => {
    for (const shard of [0, 1, 2, 3]) await stored(shard);
    await entry(0);
    const [warning, ...more] = await start(2);
    assert.match(warning.msg, /has had 4 .*intake:shards/);
    assert.deepEqual([await redis.get('intake:shards'), more.length], ['2', 0]);
    assert.deepEqual(await start(2), [], 'once');
  });

  it('is refused while another stream holds entries that are not stored, and nothing is written', async () => {
    await stored(3);
    await entry(3);
    await assert.rejects(start(2), /INTAKE_SHARDS is 2, .*\{s3\}:stream.*set INTAKE_SHARDS=4/);
    assert.equal(await redis.get('intake:shards'), null);
    assert.deepEqual(await start(4), []);
    assert.equal(await redis.get('intake:shards'), '4');
  });

  it('can be corrected as the refusal says', async () => {
    await stored(1);
    await start(8);
    await assert.rejects(start(2), /begun with 8: .*remove the key intake:shards/);
    await redis.del('intake:shards');
    await start(2);
    assert.equal(await redis.get('intake:shards'), '2');
  });
});

describe('an intake server that hides its configuration', () => {
  /** One that only answers INFO. */
  const silent = (info: string) =>
    ({
      call: async () => {
        throw Object.assign(new Error('ERR unknown command'), { name: 'ReplyError' });
      },
      info: async () => info,
      defineCommand: () => undefined,
      shardStats: async () => [0, 0, '', ''],
      exists: async () => 0,
      setnx: async () => 1,
      get: async () => '2',
    }) as unknown as Redis;

  it('is used although it has no append-only file, since it may be durable without one, with a warning', async () => {
    const { log, warnings } = written();
    await checkIntakeServer(silent('aof_enabled:0\r\nmaxmemory_policy:noeviction\r\n'), {
      shards: 2,
      mayLose: false,
      log,
    });
    const [warning] = warnings();
    assert.deepEqual(warning.unknown, ['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite']);
    assert.match(warning.msg, /does not show its configuration/);
  });

  it('is refused if it would evict accepted responses', async () => {
    await assert.rejects(
      checkIntakeServer(silent('aof_enabled:1\r\nmaxmemory_policy:allkeys-lru\r\n'), {
        shards: 2,
        mayLose: false,
        log: createLog('silent'),
      }),
      /maxmemory-policy is allkeys-lru/,
    );
  });
});

describe('the server of jobs', () => {
  /** A server that shows these settings and refuses CONFIG for the others. */
  const configured = (values: Readonly<Record<string, string>>) =>
    ({
      call: async (_config: string, _get: string, name: string) => {
        if (values[name] === undefined) throw Object.assign(new Error('NOPERM'), { name: 'ReplyError' });
        return [name, values[name]];
      },
      info: async () => 'aof_enabled:0\r\n',
    }) as unknown as Redis;
  const warningsOf = async (redis: Redis) => {
    const { log, warnings } = written();
    await checkJobsServer(redis, log);
    return warnings().map(({ msg, unknown }) => ({ msg, unknown }));
  };

  it('is used with a warning if it may lose its data', async () => {
    const [warning, ...more] = await warningsOf(configured({ appendonly: 'no', 'maxmemory-policy': 'allkeys-lru' }));
    assert.match(
      warning?.msg ?? '',
      /REDIS_JOBS_URL may lose its data: appendonly is no, not yes, maxmemory-policy is allkeys-lru, not noeviction\. Then replies of AI providers .* are paid for again/,
    );
    assert.deepEqual(more, []);
  });

  it('is used with a warning if it hides its configuration', async () => {
    const [warning, ...more] = await warningsOf(configured({ 'maxmemory-policy': 'noeviction' }));
    assert.match(warning?.msg ?? '', /REDIS_JOBS_URL does not show its configuration/);
    assert.deepEqual([warning?.unknown, more], [['appendonly'], []]);
  });

  it('causes no warning if it is durable', async () => {
    const redis = await openPatientRedis((await sharedStores()).redisJobsUrl);
    try {
      assert.deepEqual(await warningsOf(redis), []);
    } finally {
      await redis.quit();
    }
  });
});
