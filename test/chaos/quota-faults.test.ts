import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../src/log.ts';
import { type EmbeddedStores, startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { openPatientRedis } from '../support/patient-redis.ts';
import { type RunningService, startService } from '../support/service.ts';
import { openSwitchableProxy, type SwitchableProxy } from '../support/switchable-proxy.ts';
import { assertWithin } from '../support/time-bars.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

/** One process takes submissions and stores them; another one counts, with a ClickHouse of its own that can be away. */
describe('quotas by cell beside faults', () => {
  const dataDir = temporaryDataDir();
  const log = createLog('silent');
  let stores: EmbeddedStores;
  let front: RunningService;
  let jobs: RunningService;
  let clickhouse: SwitchableProxy;
  let receiver: Receiver;
  let admin: Client;

  const start = (roles: string, env: Record<string, string> = {}): Promise<RunningService> =>
    startService({
      dataDir,
      env: {
        REDIS_URL: stores.redisUrl ?? '',
        REDIS_JOBS_URL: stores.redisJobsUrl ?? '',
        DATABASE_URL: stores.databaseUrl ?? '',
        CLICKHOUSE_URL: stores.clickhouseUrl ?? '',
        ROLES: roles,
        WEBHOOK_ALLOW_PRIVATE: 'true',
        ACCESS_TOKEN_TTL_SECONDS: '3600',
        ...env,
      },
    });
  const startJobs = async (): Promise<void> => {
    jobs = await start('jobs', { METRICS_PORT: '0', CLICKHOUSE_URL: clickhouse.url });
  };
  before(async () => {
    const needed = { redis: true, redisJobs: true, postgres: true, clickhouse: true };
    stores = await startEmbeddedStores({ dataDir, needed, log, env: process.env });
    clickhouse = await openSwitchableProxy(stores.clickhouseUrl ?? '');
    await clickhouse.forward();
    receiver = await startReceiver();
    front = await start('http,ingest');
    await startJobs();
    admin = await adminClient(front);
  });
  after(async () => {
    for (const service of [front, jobs]) await service?.stop();
    await clickhouse?.close();
    await receiver?.close();
    await stores?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const survey = async () => {
    const { id } = await admin.create('/surveys', { title: 'Panel' });
    const region = await admin.create(`/surveys/${id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Region',
      options: ['North', 'South'].map((text) => ({ text })),
    });
    await admin.post(`/surveys/${id}/publish`);
    const from = (option: number) => ({
      questionId: region.id,
      operator: 'isAnyOf',
      optionIds: [region.options[option].id],
    });
    /** Number of accepted responses by region; those over quota apart. */
    const accepted = { regions: [0, 0], overQuota: 0 };
    const submit = async (option: number, more: object = {}) => {
      const answers = [{ questionId: region.id, optionId: region.options[option].id }];
      const reply = await admin.submit(id, { answers, ...more });
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      if (reply.body.data.outcome === 'OVER_QUOTA') accepted.overQuota += 1;
      else accepted.regions[option] = (accepted.regions[option] ?? 0) + 1;
      return reply.body.data;
    };
    const quota = (name: string, limit: number, more: object = {}) =>
      admin.create(`/surveys/${id}/quotas`, { name, limit, where: from(0), ...more });
    const change = (quotaId: string, body: object) => admin.put(`/surveys/${id}/quotas/${quotaId}`, body);
    const counts = (withinMs = 30_000) =>
      eventually(async () => {
        const quotas = await admin.get(`/surveys/${id}/quotas`);
        assert.ok(
          quotas.every((one: any) => !one.isCounting),
          'still counting',
        );
        return Object.fromEntries(quotas.map((one: any) => [one.name, one.count]));
      }, withinMs);
    return { id: String(id), from, submit, quota, change, counts, accepted };
  };

  /** Empties the intake once so many responses are stored. */
  const emptyRedis = async (surveyId: string, responses: number): Promise<void> => {
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, responses),
    );
    const redis = await openPatientRedis(stores.redisUrl ?? '');
    await redis.flushall();
    redis.disconnect();
  };

  it('are counted exactly although the process that counts is killed again and again', async () => {
    const { id, from, submit, quota, change, counts, accepted } = await survey();
    for (let n = 0; n < 300; n += 1) await submit(n % 2);
    const { id: quotaId } = await quota('Region', 100_000);
    const load = { isOver: false };
    const submitter = (async () => {
      for (let n = 0; !load.isOver; n += 1) await submit(n % 3 === 0 ? 0 : 1);
    })();
    try {
      for (let kill = 0; kill < 4; kill += 1) {
        await change(quotaId, { where: from(kill % 2 === 0 ? 1 : 0) });
        await new Promise((resolve) => setTimeout(resolve, 300 * kill));
        await jobs.kill();
        await startJobs();
      }
    } finally {
      load.isOver = true;
      await submitter;
    }
    assert.deepEqual(await counts(), { Region: accepted.regions[0] });
    // Edited while it is counted, without a pause.
    const second = { isOver: false };
    const more = (async () => {
      for (let n = 0; !second.isOver; n += 1) await submit(n % 2);
    })();
    for (let edit = 0; edit < 12; edit += 1) {
      await change(quotaId, { where: from(edit % 2) });
      await new Promise((resolve) => setTimeout(resolve, 40 * edit));
    }
    second.isOver = true;
    await more;
    assert.deepEqual(await counts(), { Region: accepted.regions[1] });
    const total = accepted.regions.reduce((sum, count) => sum + count, 0);
    assert.ok(total > 300);
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, total));
  });

  it('keep taking submissions while ClickHouse is too slow to be counted, and are exact after that', async () => {
    const { submit, quota, counts, accepted } = await survey();
    for (let n = 0; n < 5; n += 1) await submit(0);
    await clickhouse.hang();
    await quota('North', 8);
    const until = performance.now() + 14_000;
    let [slowestMs, waited, calls] = [0, 0, 0];
    while (performance.now() < until) {
      const startedAt = performance.now();
      await submit(1);
      const tookMs = performance.now() - startedAt;
      calls += 1;
      slowestMs = Math.max(slowestMs, tookMs);
      if (tookMs > 1000) waited += tookMs;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assertWithin(11_000, slowestMs, `the slowest of ${calls} calls`);
    assertWithin(12_000, waited, 'all waiting');
    await submit(0);
    await clickhouse.forward();
    assert.deepEqual(await counts(60_000), { North: 6 });
    for (let n = 0; n < 4; n += 1) await submit(0);
    assert.deepEqual([await counts(), accepted], [{ North: 8 }, { regions: [8, accepted.regions[1]], overQuota: 2 }]);
  });

  it('are announced once for each filling, however they become full', async () => {
    const { id, submit, quota, change, counts } = await survey();
    await admin.create('/webhooks', { url: receiver.url, events: ['quota.reached'], surveyId: id });
    for (let n = 0; n < 3; n += 1) await submit(0);
    const reached = () =>
      receiver.received
        .map(({ body }) => JSON.parse(body))
        .filter(({ event, data }) => event === 'quota.reached' && data.surveyId === id)
        .map(({ data }) => [data.quotaName, data.quota, data.responseCount]);
    const { id: first } = await quota('By counting', 2);
    const { id: second } = await quota('By the limit', 9);
    assert.deepEqual(await counts(), { 'By counting': 3, 'By the limit': 3 });
    await eventually(() => assert.deepEqual(reached(), [['By counting', 2, 3]]));
    await change(second, { limit: 1 });
    await eventually(() => assert.equal(reached().length, 2));
    await change(second, { name: 'Still full' });
    await change(first, { limit: 4 });
    await change(second, { limit: 4 });
    // Two quotas of the same condition: both take the seat, and both are filled.
    assert.equal((await submit(0)).outcome, 'COMPLETED');
    await eventually(() => assert.equal(reached().length, 4));
    assert.equal((await submit(0)).outcome, 'OVER_QUOTA');
    await change(first, { limit: 5 });
    assert.deepEqual((await submit(0)).quota.name, 'Still full', 'the other one is full');
    assert.deepEqual(await counts(), { 'By counting': 4, 'Still full': 4 });
    assert.deepEqual(reached().sort(), [
      ['By counting', 2, 3],
      ['By counting', 4, 4],
      ['By the limit', 1, 3],
      ['Still full', 4, 4],
    ]);
  });

  it('give seats back when respondents are erased', async () => {
    const { id, submit, quota, counts } = await survey();
    await quota('North', 4);
    await counts();
    for (const respondent of ['a', 'b', 'b', 'c']) await submit(0, { respondent: `${respondent}-${id}` });
    assert.equal((await submit(0)).outcome, 'OVER_QUOTA');
    const erased = await admin.call('DELETE', `/surveys/${id}/respondents/b-${id}`);
    assert.equal(erased.status, 200, JSON.stringify(erased.body));
    await eventually(async () => assert.deepEqual(await counts(), { North: 2 }));
    assert.deepEqual([(await submit(0)).outcome, (await submit(0)).outcome], ['COMPLETED', 'COMPLETED']);
    assert.equal((await submit(0)).outcome, 'OVER_QUOTA');
  });

  it('move a response that was saved in part from cell to cell although Redis was emptied in between', async () => {
    const { id, from, submit, quota, counts } = await survey();
    await quota('North', 2, { counts: 'STARTED' });
    await quota('South', 2, { counts: 'STARTED', where: from(1) });
    await counts();
    const saved = await submit(0, { isComplete: false });
    await submit(0, { isComplete: false });
    assert.equal((await submit(0)).outcome, 'OVER_QUOTA');
    assert.deepEqual(await counts(), { North: 2, South: 0 });
    await emptyRedis(id, 3);
    const { responseId, resumeToken } = saved;
    const moved = await submit(1, { responseId, resumeToken });
    assert.deepEqual([moved.responseId, moved.outcome], [responseId, 'COMPLETED']);
    assert.deepEqual(await counts(), { North: 1, South: 1 });
    assert.deepEqual([(await submit(0)).outcome, (await submit(0)).outcome], ['COMPLETED', 'OVER_QUOTA']);
    assert.deepEqual(await counts(), { North: 2, South: 1 });
  });

  it('are never exceeded after Redis was emptied: nothing is decided until seats are counted again', async () => {
    const { id, submit, quota, counts, accepted } = await survey();
    await quota('North', 5);
    await counts();
    for (let n = 0; n < 6; n += 1) await submit(0);
    assert.deepEqual(accepted, { regions: [5, 0], overQuota: 1 });
    await emptyRedis(id, 6);
    await Promise.all(Array.from({ length: 20 }, (_, n) => submit(n % 2)));
    assert.deepEqual(await counts(), { North: 5 });
    assert.deepEqual(accepted, { regions: [5, 10], overQuota: 11 });
  });
});
