import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { findOrphan } from '../../src/stores/embedded/host/pid-file.ts';
import { type EmbeddedStores, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { createPostgres } from '../../src/stores/postgres/client.ts';
import { createSharedRedis } from '../../src/stores/redis/clients.ts';
import { createShards } from '../../src/stores/redis/intake/shards.ts';
import { adminClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { startService } from '../support/service.ts';
import { assertWithin } from '../support/time-bars.ts';

const shutdownBoundMs = 15_000;

/** How SIGTERM finds ingest: SIGSTOP makes the engine hang without ending. */
const situations = [
  { name: 'an insert', questions: 1 },
  { name: 'the addition of columns', questions: 70 },
];

describe('SIGTERM while ClickHouse hangs', () => {
  const [dataDir, ownDir, embeddedDir] = [temporaryDataDir(), temporaryDataDir(), temporaryDataDir()];
  let stores: EmbeddedStores;
  before(async () => {
    const needed = { redis: true, redisJobs: true, postgres: true, clickhouse: true };
    stores = await startEmbeddedStores({ dataDir, needed, log: createLog('error'), env: process.env });
  });
  after(async () => {
    await stores?.stop();
    for (const made of [dataDir, ownDir, embeddedDir]) rmSync(made, { recursive: true, force: true });
  });

  /** The processes that hold shards. */
  const owners = async (): Promise<string[]> => {
    const redis = createSharedRedis(stores.redisUrl ?? '', createLog('silent'));
    await redis.connect();
    try {
      const names = await Promise.all(createShards(2).all.map(({ prefix }) => redis.hget(`${prefix}owner`, 'name')));
      return names.flatMap((name) => name ?? []);
    } finally {
      redis.disconnect();
    }
  };

  /** Resolves when the content of a deleted survey is to be erased, which waits until ingest has caught up. */
  const erasureBegun = async (surveyId: string): Promise<void> => {
    const sql = createPostgres(stores.databaseUrl ?? '', { log: createLog('silent'), poolSize: 1 });
    try {
      await eventually(async () => {
        const begun = await sql`
          SELECT FROM outbox
          WHERE kind = 'survey.deleted' AND payload->>'surveyId' = ${surveyId} AND leased_until > now()`;
        assert.equal(begun.length, 1);
      });
    } finally {
      await sql.end({ timeout: 2 });
    }
  };

  for (const { name, questions } of situations)
    it(`ends ${name}, releases the shards and exits with 0 in time`, async () => {
      const service = await startService({
        dataDir: ownDir,
        env: {
          REDIS_URL: stores.redisUrl ?? '',
          REDIS_JOBS_URL: stores.redisJobsUrl ?? '',
          DATABASE_URL: stores.databaseUrl ?? '',
          CLICKHOUSE_URL: stores.clickhouseUrl ?? '',
        },
      });
      const engine = stores.pid('clickhouse') ?? 0;
      try {
        const admin = await adminClient(service);
        const { id } = await admin.create('/surveys', { title: 'Stopped' });
        const asked: { id: string }[] = [];
        for (let n = 0; n < questions; n += 1)
          asked.push(await admin.create(`/surveys/${id}/questions`, { type: 'NPS', text: `How ${n}?` }));
        await admin.post(`/surveys/${id}/publish`);
        await eventually(async () => assert.equal((await owners()).length, 2));
        const deleted = await admin.create('/surveys', { title: 'Deleted', status: 'ACTIVE' });
        process.kill(engine, 'SIGSTOP');
        for (let n = 0; n < 5; n += 1) {
          const answers = asked.map(({ id: questionId }) => ({ questionId, numberValue: 3 }));
          assert.equal((await admin.submit(id, { answers })).status, 201);
        }
        assert.equal((await admin.submit(deleted.id, { answers: [] })).status, 201);
        await admin.remove(`/surveys/${deleted.id}`);
        await erasureBegun(deleted.id);
        await new Promise((resolve) => setTimeout(resolve, 1000));
        const toldAt = performance.now();
        assert.equal(await service.stop(), 0, service.logs());
        assertWithin(shutdownBoundMs, performance.now() - toldAt, 'the stop');
        assert.match(service.logs(), /"message":"The service is stopping".*an outbox event could not be delivered yet/);
        assert.deepEqual(await owners(), []);
      } finally {
        process.kill(engine, 'SIGCONT');
        await service.kill();
      }
    });

  it('exits with 0 in time if the embedded engine hangs', async () => {
    const service = await startService({ dataDir: embeddedDir });
    try {
      const admin = await adminClient(service);
      const { id } = await admin.create('/surveys', { title: 'Stopped', status: 'ACTIVE' });
      const engine = findOrphan(join(embeddedDir, 'clickhouse')) ?? 0;
      process.kill(engine, 'SIGSTOP');
      for (let n = 0; n < 5; n += 1) assert.equal((await admin.submit(id, { answers: [] })).status, 201);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const toldAt = performance.now();
      assert.equal(await service.stop(), 0, service.logs());
      assertWithin(shutdownBoundMs, performance.now() - toldAt, 'the stop');
      assert.equal(findOrphan(join(embeddedDir, 'clickhouse')), undefined, 'no engine is left');
    } finally {
      await service.kill();
    }
  });
});
