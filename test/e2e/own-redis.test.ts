import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { adminClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { runToExit, sharedStoreUrls, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

const user = 'hidden-configuration';
/** Where all that a service says is compared: it would log stores that take long to answer. */
const quiet = { LOG_LEVEL: 'silent' };

describe('a Redis of the operator', () => {
  let redis: Redis;
  before(async () => {
    redis = new Redis((await sharedStores()).redisUrl);
  });
  after(async () => {
    await redis.call('ACL', 'DELUSER', user);
    await redis.quit();
  });

  /** A database of the intake's server that nobody else uses, empty. */
  async function emptyDatabase(): Promise<string> {
    const url = new URL('/11', (await sharedStores()).redisUrl).href;
    const own = new Redis(url);
    await own.flushdb();
    await own.quit();
    return url;
  }

  /** Starts a service that is expected to come up, and stops it. */
  async function logsOfStart(env: Record<string, string>): Promise<string> {
    const service = await startService({ env });
    await service.stop();
    return service.logs();
  }

  it('that would lose accepted responses fails the start, with what to change and the setting that accepts the loss', async () => {
    // The server for jobs syncs once a second.
    const url = new URL('/11', (await sharedStores()).redisJobsUrl).href;
    const { code, said } = await runToExit({ env: { ...quiet, ...sharedStoreUrls(), REDIS_URL: url } });
    assert.equal(code, 1);
    assert.equal(
      said,
      'survey-service cannot start: the server of REDIS_URL would lose accepted responses: appendfsync is everysec, not always. Configure it so, or accept the loss with INTAKE_MAY_LOSE=true\n',
    );
    const logs = await logsOfStart({ REDIS_URL: url, INTAKE_MAY_LOSE: 'true' });
    assert.match(logs, /"level":"warn".*appendfsync is everysec, not always; INTAKE_MAY_LOSE accepts it/);
  });

  it('that refuses the password fails the start, whose log names the command and no password', async () => {
    const stores = await sharedStoreUrls();
    for (const setting of ['REDIS_URL', 'REDIS_JOBS_URL'] as const) {
      const url = new URL(stores[setting] ?? '');
      url.password = 'unknown-password';
      const { code, said } = await runToExit({ env: { ...stores, [setting]: url.href } });
      assert.equal(code, 1);
      assert.match(said, new RegExp(`cannot start: the server of ${setting} .* cannot be used: WRONGPASS`));
      assert.match(said, /"command":\{"name":"hello"\}.*"Redis connection error"/);
      assert.doesNotMatch(said, /unknown-password/);
    }
  });

  it('that is set while it runs so that it would lose accepted responses gets none until it is set back', async () => {
    const service = await startService({ env: { REDIS_URL: await emptyDatabase() } });
    try {
      const admin = await adminClient(service);
      const { id } = await admin.create('/surveys', { title: 'Durable', status: 'ACTIVE', submissionRateLimit: 5000 });
      const submit = async () => {
        const { status, body, headers } = await admin.submit(id, { answers: [] });
        if (status === 201) return 201;
        // Nobody could count it.
        const limits = ['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`));
        assert.deepEqual(limits, ['5000', '5000']);
        return `${status} ${body.code} ${body.message}`;
      };
      const readiness = async () => {
        const reply: any = await (await fetch(`${service.origin}/health/ready`)).json();
        return reply.details?.reason ?? reply.data.status;
      };
      assert.equal(await submit(), 201);
      for (const [name, unsafe, safe] of [
        ['appendfsync', 'no', 'always'],
        ['appendonly', 'no', 'yes'],
      ] as const) {
        await redis.config('SET', name, unsafe);
        try {
          await eventually(
            async () =>
              assert.equal(await submit(), '503 SERVICE_UNAVAILABLE Responses cannot be stored durably right now'),
            10_000,
          );
          await eventually(async () => assert.equal(await readiness(), 'INTAKE_UNAVAILABLE'));
        } finally {
          await redis.config('SET', name, safe);
        }
        await eventually(async () => assert.equal(await submit(), 201));
        await eventually(async () => assert.equal(await readiness(), 'ready'));
        assert.match(
          service.logs(),
          new RegExp(`"level":"error".*${name} is no, not ${safe}. Submissions are refused`),
        );
      }
    } finally {
      await service.stop();
    }
  });

  it('beside an embedded intake that was used fails the start until that is moved away', async () => {
    const dataDir = temporaryDataDir();
    const folder = join(dataDir, 'redis-intake', 'appendonlydir');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'appendonly.aof.1.incr.aof'), 'accepted responses');
    const { code, said } = await runToExit({ dataDir, env: sharedStoreUrls() });
    rmSync(dataDir, { recursive: true, force: true });
    assert.equal(code, 1);
    assert.match(
      said,
      /^survey-service cannot start: REDIS_URL is set, but \S+redis-intake holds an intake that was used/,
    );
  });

  it('that hides its configuration is used with a warning', async () => {
    await redis.call('ACL', 'SETUSER', user, 'on', '>secret', '~*', '&*', '+@all', '-config');
    const url = new URL(await emptyDatabase());
    [url.username, url.password] = [user, 'secret'];
    const warning =
      (await logsOfStart({ REDIS_URL: url.href }))
        .split('\n')
        .find((line) => line.includes('does not show its configuration')) ?? '{}';
    assert.deepEqual(
      JSON.parse(warning).unknown,
      ['appendfsync', 'no-appendfsync-on-rewrite'],
      'the others stand in INFO',
    );
  });

  it('keeps its number of shards: another number fails the start, which names the right one', async () => {
    const url = await emptyDatabase();
    const env = { ...quiet, ...sharedStoreUrls(), REDIS_URL: url };
    await logsOfStart({ REDIS_URL: url, INTAKE_SHARDS: '3' });
    for (const shards of ['2', '4']) {
      const { code, said } = await runToExit({ env: { ...env, INTAKE_SHARDS: shards } });
      assert.deepEqual(
        [code, said],
        [
          1,
          `survey-service cannot start: INTAKE_SHARDS is ${shards}, but this intake was begun with 3: set INTAKE_SHARDS=3. Another number needs an empty intake (a REDIS_URL or DATA_DIR of its own), as docs/operating.md says; if it never was 3, stop all processes and remove the key intake:shards\n`,
        ],
      );
    }
  });

  it('without a noted number of shards is checked by the entries that wait in its streams', async () => {
    const url = await emptyDatabase();
    const own = new Redis(url);
    await own.xadd('{s4}:stream', '*', 'n', 0, 'codes', 0, 'surveys', '', 'filled', '', 'rows', '');
    await own.quit();
    const { code, said } = await runToExit({ env: { ...sharedStoreUrls(), REDIS_URL: url } });
    assert.equal(code, 1);
    assert.match(
      said,
      /INTAKE_SHARDS is 2, but \{s4\}:stream of this intake holds responses that are not stored yet: set INTAKE_SHARDS=5/,
    );
  });
});
