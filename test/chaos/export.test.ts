import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { startEmbeddedStores, type EmbeddedStores } from '../../src/stores/embedded/stores.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { finished } from '../support/exports.ts';
import { startService, temporaryDataDir, type RunningService } from '../support/service.ts';

const responses = 400_000;

describe('exports of many responses', () => {
  const dataDir = temporaryDataDir();
  let stores: EmbeddedStores;
  let service: RunningService;
  let client: Client;
  let surveyId: string;
  const start = async () => {
    const { redisUrl = '', redisJobsUrl = '', databaseUrl = '', clickhouseUrl = '' } = stores;
    service = await startService({ dataDir, env: { REDIS_URL: redisUrl, REDIS_JOBS_URL: redisJobsUrl, DATABASE_URL: databaseUrl, CLICKHOUSE_URL: clickhouseUrl } });
    client = await adminClient(service);
  };
  before(async () => {
    stores = await startEmbeddedStores({ dataDir, need: { redis: true, redisJobs: true, postgres: true, clickhouse: true }, log: createLog('error'), env: process.env });
    await start();
    const survey = await client.create('/surveys', { title: 'Large' });
    surveyId = survey.id;
    await client.create(`/surveys/${surveyId}/questions`, { type: 'NPS', text: 'Recommend?' });
    await client.create(`/surveys/${surveyId}/questions`, { type: 'LONG_TEXT', text: 'Why?' });
    await client.post(`/surveys/${surveyId}/publish`);
    const clickhouse = createClickHouse({ urls: [stores.clickhouseUrl ?? ''], log: createLog('error') });
    await clickhouse.command(
      `INSERT INTO ${clickhouse.table('responses')} (survey_id, response_id, submitted_at, version, is_deleted, survey_version, is_complete, completed_at, duration_ms, language, numbers, texts, c0, c1)
       SELECT '${surveyId}', generateUUIDv4(), fromUnixTimestamp64Milli(toInt64(1767225600000 + intDiv(number, 3) * 7), 'UTC') AS at, 1, 0, 1, 1, at, 1000, 'en', [], [concat('because, ', toString(number))], 1 + rand() % 11, 1 FROM numbers(${responses})`,
      { timeoutMs: 120_000 },
    );
    await clickhouse.close();
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    await stores.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const ask = async (body: object): Promise<string> => (await client.expect(202, 'POST', `/exports/surveys/${surveyId}`, body)).exportId;
  const running = (exportId: string) =>
    eventually(async () => {
      const record = await client.get(`/exports/${exportId}`);
      assert.ok(record.status === 'PROCESSING' && record.progress > 0, JSON.stringify(record));
    }, 30_000, 20);
  const filesOf = (exportId: string) => (existsSync(join(dataDir, 'exports')) ? readdirSync(join(dataDir, 'exports')).filter((name) => name.startsWith(exportId)) : []);

  it('starts again by itself after kill -9 and makes the same file', async () => {
    const interrupted = await ask({ format: 'NDJSON' });
    await running(interrupted);
    assert.equal((await client.call('GET', `/exports/${interrupted}/download`)).body.details.reason, 'EXPORT_NOT_READY');
    await service.kill();
    await start();
    const record = await finished(client, interrupted, 120_000);
    assert.equal(record.status, 'COMPLETED', JSON.stringify(record));
    assert.equal(record.rowCount, responses);
    const undisturbed = await finished(client, await ask({ format: 'NDJSON' }), 120_000);
    assert.equal(record.sha256, undisturbed.sha256);
  });

  it('makes the same file of the same days twice', async () => {
    const first = await finished(client, await ask({ format: 'CSV', endDate: '2026-01-01' }), 120_000);
    const second = await finished(client, await ask({ format: 'CSV', endDate: '2026-01-01' }), 120_000);
    assert.equal(first.sha256, second.sha256);
    assert.ok(first.rowCount > 0);
  });

  it('ends work that nobody wants any more and leaves no file', async () => {
    const exportId = await ask({ format: 'NDJSON' });
    await running(exportId);
    assert.equal(filesOf(exportId).length, 1);
    await client.remove(`/exports/${exportId}`);
    assert.equal((await client.call('GET', `/exports/${exportId}`)).status, 404);
    await eventually(() => assert.deepEqual(filesOf(exportId), []), 30_000);
    const next = await finished(client, await ask({ format: 'PDF' }), 60_000);
    assert.equal(next.status, 'COMPLETED');
    assert.equal(next.rowCount, responses);
  });
});
