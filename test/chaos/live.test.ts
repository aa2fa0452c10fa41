import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { type EmbeddedStores, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, createClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { subscribeResiliently } from '../support/live-client.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';

const clientCount = 100;

/**
 * Kills the service and its intake while a hundred reference clients listen: each must have heard of every accepted
 * response in the end.
 */
describe('live streams through kill -9', () => {
  const [storesDir, dataDir] = [temporaryDataDir(), temporaryDataDir()];
  const started: RunningService[] = [];
  const clients: ReturnType<typeof subscribeResiliently>[] = [];
  let stores: EmbeddedStores | undefined;
  after(async () => {
    await Promise.all(clients.map((client) => client.stop()));
    for (const service of started) await service.stop().catch(() => undefined);
    await stores?.stop();
    for (const folder of [storesDir, dataDir]) rmSync(folder, { recursive: true, force: true });
  });

  const start = async (): Promise<RunningService> => {
    const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = stores ?? {};
    const service = await startService({
      dataDir,
      env: {
        REDIS_URL: redisUrl,
        REDIS_JOBS_URL: redisJobsUrl,
        DATABASE_URL: databaseUrl,
        CLICKHOUSE_URL: clickhouseUrl,
      },
    });
    started.push(service);
    return service;
  };

  const redisPids = (): number[] =>
    readdirSync(storesDir)
      .filter((name) => name.startsWith('redis'))
      .flatMap((name) => {
        try {
          return [Number(JSON.parse(readFileSync(join(storesDir, name, 'pid'), 'utf8')).pid)];
        } catch {
          return [];
        }
      });

  it('leaves every client with the complete set of responses', async () => {
    stores = await startEmbeddedStores({
      dataDir: storesDir,
      needed: { redis: true, redisJobs: true, postgres: true, clickhouse: true },
      log: createLog('fatal'),
      env: process.env,
    });
    let service = await start();
    const admin = await adminClient(service);
    const survey = await admin.create('/surveys', { title: 'Chaos', status: 'ACTIVE' });
    const login = await admin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } });
    for (let n = 0; n < clientCount; n += 1)
      clients.push(
        subscribeResiliently(
          () => service,
          async () => login.body.data.accessToken,
          survey.id,
        ),
      );
    await eventually(() => assert.ok(clients.every((client) => client.isReady())), 30_000);

    const accepted = new Set<string>();
    let isOver = false;
    /** Submitters would otherwise retry for ever, and keep the file from ending. */
    let hasFailed = false;
    const submitter = async (): Promise<void> => {
      while (!isOver) {
        const responseId = newId();
        // The same id again until there is an answer, so that nothing counts twice.
        while (!hasFailed && !accepted.has(responseId)) {
          const reply = await createClient(service)
            .submit(survey.id, { responseId, answers: [] })
            .catch(() => undefined);
          if (reply?.status === 201) accepted.add(responseId);
          else await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    };
    const lanes = Array.from({ length: 8 }, submitter);
    const more = async (count: number) => {
      const goal = accepted.size + count;
      await eventually(() => assert.ok(accepted.size >= goal), 60_000);
    };
    try {
      await more(300);
      await service.kill();
      service = await start();
      await more(300);
      const pids = redisPids();
      assert.ok(pids.length >= 2, `pid files of both instances: ${pids.length}`);
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      await more(300);
    } catch (error) {
      hasFailed = true;
      throw error;
    } finally {
      isOver = true;
    }
    await Promise.all(lanes);

    await eventually(() => {
      for (const client of clients) assert.equal(client.seen.size, accepted.size);
    }, 60_000);
    for (const client of clients) {
      assert.deepEqual(
        [...client.seen].filter((id) => !accepted.has(id)),
        [],
      );
      assert.equal(client.doubles(), 0, 'a response came twice');
    }
    assert.ok(
      clients.every((client) => client.connections() >= 2),
      'the kill cut every client off',
    );
  });
});
