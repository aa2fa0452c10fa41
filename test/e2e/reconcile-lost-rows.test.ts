import assert from 'node:assert/strict';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { connectStores } from '../../src/reconcile/connect.ts';
import type { ClickHouse } from '../../src/stores/clickhouse/client.ts';
import { runningStores } from '../../src/stores/embedded/start-stores.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import type { RunningService } from '../support/service.ts';
import { useReconcile } from '../support/use-reconcile.ts';

describe('npm run reconcile after the response store has lost rows', () => {
  let service: RunningService;
  let admin: Client;
  let clickhouse: ClickHouse;
  const { dataDir, run, survey } = useReconcile((fixture) => ({ service, admin, clickhouse } = fixture));

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
    return connectStores({
      redisUrl,
      databaseUrl,
      clickhouseUrls: [url],
      cluster: undefined,
      shards: 2,
      log: createLog('silent'),
    });
  }

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
});
