import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createRateLimits } from '../../src/http/routing/rate-limits.ts';
import { createLog } from '../../src/log.ts';
import { startEmbeddedStores } from '../../src/stores/embedded/start-stores.ts';
import { createProviderBudget, windowMs } from '../../src/stores/redis/ai/provider-budget.ts';
import { createIntakeRedis } from '../../src/stores/redis/clients.ts';
import { createIntake, type Intake } from '../../src/stores/redis/intake/intake.ts';
import { createShards, type Shard, surveyKey } from '../../src/stores/redis/intake/shards.ts';
import { createStream, type Stream } from '../../src/stores/redis/intake/stream.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { announceSurvey, appendix, noMetrics } from '../support/intake.ts';
import { createShiftedClock } from '../support/shifted-clock.ts';

const dataDir = temporaryDataDir();
const clock = createShiftedClock(dataDir);
const hourMs = 3_600_000;

describe('the clock of Redis set back', { skip: 'missing' in clock ? clock.missing : false }, () => {
  const shards = createShards(1);
  const shard = shards.all[0] as Shard;
  let stores: Awaited<ReturnType<typeof startEmbeddedStores>>;
  let redis: Redis;
  let intake: Intake;
  let stream: Stream;
  before(async () => {
    stores = await startEmbeddedStores({
      dataDir,
      needed: { redis: true, redisJobs: false, postgres: false, clickhouse: false },
      log: createLog('error'),
      env: { PATH: process.env['PATH'], ...('env' in clock && clock.env) },
    });
    redis = createIntakeRedis(stores.redisUrl ?? '', createLog('silent'));
    await redis.connect();
    intake = createIntake({ redis, shards, metrics: noMetrics });
    stream = createStream(redis);
  });
  after(async () => {
    redis?.disconnect();
    await stores?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const setClock = (seconds: number): void => {
    if ('set' in clock) clock.set(seconds);
  };
  const shownOffsetMs = async () => Number((await redis.time())[0]) * 1000 - Date.now();
  /** Does something before the clock is set back, and something after that. */
  async function aroundStep<T>(first: () => Promise<T>, then: (made: T) => Promise<void>): Promise<void> {
    setClock(0);
    await eventually(async () => assert.ok(Math.abs(await shownOffsetMs()) < 2000));
    const made = await first();
    setClock(-3600);
    await eventually(async () => assert.ok(Math.abs((await shownOffsetMs()) + hourMs) < 2000));
    await then(made);
  }

  it('leaves a shard to another process after one lease', () =>
    aroundStep(
      () => stream.lease(shard, 'dead', 500),
      async (lease) => {
        assert.ok(lease);
        await eventually(async () => assert.ok(await stream.lease(shard, 'other', 500)), 5000, 100);
      },
    ));

  it('recognises a repeat of what was accepted on the next day by its clock', async () => {
    setClock(0);
    const surveyId = await announceSurvey(intake);
    const daySeconds = 86_400;
    setClock(daySeconds);
    await eventually(async () => assert.ok((await shownOffsetMs()) > daySeconds * 500));
    const accepted = appendix(surveyId, { key: 'ahead', digest: 'body' });
    assert.equal((await intake.append(accepted)).code, 'ACCEPTED');
    setClock(0);
    await eventually(async () => assert.ok(Math.abs(await shownOffsetMs()) < 5000));
    const repeat = appendix(surveyId, { key: 'ahead', digest: 'body' });
    assert.equal((await intake.append(repeat)).code, 'REPLAY');
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 1 });
  });

  it('ends the windows of submission limits within a minute', () =>
    aroundStep(
      async () => {
        const surveyId = await announceSurvey(intake);
        const submission = { caller: 'someone', limit: 1 };
        assert.equal((await intake.append(appendix(surveyId, submission))).code, 'ACCEPTED');
        return { surveyId, submission };
      },
      async ({ surveyId, submission }) => {
        const { code, resetMs } = await intake.append(appendix(surveyId, submission));
        assert.equal(code, 'LIMITED');
        assert.ok(resetMs <= 60_000, `the window ends in ${resetMs} ms`);
      },
    ));

  it('ends a freeze within a minute, which its holder can release before', () =>
    aroundStep(
      async () => {
        const surveyId = await announceSurvey(intake);
        return { surveyId, freeze: await intake.freeze(surveyId, 10_000) };
      },
      async ({ surveyId, freeze }) => {
        assert.equal((await intake.append(appendix(surveyId))).code, 'FROZEN');
        const held = Number(await redis.hget(surveyKey(shard, surveyId), 'held'));
        const [seconds] = await redis.time();
        assert.ok(held - Number(seconds) * 1000 <= 61_000, `${held - Number(seconds) * 1000} ms are left`);
        assert.equal(await intake.isFrozen(surveyId), true);
        assert.equal(await intake.freeze(surveyId, 10_000), undefined);
        await freeze?.release();
        assert.equal((await intake.append(appendix(surveyId))).code, 'ACCEPTED');
      },
    ));

  it('ends the windows of general limits within a minute, also those that a process keeps in memory', () => {
    const limits = createRateLimits({
      redis,
      auth: 1,
      api: 1,
      processCount: 1,
      keyedHash: (_scope, text) => text,
      log: createLog('silent'),
    });
    return aroundStep(
      () => limits.consume('api', 'caller'),
      async () => {
        const { isAllowed, retryAfterSeconds } = await limits.consume('api', 'caller');
        assert.equal(isAllowed, false);
        assert.ok(retryAfterSeconds <= 60, `${retryAfterSeconds} s`);
        assert.ok((await limits.consume('api', 'caller')).retryAfterSeconds <= 60);
      },
    );
  });

  it('ends pauses and windows of AI providers after their own length', () => {
    const budget = createProviderBudget(redis);
    const limits = { requestsPerMinute: 1, tokensPerMinute: 1000 };
    const acquire = (account: string, id: string) => budget.acquire(account, { id, tokens: 10 }, limits);
    return aroundStep(
      async () => {
        assert.equal(await acquire('limited', 'one'), 0);
        await budget.pause('paused', 5000);
      },
      async () => {
        const waitMs = await acquire('limited', 'two');
        assert.ok(waitMs > 0 && waitMs <= windowMs, `${waitMs} ms`);
        const pauseMs = await acquire('paused', 'three');
        assert.ok(pauseMs > 0 && pauseMs <= 5000, `${pauseMs} ms`);
      },
    );
  });
});
