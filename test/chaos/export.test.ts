import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import { createExportJobs } from '../../src/pipelines/exports/jobs.ts';
import { newId } from '../../src/platform/ids.ts';
import { createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { type EmbeddedStores, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { createPostgres } from '../../src/stores/postgres/client.ts';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { finishedExport } from '../support/exports.ts';
import { openLive } from '../support/live-client.ts';
import { openPacingProxy, type PacingProxy } from '../support/pacing-proxy.ts';
import { type RunningService, startService } from '../support/service.ts';
import { openStoresOf } from '../support/service-stores.ts';

const responses = 160_000;
/** A file of all responses then takes some ten seconds, in which it shows progress once a second. */
const slowBytesPerSecond = 1_000_000;

describe('exports of many responses', () => {
  const dataDir = temporaryDataDir();
  let stores: EmbeddedStores;
  let clickhouseProxy: PacingProxy;
  let service: RunningService;
  let client: Client;
  let surveyId: string;
  const start = async () => {
    const { redisUrl = '', redisJobsUrl = '', databaseUrl = '' } = stores;
    service = await startService({
      dataDir,
      env: {
        REDIS_URL: redisUrl,
        REDIS_JOBS_URL: redisJobsUrl,
        DATABASE_URL: databaseUrl,
        CLICKHOUSE_URL: clickhouseProxy.url,
      },
    });
    client = await adminClient(service);
  };
  before(async () => {
    stores = await startEmbeddedStores({
      dataDir,
      needed: { redis: true, redisJobs: true, postgres: true, clickhouse: true },
      log: createLog('error'),
      env: process.env,
    });
    clickhouseProxy = await openPacingProxy(stores.clickhouseUrl ?? '');
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
    const code = await service?.stop();
    await clickhouseProxy?.close();
    await stores?.stop();
    rmSync(dataDir, { recursive: true, force: true });
    assert.equal(code, 0);
  });

  const ask = async (body: object): Promise<string> =>
    (await client.expect(202, 'POST', `/exports/surveys/${surveyId}`, body)).exportId;
  const running = (exportId: string) =>
    eventually(
      async () => {
        const record = await client.get(`/exports/${exportId}`);
        assert.ok(record.status === 'PROCESSING' && record.progress > 0, JSON.stringify(record));
      },
      30_000,
      20,
    );
  /** So that work under way is not over before the test has seen it. */
  const whileSlow = async <T>(look: () => Promise<T>): Promise<T> => {
    clickhouseProxy.slowDown(slowBytesPerSecond);
    try {
      return await look();
    } finally {
      clickhouseProxy.speedUp();
    }
  };
  const day = 86_400_000;
  /** Removes expired files on these stores as if `ms` milliseconds had passed. */
  const tidyIn = async (ms: number): Promise<void> => {
    const opened = await openStoresOf({ dataDir }, stores);
    const unused = () => {
      throw new Error('no job is added or run here');
    };
    const jobs = createExportJobs({
      workers: { add: unused, consume: unused },
      exports: opened.exports,
      files: opened.exportFiles,
      caughtUp: unused,
      makeFile: unused,
      publishProgress: () => undefined,
      now: () => Date.now() + ms,
      metrics: createMetrics(),
    });
    await jobs.removeExpired();
    await opened.close();
  };
  const whole = new Map<string, Promise<any>>();
  /** The record of a file of everything that nothing interrupted; made once, as nothing is submitted. */
  const undisturbed = (format: 'CSV' | 'NDJSON'): Promise<any> => {
    const made = whole.get(format) ?? ask({ format }).then((exportId) => finishedExport(client, exportId, 120_000));
    whole.set(format, made);
    return made;
  };
  /** Processes that write a file. */
  const writers = () => childrenOf(service.pid, 'exports/child-process');
  const filesOf = (exportId: string) =>
    existsSync(join(dataDir, 'exports'))
      ? readdirSync(join(dataDir, 'exports')).filter((name) => name.startsWith(exportId))
      : [];

  it('restart by themselves after kill -9, with the same file', async () => {
    const interrupted = await whileSlow(async () => {
      const exportId = await ask({ format: 'NDJSON' });
      await running(exportId);
      const { body } = await client.call('GET', `/exports/${exportId}/download`);
      assert.equal(body.details.reason, 'EXPORT_NOT_READY');
      await service.kill();
      return exportId;
    });
    await start();
    const record = await finishedExport(client, interrupted, 120_000);
    assert.equal(record.status, 'COMPLETED', JSON.stringify(record));
    assert.equal(record.rowCount, responses);
    assert.equal(record.sha256, (await undisturbed('NDJSON')).sha256);
  });

  it('give the same file after the child process or ClickHouse was killed', async () => {
    const { sha256 } = await undisturbed('CSV');
    const first = await whileSlow(async () => {
      const exportId = await ask({ format: 'CSV' });
      await eventually(() => assert.equal(writers().length, 1), 30_000, 10);
      for (const pid of writers()) process.kill(pid, 'SIGKILL');
      return exportId;
    });
    const afterWriter = await finishedExport(client, first, 120_000);
    assert.deepEqual([afterWriter.status, afterWriter.sha256], ['COMPLETED', sha256]);
    const second = await whileSlow(async () => {
      const exportId = await ask({ format: 'NDJSON' });
      await running(exportId);
      for (const pid of childrenOf(process.pid, 'clickhouse-server')) process.kill(pid, 'SIGKILL');
      return exportId;
    });
    const afterDatabase = await finishedExport(client, second, 180_000);
    assert.equal(afterDatabase.status, 'COMPLETED', JSON.stringify(afterDatabase));
    assert.equal(afterDatabase.sha256, (await undisturbed('NDJSON')).sha256);
  });

  it('give the same file again for the same days', async () => {
    const first = await finishedExport(client, await ask({ format: 'CSV', endDate: '2026-01-01' }), 120_000);
    const second = await finishedExport(client, await ask({ format: 'CSV', endDate: '2026-01-01' }), 120_000);
    assert.equal(first.sha256, second.sha256);
    assert.ok(first.rowCount > 0);
  });

  it('report progress to live clients', async () => {
    const live = await openLive(service, client.token ?? '');
    live.send({ type: 'subscribe', surveyId, channels: ['jobs'] });
    await live.next('subscribed');
    const exportId = await whileSlow(async () => {
      const asked = await ask({ format: 'NDJSON' });
      await live.next('job', ({ id, progress }) => id === asked && progress > 0);
      return asked;
    });
    await live.next('job', ({ id, status }) => id === exportId && status === 'COMPLETED', 120_000);
    live.socket.terminate();
    // A late event of an earlier file may arrive now.
    const told = live.messages.filter(({ type, id }) => type === 'job' && id === exportId);
    assert.ok(told.every(({ kind, surveyId: of }) => kind === 'export' && of === surveyId));
    assert.deepEqual([told[0]?.['status'], told[0]?.['progress'], told.at(-1)?.['progress']], ['PROCESSING', 0, 1]);
    const steps = told.map(({ progress }) => Number(progress));
    assert.ok(
      steps.some((progress) => progress > 0 && progress < 1),
      JSON.stringify(steps),
    );
    assert.deepEqual(
      steps,
      steps.toSorted((a, b) => a - b),
    );
  });

  it('fail with a reason when the disk is full, and leave no partial file', async (test) => {
    const folder = join(dataDir, 'exports');
    mkdirSync(folder, { recursive: true });
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { encoding: 'utf8' });
    if (mounted.status !== 0)
      return test.skip(`a small disk cannot be mounted here: ${mounted.error?.message ?? mounted.stderr.trim()}`);
    try {
      for (const format of ['CSV', 'NDJSON', 'EXCEL']) {
        const exportId = await ask({ format });
        const record = await finishedExport(client, exportId, 60_000);
        assert.equal(record.status, 'FAILED', format);
        assert.match(record.error, /no room on the disk/);
        assert.deepEqual([record.fileSize, record.sha256, record.downloadUrl], [null, null, null]);
        const reply = await client.call('GET', `/exports/${exportId}/download`);
        assert.deepEqual([reply.status, reply.body.details.reason], [409, 'EXPORT_NOT_READY']);
        assert.deepEqual(readdirSync(folder), []);
      }
    } finally {
      assert.equal(spawnSync('umount', [folder]).status, 0);
    }
    assert.equal((await finishedExport(client, await ask({ format: 'CSV' }), 60_000)).status, 'COMPLETED');
  });

  it('are removed after seven days, not before', async () => {
    const exportId = await ask({ format: 'PDF' });
    await finishedExport(client, exportId);
    await tidyIn(7 * day - 60_000);
    assert.equal((await client.get(`/exports/${exportId}`)).status, 'COMPLETED');
    assert.deepEqual(filesOf(exportId), [exportId]);
    await tidyIn(7 * day + 60_000);
    const record = await client.get(`/exports/${exportId}`);
    assert.deepEqual([record.status, record.downloadUrl], ['EXPIRED', null]);
    assert.deepEqual(filesOf(exportId), []);
    assert.equal((await client.call('GET', `/exports/${exportId}/download`)).status, 404);
  });

  it('show the themes of open answers in a report once they are analysed', {
    skip: spawnSync('pdftotext', ['-v']).error ? 'pdftotext is not installed' : false,
  }, async () => {
    const sql = createPostgres(stores.databaseUrl ?? '', { log: createLog('error'), poolSize: 1 });
    const { questions } = await client.get(`/surveys/${surveyId}`);
    const [owner] = await sql`SELECT id FROM users LIMIT 1`;
    const topic = 'themes/v1/test/model/masked';
    const jobId = newId();
    await sql`INSERT INTO ai_jobs (id, owner_id, survey_id, topic, request, status) VALUES (${jobId}, ${owner?.['id']}, ${surveyId}, ${topic}, ${sql.json({ analysisType: 'themes', provider: 'test' })}, 'COMPLETED')`;
    for (const names of [['Breakfast', 'Noise'], ['Breakfast']])
      await sql`INSERT INTO ai_findings (survey_id, topic, response_id, question_id, digest, finding, seen_by)
        VALUES (${surveyId}, ${topic}, ${newId()}, ${questions[1].id}, ${Buffer.alloc(32)}, ${sql.json({ themes: names, sentiment: 'positive' })}, ${jobId})`;
    await sql.end({ timeout: 2 });
    const textOf = async (body: object): Promise<string> => {
      const { exportId } = await finishedExport(client, await ask({ format: 'PDF', ...body }));
      return spawnSync('pdftotext', ['-layout', join(dataDir, 'exports', exportId), '-'], { encoding: 'utf8' }).stdout;
    };
    const whole = await textOf({});
    assert.match(whole, /Themes of the open answers/);
    assert.match(whole, /Responses analysed: 2\n/);
    assert.match(whole, /Breakfast +2 +\(100\.0.%\)[\s\S]*Noise +1 +\(50\.0.%\)/);
    // The analysis covers all responses and open questions, so a report on some of them must not show it.
    for (const selection of [{ endDate: '2026-01-01' }, { columns: [questions[1].id] }])
      assert.doesNotMatch(await textOf(selection), /Themes/);
  });

  it('stop when they are removed, and leave no file', async () => {
    const exportId = await whileSlow(async () => {
      const asked = await ask({ format: 'NDJSON' });
      await running(asked);
      assert.equal(filesOf(asked).length, 1);
      await client.remove(`/exports/${asked}`);
      return asked;
    });
    assert.equal((await client.call('GET', `/exports/${exportId}`)).status, 404);
    await eventually(() => assert.deepEqual(filesOf(exportId), []), 30_000);
    const next = await finishedExport(client, await ask({ format: 'PDF' }), 60_000);
    assert.equal(next.status, 'COMPLETED');
    assert.equal(next.rowCount, responses);
  });

  it('leave their place to the next one when they are removed, though their process does nothing more', async () => {
    const [exportId, writer] = await whileSlow(async () => {
      const asked = await ask({ format: 'NDJSON' });
      await running(asked);
      const [pid] = writers();
      assert.ok(pid, 'its file is being written');
      process.kill(pid, 'SIGSTOP');
      return [asked, pid] as const;
    });
    try {
      await client.remove(`/exports/${exportId}`);
      const next = await finishedExport(client, await ask({ format: 'PDF' }), 60_000);
      assert.equal(next.status, 'COMPLETED');
      assert.deepEqual([writers().includes(writer), filesOf(exportId)], [false, []]);
    } finally {
      // Without effect on a process that has ended.
      spawnSync('kill', ['-CONT', String(writer)]);
    }
  });
});

/** Processes that this one has started, by a word of their command lines. */
function childrenOf(pid: number, word: string): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=,args=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((line) => line.includes(word))
    .map((line) => Number.parseInt(line.trim(), 10));
}
