import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { createLog } from '../../src/log.ts';
import { createPostgres } from '../../src/stores/postgres/client.ts';
import { freshDatabase } from '../support/auth-server.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

const user = 'read-only-jobs';
const recoveryMs = 15_000;

/** Stores that answer, but take no changes: a standby after a failover, a changed password, a full memory. */
describe('a store that answers and takes no changes', () => {
  let service: RunningService;
  let admin: Client;
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let jobs: Redis;
  let surveyId: string;
  let webhookId: string;
  before(async () => {
    database = await freshDatabase();
    const { redisJobsUrl } = await sharedStores();
    jobs = new Redis(redisJobsUrl);
    await jobs.call('ACL', 'SETUSER', user, 'on', '>secret', '~*', '&*', '+@all');
    const url = new URL(redisJobsUrl);
    [url.username, url.password] = [user, 'secret'];
    service = await startService({
      env: { REDIS_JOBS_URL: url.href, DATABASE_URL: database.url, WEBHOOK_ALLOW_PRIVATE: 'true' },
    });
    admin = await adminClient(service);
    surveyId = (await admin.create('/surveys', { title: 'Standby', status: 'ACTIVE' })).id;
    webhookId = (await admin.create('/webhooks', { url: 'http://127.0.0.1:9/', events: ['quota.reached'] })).id;
  });
  after(async () => {
    await service.stop();
    await jobs.call('ACL', 'DELUSER', user);
    await jobs.quit();
    await database.drop();
  });

  const degraded = async (): Promise<string[]> => {
    const reply: any = await (await fetch(`${service.origin}/health/ready`)).json();
    return reply.data.degraded;
  };
  /** Statuses of an edit, a sign-in and a test of a webhook. */
  const changes = async () => {
    const edit = await admin.call('PUT', `/surveys/${surveyId}`, { body: { title: 'Edited' } });
    const signIn = await admin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } });
    const test = await admin.call('POST', `/webhooks/${webhookId}/test`);
    return [edit, signIn, test].map(({ status, body }) => (status < 300 ? status : `${status} ${body.message}`));
  };
  const away = '503 The control plane cannot be reached';

  it('PostgreSQL as a standby is named as degraded, and changes get 503 until it may be written', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const { databaseUrl } = await sharedStores();
    const owner = createPostgres(databaseUrl, { log: createLog('silent'), poolSize: 1 });
    const setReadOnly = async (setting: string) => {
      await owner.unsafe(`ALTER DATABASE ${name} ${setting}`);
      await owner`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`;
    };
    await setReadOnly('SET default_transaction_read_only = on');
    await eventually(async () => assert.deepEqual(await degraded(), ['controlPlane']), recoveryMs);
    assert.deepEqual(await changes(), [away, away, away]);
    assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201);
    await setReadOnly('RESET default_transaction_read_only');
    await eventually(async () => assert.deepEqual(await changes(), [200, 200, 202]), recoveryMs);
    await eventually(async () => assert.deepEqual(await degraded(), []), recoveryMs);
    await owner.end({ timeout: 1 });
    assert.doesNotMatch(service.logs(), /a handler failed/);
  });

  it('Redis for jobs is named as degraded', async () => {
    await jobs.call('ACL', 'SETUSER', user, '-set');
    await eventually(async () => assert.deepEqual(await degraded(), ['jobs']), recoveryMs);
    await jobs.call('ACL', 'SETUSER', user, '+set');
    await eventually(async () => assert.deepEqual(await degraded(), []), recoveryMs);
  });
});
