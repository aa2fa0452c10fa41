import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import { runningStores } from '../../src/stores/embedded/start-stores.ts';
import { createPostgres, type Sql } from '../../src/stores/postgres/client.ts';
import type { Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { reconcileMain, useReconcile } from '../support/use-reconcile.ts';

describe('npm run reconcile', () => {
  let admin: Client;
  let clickhouse: ClickHouse;
  let sql: Sql;
  // Is ended before the stores.
  after(async () => sql?.end({ timeout: 1 }));
  const { dataDir, run, runWith, survey } = useReconcile((fixture) => ({ admin, clickhouse } = fixture));
  before(() => {
    sql = createPostgres(runningStores(dataDir).postgres ?? '', { log: createLog('silent'), poolSize: 1 });
  });

  it('refuses another number of shards than the service has', async () => {
    const { code, said } = await runWith({ INTAKE_SHARDS: '7' });
    assert.equal(code, 1, said);
    assert.match(said, /^INTAKE_SHARDS is 7, but this intake was begun with \d+: set INTAKE_SHARDS=\d+/);
  });

  it('reports no differences where there are none, also while responses arrive', async () => {
    const { id } = await survey(5);
    let isOver = false;
    const load = (async () => {
      while (!isOver) await admin.submit(id, { answers: [] });
    })();
    const { code, said } = await run();
    isOver = true;
    await load;
    assert.equal(code, 0, said);
    assert.match(said, /shard 0: \d+ rows in the stream, 0 of them not stored/);
    assert.match(said, /1 surveys compared, 0 differ/);
  });

  it('reports responses of deleted and of unknown surveys, as after a restore, and erases the former again', async () => {
    const { id: deleted } = await survey(1);
    const table = clickhouse.table('responses');
    const rowsOf = (id: string) => clickhouse.select(`SELECT 1 FROM ${table} WHERE survey_id = '${id}'`);
    await admin.remove(`/surveys/${deleted}`);
    await eventually(async () => {
      assert.deepEqual([...(await sql`SELECT 1 FROM outbox WHERE done_at IS NULL`)], []);
      assert.deepEqual(await rowsOf(deleted), []);
    }, 60_000);
    const unknown = newId();
    for (const id of [deleted, unknown])
      await clickhouse.command(
        `INSERT INTO ${table} (survey_id, response_id, submitted_at, version) SELECT '${id}', generateUUIDv4(), now(), 1`,
      );
    const aboutUnknown = `survey ${unknown}: PostgreSQL does not know it, the response store holds 1 responses\n`;
    const aboutDeleted = `survey ${deleted}: it was deleted, the response store holds 1 responses`;
    const found = await run();
    assert.equal(found.code, 1, found.said);
    for (const line of [aboutUnknown, `${aboutDeleted}\n`]) assert.ok(found.said.includes(line), found.said);
    const repaired = await run('--repair');
    assert.equal(repaired.code, 1, repaired.said);
    for (const line of [aboutUnknown, `${aboutDeleted}, which the service erases now\n`])
      assert.ok(repaired.said.includes(line), repaired.said);
    await eventually(async () => assert.deepEqual(await rowsOf(deleted), []), 60_000);
    assert.equal((await rowsOf(unknown)).length, 1);
    await clickhouse.command(`DELETE FROM ${table} WHERE survey_id = '${unknown}'`);
    assert.equal((await run()).code, 0);
  });

  it('reports wrong counts in survey rows, and corrects them', async () => {
    // Of one response: the counts of several may be saved once more, by a later batch.
    const { id } = await survey(1);
    await eventually(async () =>
      assert.deepEqual(
        [...(await sql`SELECT responses FROM survey_counts WHERE survey_id = ${id}`)],
        [{ responses: 1 }],
      ),
    );
    await sql`UPDATE survey_counts SET responses = 0 WHERE survey_id = ${id}`;
    const found = await run('--survey', id);
    assert.deepEqual(
      [found.code, /its row says 0 \(1 complete\), the intake 1 \(1\)/.test(found.said)],
      [1, true],
      found.said,
    );
    assert.equal((await run('--survey', id, '--repair')).code, 0);
    assert.deepEqual([...(await sql`SELECT responses FROM survey_counts WHERE survey_id = ${id}`)], [{ responses: 1 }]);
  });

  it('compares the row of a survey that the intake does not know with the stored responses, and corrects it', async () => {
    // Of one response: the counts of several may be saved once more, by a later batch.
    const { id } = await survey(1);
    await eventually(async () => assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 1));
    await admin.put(`/surveys/${id}`, { status: 'CLOSED' });
    await eventually(async () => assert.deepEqual([...(await sql`SELECT 1 FROM outbox WHERE done_at IS NULL`)], []));
    const redis = await openPatientRedis(runningStores(dataDir).redis ?? '');
    await redis.del(await redis.keys(`*survey:${id}`));
    redis.disconnect();
    await sql`UPDATE survey_counts SET responses = 10, completed = 10 WHERE survey_id = ${id}`;
    const found = await run('--survey', id);
    assert.equal(found.code, 1, found.said);
    assert.match(
      found.said,
      new RegExp(
        `survey ${id}: the intake does not know it, its row says 10 \\(10 complete\\), the response store holds 1 \\(1\\)`,
      ),
    );
    const repaired = await run('--survey', id, '--repair');
    assert.deepEqual([repaired.code, /its row was corrected/.test(repaired.said)], [0, true], repaired.said);
    assert.equal((await admin.get(`/surveys/${id}`)).responseCount, 1);
    assert.equal((await run('--survey', id)).code, 0);
  });

  it('ignores deleted surveys and responses', async () => {
    const [gone, kept] = [await survey(2), await survey(3)];
    await admin.remove(`/responses/${kept.responseIds[0]}`);
    await admin.remove(`/surveys/${gone.id}`);
    await eventually(
      async () =>
        assert.deepEqual(
          await clickhouse.select(
            `SELECT 1 FROM ${clickhouse.table('responses')} WHERE survey_id = '${gone.id}' LIMIT 1`,
          ),
          [],
        ),
      60_000,
    );
    const { code, said } = await run('--repair', '--after', '00000000-0000-0000-0000-000000000000');
    assert.ok(!said.includes(gone.id) && !said.includes(`survey ${kept.id}:`), said);
    assert.notEqual(code, 2);
    assert.deepEqual(
      await clickhouse.select(`SELECT 1 FROM ${clickhouse.table('responses')} WHERE survey_id = '${gone.id}' LIMIT 1`),
      [],
    );
  });

  it('reports a quota by cell whose counter differs from the stored responses', async () => {
    const { id } = await survey(3);
    const { id: quotaId } = await admin.create(`/surveys/${id}/quotas`, {
      name: 'English',
      limit: 9,
      where: { language: ['en'] },
    });
    await eventually(async () => {
      const [quota] = await admin.get(`/surveys/${id}/quotas`);
      assert.deepEqual([quota.id, quota.isCounting, quota.count], [quotaId, false, 3]);
    });
    assert.equal((await run('--survey', id)).code, 0);
    const { redis: url = '' } = runningStores(dataDir);
    const redis = await openPatientRedis(url);
    const [key = ''] = await redis.keys(`*quotas:${id}`);
    // The service's own comparison would correct the count. Its first one, seconds after the start, was long ago here.
    const toCount = key.replace(`quotas:${id}`, 'quotas-to-count');
    await eventually(async () => assert.equal(await redis.scard(toCount), 0), 30_000);
    await redis.hset(key, 'c1', 5);
    const { code, said } = await run('--survey', id);
    await redis.hset(key, 'c1', 3);
    redis.disconnect();
    assert.equal(code, 1, said);
    assert.match(said, /the intake counts 5 in its quota "English", the response store holds 3/);
  });

  it('reports a collector whose counter differs from the stored responses', async () => {
    const { id } = await survey(2);
    const { id: collectorId } = await admin.create(`/surveys/${id}/collectors`, { name: 'Panel', responseQuota: 9 });
    await admin.submit(id, { answers: [], collectorId });
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 3));
    assert.equal((await run('--survey', id)).code, 0);
    const redis = await openPatientRedis(runningStores(dataDir).redis ?? '');
    const [key = ''] = await redis.keys(`*survey:${id}`);
    await redis.hset(key, 'completed:1', 4);
    const { code, said } = await run('--survey', id);
    await redis.hset(key, 'completed:1', 1);
    redis.disconnect();
    assert.equal(code, 1, said);
    assert.match(said, /the intake counts 4 by the collector "Panel", the response store holds 1/);
    assert.equal((await run('--survey', id)).code, 0);
  });

  it('ends and names the store where one is away or says nothing', async (context) => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    context.after(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { port: silentPort } = silent.address() as AddressInfo;
    for (const [setting, scheme] of [
      ['REDIS_URL', 'redis'],
      ['DATABASE_URL', 'postgres'],
      ['CLICKHOUSE_URL', 'http'],
    ] as const)
      for (const [port, reason] of [
        [1, /^connect ECONNREFUSED 127\.0\.0\.1:1\n$/],
        // Who gives up first says it: the client of the store, or the limit of the first call.
        [silentPort, /^[^\n]+\n$/],
      ] as const) {
        const { code, said } = await runWith({ [setting]: `${scheme}://127.0.0.1:${port}` });
        const beginning = `the server of ${setting} (127.0.0.1:${port}) cannot be used: `;
        assert.deepEqual([code, said.slice(0, beginning.length)], [1, beginning]);
        assert.match(said.slice(beginning.length), reason);
      }
  });

  it('prints its usage, and explains wrong arguments and missing stores', async () => {
    assert.match((await run('--help')).said, /npm run reconcile/);
    assert.equal((await run('--mend')).code, 2);
    assert.match((await run('--survey', 'mine')).said, /--survey must be the id of a survey/);
    const { code: ofUnknown, said: aboutUnknown } = await run('--survey', newId());
    assert.deepEqual([ofUnknown, /there is no survey/.test(aboutUnknown)], [1, true]);
    const child = spawn(process.execPath, [reconcileMain], {
      env: { PATH: process.env['PATH'], DATA_DIR: temporaryDataDir() },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    assert.equal(await new Promise((resolve) => child.once('close', resolve)), 1);
    assert.match(said, /No stores/);
  });

  it('connects a copy of DATA_DIR that was not started yet to no store of the original', async () => {
    const copy = temporaryDataDir();
    const addresses = ['redis-intake/password', 'postgres/app-password', 'clickhouse/password'];
    const files = ['redis-intake', 'postgres', 'clickhouse'].flatMap((store) => [`${store}/port`, `${store}/place`]);
    for (const file of [...addresses, ...files]) cpSync(join(dataDir, file), join(copy, file));
    const { code, said } = await runWith({ DATA_DIR: copy }, '--repair');
    rmSync(copy, { recursive: true, force: true });
    assert.deepEqual([code, /No stores/.test(said)], [1, true], said);
  });
});
