import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, rmSync, truncateSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLog } from '../../src/log.ts';
import { newId } from '../../src/platform/ids.ts';
import { connectStores } from '../../src/reconcile/connect.ts';
import { type ClickHouse, createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { runningStores } from '../../src/stores/embedded/start-stores.ts';
import { createPostgres, type Sql } from '../../src/stores/postgres/client.ts';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { type RunningService, startService } from '../support/service.ts';

const log = createLog('silent');
const main = fileURLToPath(new URL('../../src/reconcile/main.js', import.meta.url));

describe('npm run reconcile', () => {
  const dataDir = temporaryDataDir();
  let service: RunningService;
  let admin: Client;
  let clickhouse: ClickHouse;
  let sql: Sql;
  before(async () => {
    service = await startService({ dataDir });
    admin = await adminClient(service);
    const { clickhouse: url = '', postgres = '' } = runningStores(dataDir);
    clickhouse = createClickHouse({ urls: [url], log });
    sql = createPostgres(postgres, { log, poolSize: 1 });
  });
  after(async () => {
    await Promise.all([clickhouse.close(), sql.end({ timeout: 1 })]);
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const run = (...args: string[]) => runWith({}, ...args);
  function runWith(
    settings: Record<string, string>,
    ...args: string[]
  ): Promise<{ code: number | null; said: string }> {
    const child = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
    return new Promise((resolve) => child.once('close', (code) => resolve({ code, said })));
  }

  async function survey(responses: number): Promise<{ id: string; responseIds: string[] }> {
    const { id } = await admin.create('/surveys', { title: 'Reconciled', status: 'ACTIVE' });
    const replies = await Promise.all(Array.from({ length: responses }, () => admin.submit(id, { answers: [] })));
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, responses));
    return { id, responseIds: replies.map(({ body }) => body.data.responseId) };
  }

  /**
   * Loses rows and looks for them: once more if the service, which looks for lost rows every minute, has stored them
   * meanwhile.
   */
  async function afterLoss<T>(lose: () => Promise<unknown>, look: () => Promise<T>): Promise<T> {
    const timesRestored = () => service.logs().split('has lost stored rows').length;
    for (;;) {
      const before = timesRestored();
      await lose();
      const found = await look();
      if (timesRestored() === before) return found;
    }
  }

  function openStores() {
    const { redis: redisUrl = '', postgres: databaseUrl = '', clickhouse: url = '' } = runningStores(dataDir);
    return connectStores({ redisUrl, databaseUrl, clickhouseUrls: [url], cluster: undefined, shards: 2, log });
  }

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

  it('reports rows that the response store has lost, and stores them again', async () => {
    const { id, responseIds } = await survey(8);
    const [lost = '', other = ''] = responseIds;
    const lose = () =>
      clickhouse.command(
        `ALTER TABLE ${clickhouse.table('responses')} DELETE WHERE response_id IN ('${lost}', '${other}') SETTINGS mutations_sync = 2`,
      );
    const found = await afterLoss(lose, () => run());
    assert.equal(found.code, 1, found.said);
    for (const responseId of [lost, other])
      assert.match(found.said, new RegExp(`not stored: response ${responseId} of survey ${id}`));
    assert.match(found.said, new RegExp(`survey ${id}: the intake accepted 8, the response store holds 6`));
    const repaired = await run('--repair');
    assert.equal(repaired.code, 0, repaired.said);
    assert.equal((await run('--survey', id)).code, 0);
    assert.equal((await admin.get(`/responses/${lost}`)).id, lost);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 8));
  });

  it('stores all rows of a removed part again, once and with their answers', async () => {
    const { id } = await admin.create('/surveys', { title: 'A part is gone' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'What?' });
    await admin.post(`/surveys/${id}/publish`);
    const answers = [{ questionId: question.id, textValue: 'stored twice, shown once' }];
    const { body } = await admin.submit(id, { answers });
    const total = async () => (await admin.get(`/analytics/surveys/${id}`)).totalResponses;
    await eventually(async () => assert.equal(await total(), 1));
    const table = clickhouse.table('responses');
    // A part may be merged with others before it is dropped.
    const lose = () =>
      eventually(async () => {
        const parts = await clickhouse.select<[string]>(
          `SELECT DISTINCT _part FROM ${table} WHERE survey_id = '${id}'`,
        );
        for (const [part] of parts) await clickhouse.command(`ALTER TABLE ${table} DROP PART '${part}'`);
      });
    const [found, repaired] = await afterLoss(lose, async () => [await run(), await run('--repair')] as const);
    assert.equal(found.code, 1, found.said);
    assert.equal(repaired.code, 0, repaired.said);
    assert.match(repaired.said, /[1-9]\d* stored again/);
    const again = await run('--repair');
    assert.deepEqual([again.code, /stored again/.test(again.said)], [0, false], again.said);
    const { answers: shown } = await admin.get(`/responses/${body.data.responseId}`);
    assert.equal(shown[0]?.textValue, 'stored twice, shown once');
    assert.equal((await clickhouse.select(`SELECT 1 FROM ${table} FINAL WHERE survey_id = '${id}'`)).length, 1);
  });

  it('reports a part that ClickHouse has moved out of its table, as the log, metrics and health do', async () => {
    const findings = clickhouse.table('findings');
    await clickhouse.command(
      `INSERT INTO ${findings} (survey_id, edition, value, question_id, response_id) SELECT generateUUIDv4(), generateUUIDv4(), 'a', generateUUIDv4(), generateUUIDv4()`,
    );
    const [[path = ''] = []] = await clickhouse.select<[string]>(
      `SELECT path FROM system.parts WHERE active AND database = '${clickhouse.database}' AND table = 'findings'`,
    );
    truncateSync(join(path, 'data.bin'), 1);
    // It loads the parts as a start of ClickHouse does.
    await clickhouse.command(`DETACH TABLE ${findings} SYNC`);
    await clickhouse.command(`ATTACH TABLE ${findings}`);
    const degraded = async (): Promise<string[]> => {
      const reply: any = await (await fetch(`${service.origin}/health/ready`)).json();
      return reply.data.degraded;
    };
    await eventually(async () => assert.deepEqual(await degraded(), ['storedResponses']));
    await eventually(async () =>
      assert.match(
        service.logs(),
        /"table":"findings","part":"broken-on-start_\w+",.*damaged part that needs an operator/,
      ),
    );
    assert.match(await (await fetch(`${service.origin}/metrics`)).text(), /^clickhouse_damaged_parts_total\S* 1$/m);
    const found = await run();
    assert.equal(found.code, 1, found.said);
    assert.match(
      found.said,
      /0 differ\nClickHouse has moved a damaged part out of the table findings, .*broken-on-start/,
    );
    const name = /broken-on-start_\w+/.exec(found.said)?.[0];
    await clickhouse.command(`ALTER TABLE ${findings} DROP DETACHED PART '${name}' SETTINGS allow_drop_detached = 1`);
    await eventually(async () => assert.deepEqual(await degraded(), []));
    assert.equal((await run()).code, 0);
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

  it('reports what it cannot repair', async () => {
    const { id, responseIds } = await survey(2);
    const stores = await openStores();
    // Rows that have left the stream cannot be stored again.
    await eventually(async () => {
      for (const shard of stores.shards.all) {
        await stores.stream.trim(shard, `${Date.now() + 60_000}-0`);
        assert.equal((await stores.stream.readAfter(shard, '0-0', 1)).length, 0);
      }
    });
    await clickhouse.command(
      `ALTER TABLE ${clickhouse.table('responses')} DELETE WHERE response_id = '${responseIds[0]}' SETTINGS mutations_sync = 2`,
    );
    const { code, said } = await run('--repair');
    await stores.close();
    assert.equal(code, 1, said);
    assert.match(said, new RegExp(`survey ${id}: the intake accepted 2, the response store holds 1`));
  });

  it('leaves out what was stored more than a day ago, as it may be of a survey that was erased since', async () => {
    const { id, responseIds } = await survey(2);
    const stores = await openStores();
    const redis = await openPatientRedis(runningStores(dataDir).redis ?? '');
    for (const shard of stores.shards.all) {
      const newest = await stores.stream.newestId(shard);
      await eventually(async () => assert.equal(await stores.stream.acknowledged(shard), newest));
      await redis.zadd(`${shard.prefix}acked-at`, Date.now() - 25 * 3_600_000, newest);
    }
    redis.disconnect();
    await stores.close();
    const lose = () =>
      clickhouse.command(
        `ALTER TABLE ${clickhouse.table('responses')} DELETE WHERE response_id = '${responseIds[0]}' SETTINGS mutations_sync = 2`,
      );
    const { code, said } = await afterLoss(lose, () => run('--repair'));
    assert.equal(code, 1, said);
    assert.match(said, /shard \d: entries that were stored more than a day ago are left out/);
    assert.doesNotMatch(said, /stored again/);
    assert.match(said, new RegExp(`survey ${id}: the intake accepted 2, the response store holds 1`));
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
    const child = spawn(process.execPath, [main], {
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
