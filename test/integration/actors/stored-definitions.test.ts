import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createCore } from '../../../src/actors/core.ts';
import { createPostgresFallback } from '../../../src/actors/postgres-fallback.ts';
import { createSubmissions } from '../../../src/actors/submissions/submit.ts';
import { createSurveyActors } from '../../../src/actors/survey-actors.ts';
import { compressSurvey } from '../../../src/actors/survey-cache.ts';
import { createCurrentSurvey } from '../../../src/actors/survey-lookup.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import type { Problem } from '../../../src/errors.ts';
import { publicSurveyRoutes } from '../../../src/http/routes/public.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics, formatMetrics } from '../../../src/metrics.ts';
import { createDefinitionBackfill } from '../../../src/pipelines/maintenance/definition-backfill.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import { createSecrets } from '../../../src/platform/secrets.ts';
import type { Settings } from '../../../src/settings/settings.ts';
import { createPostgres, type Sql } from '../../../src/stores/postgres/client.ts';
import { createSurveyStore } from '../../../src/stores/postgres/surveys.ts';
import { createTranslationStore } from '../../../src/stores/postgres/translations.ts';
import { createDefinitionStore } from '../../../src/stores/redis/intake/definitions.ts';
import { createIntake } from '../../../src/stores/redis/intake/intake.ts';
import { createShards, definitionBytesKey, definitionKey } from '../../../src/stores/redis/intake/shards.ts';
import { openStores } from '../../../src/stores/stores.ts';
import { emptySubmission } from '../../support/bare-submissions.ts';
import { eventually } from '../../support/eventually.ts';
import { startLoopback } from '../../support/loopback-server.ts';
import { type OwnedDatabase, ownedDatabase } from '../../support/owned-database.ts';
import { openPatientRedis } from '../../support/patient-redis.ts';
import { startProxy, type Proxy as TcpProxy } from '../../support/proxy.ts';
import { blankSurvey, withQuestion } from '../../support/questions.ts';
import { waitForRedis } from '../../support/service-stores.ts';
import { sharedStores } from '../../support/stores.ts';
import { assertWithin } from '../../support/time-bars.ts';

const log = createLog('silent');
const shards = createShards(2);
const metrics = { committed: () => undefined, submitted: () => undefined };
/** Maximum bytes of all definitions. */
const roomBytes = 1024 * 1024;

describe('definitions of open surveys in Redis', () => {
  let redis: Redis;
  let database: OwnedDatabase;
  let proxy: TcpProxy;
  let throughProxy: Sql;
  let here: ReturnType<typeof process>;
  const others: { stop(): void }[] = [];

  before(async () => {
    redis = await openPatientRedis(new URL('/10', (await sharedStores()).redisUrl).href);
    await redis.flushdb();
    database = await ownedDatabase();
    const url = new URL(database.url);
    proxy = await startProxy({ host: url.hostname, port: Number(url.port) });
    url.host = `127.0.0.1:${proxy.port}`;
    throughProxy = createPostgres(url.href, { log });
    here = process(database.sql);
  });
  afterEach(() => {
    proxy.set('pass');
    for (const other of others.splice(0)) other.stop();
  });
  after(async () => {
    here.stop();
    await throughProxy.end({ timeout: 1 });
    proxy.stop();
    await redis.flushdb();
    await redis.quit();
    await database.drop();
  });

  /** The survey actors of a process, and its submissions. */
  function process(sql: Sql, { keeps = true } = {}) {
    const surveys = createSurveyStore(sql);
    const intake = createIntake({ redis, shards, metrics });
    const definitions = createDefinitionStore({ redis, shards, maxBytes: () => roomBytes });
    // Only the process behind the proxy may give PostgreSQL up soon: it may be slow to answer the others.
    const waitMs = sql === throughProxy ? 300 : 60_000;
    const postgresFallback = createPostgresFallback({ log, waitMs, retryMs: 300 });
    const actors = createSurveyActors({
      surveys,
      intake,
      postgresFallback,
      ...(keeps && { definitions }),
      log,
      now: Date.now,
      audit: { record: async () => undefined },
      countResponses: async () => ({ total: 0, complete: 0 }),
      broadcast: () => undefined,
      metrics: { surveysCached: () => undefined },
    });
    const never = () => Promise.reject(new Error('not to be asked'));
    const send = createSubmissions({
      actors,
      intake,
      uploads: { reserve: never, release: never },
      findStored: never,
      restore: never,
      findRecords: never,
      submitLimit: 1000,
      pressure: () => undefined,
      quotaCounts: async () => new Map(),
      formerVersions: { forSubmission: async () => 'gone', ofResponse: async (present) => present },
      mayHaveLegacyKeys: () => false,
      now: Date.now,
      newId: () => newResponseId(),
      onBackgroundError: () => undefined,
      secrets: { resumeToken: () => 't', isResumeToken: () => true, keyedHash: (_surveyId, address) => address },
    });
    const currentSurvey = createCurrentSurvey({ actors, surveys, intake, postgresFallback });
    const routes = publicSurveyRoutes({
      currentSurvey,
      postgresFallback,
      translations: createTranslationStore(sql),
      invitations: { find: async () => undefined, read: () => assert.fail() },
      quotaCounts: async () => new Map(),
      now: Date.now,
    });
    return { surveys, intake, definitions, actors, currentSurvey, routes, submit: submitTo(send), stop: actors.stop };
  }

  /** Submits nothing to a survey; gives what became of it: `accepted`, `unknown survey` or why it was refused. */
  const submitTo =
    (send: ReturnType<typeof createSubmissions>) =>
    async (surveyId: string): Promise<string> => {
      const nothing = { problem: undefined, idempotencyKey: undefined, surveyToken: undefined };
      const call = { surveyId, submission: emptySubmission, issues: [], body: {}, address: 'here', ...nothing };
      const refused = (error: unknown) => ({ kind: 'refused' as const, problem: error as Problem });
      const outcome = await send(call).catch(refused);
      if (outcome.kind !== 'refused') return outcome.kind;
      const { code, details } = outcome.problem;
      return details && 'reason' in details ? String(details.reason) : code;
    };

  /** A process for one test. */
  const another = (...given: Parameters<typeof process>) => {
    const other = process(...given);
    others.push(other);
    return other;
  };

  /** A process that has just started and cannot reach PostgreSQL. */
  const starting = (mode: 'refuse' | 'freeze' = 'refuse') => {
    proxy.set(mode);
    return another(throughProxy);
  };

  async function published(fields: Partial<SurveyWithQuestions> = {}, by = here): Promise<SurveyWithQuestions> {
    const id = newId();
    const blank = { ...blankSurvey(), id, ownerId: database.ownerId, status: 'DRAFT' as const };
    const draft = withQuestion(blank, { type: 'NPS', text: 'Would you?' }).survey;
    const questions = draft.questions.map((question) => ({ ...question, id: newId(), surveyId: id }));
    const survey = { ...draft, questions, ...fields };
    await by.surveys.create(survey);
    await by.actors.add(survey);
    return by.actors.setStatus(id, 'ACTIVE', 'publish');
  }

  const bytesOf = (survey: SurveyWithQuestions) => Buffer.from(compressSurvey(survey), 'latin1');
  const keyOf = (id: string) => definitionKey(shards.of(id), id);
  const bytesKept = async () => {
    const texts = await redis.mget(shards.all.map(definitionBytesKey));
    return texts.reduce((sum, text) => sum + Number(text ?? 0), 0);
  };

  for (const mode of ['refuse', 'freeze'] as const)
    it(`let a process that starts without PostgreSQL take submissions (${mode})`, async () => {
      const { id } = await published();
      const other = starting(mode);
      const startedAt = performance.now();
      assert.equal(await other.submit(id), 'accepted');
      assertWithin(2500, performance.now() - startedAt, 'the first submission, which waits for PostgreSQL,');
      assert.deepEqual(await here.intake.counts(id), { total: 1, completed: 1 });
      const second = await published();
      const secondAt = performance.now();
      assert.equal(await other.submit(second.id), 'accepted');
      assertWithin(250, performance.now() - secondAt, 'one while PostgreSQL is known to be away');
      assert.deepEqual(other.actors.peek(id)?.survey, here.actors.peek(id)?.survey);
    });

  for (const [how, change] of [
    ['closed', (id: string) => here.actors.setStatus(id, 'CLOSED', 'update')],
    ['paused', (id: string) => here.actors.setStatus(id, 'PAUSED', 'update')],
    ['deleted', (id: string) => here.surveys.remove(id).then(() => here.actors.remove(id))],
  ] as const)
    it(`are removed when a survey is ${how}, and no process without PostgreSQL accepts submissions for it`, async () => {
      const { id } = await published();
      const knowing = starting();
      assert.equal(await knowing.submit(id), 'accepted');
      await change(id);
      assert.equal(await redis.exists(keyOf(id)), 0);
      assert.equal(await knowing.submit(id), 'SERVICE_UNAVAILABLE');
      assert.equal(await starting().submit(id), 'SERVICE_UNAVAILABLE');
      assert.equal((await here.intake.counts(id))?.total, 1);
    });

  it('are not used after a process that stores none has closed the survey', async () => {
    const { id } = await published();
    const former = another(database.sql, { keeps: false });
    await former.actors.setStatus(id, 'CLOSED', 'update');
    assert.equal(await redis.exists(keyOf(id)), 1);
    assert.equal(await starting().submit(id), 'SERVICE_UNAVAILABLE');
  });

  it('are of the newest revision, which replaces an older one in caches', async () => {
    const { id } = await published();
    const other = starting();
    assert.equal(await other.submit(id), 'accepted');
    const { revision } = await here.actors.edit(id, (current) => ({
      survey: { ...current, title: 'Newer', responseQuota: 2 },
    }));
    assert.equal(await other.submit(id), 'accepted');
    const taken = other.actors.peek(id)?.survey;
    assert.deepEqual([taken?.title, taken?.revision], ['Newer', revision]);
    assert.equal(await other.submit(id), 'QUOTA_REACHED');
  });

  it('are never replaced or recreated by older ones in a race', async () => {
    const first = await published();
    const { id } = first;
    const packed = (survey: SurveyWithQuestions) => ({ revision: survey.revision, compressed: bytesOf(survey) });
    let latest = first;
    for (let n = 0; n < 10; n += 1) {
      const former = latest;
      const [changed] = await Promise.all([
        here.actors.edit(id, (current) => ({ survey: { ...current, title: `Title ${n}` } })),
        ...Array.from({ length: 5 }, () => here.definitions.save(id, packed(former))),
      ]);
      latest = changed;
      assert.equal((await here.definitions.find(id))?.revision, latest.revision);
      assert.equal(await here.definitions.save(id, packed(former)), 'unchanged');
    }
    await here.definitions.remove(id, first.revision);
    assert.equal((await here.definitions.find(id))?.revision, latest.revision, 'news of a former end remove nothing');
    await here.actors.setStatus(id, 'CLOSED', 'update');
    assert.equal(await here.definitions.save(id, packed(latest)), 'unchanged');
    assert.equal(await redis.exists(keyOf(id)), 0);
  });

  it('are compared with PostgreSQL as soon as it is reachable again', async () => {
    const { id } = await published();
    const other = starting('freeze');
    assert.equal(await other.submit(id), 'accepted');
    // No notification announces it.
    await database.sql`UPDATE surveys SET title = 'As in PostgreSQL' WHERE id = ${id}`;
    assert.notEqual(other.actors.peek(id)?.survey.title, 'As in PostgreSQL');
    proxy.set('pass');
    await eventually(() => assert.equal(other.actors.peek(id)?.survey.title, 'As in PostgreSQL'), 15_000);
    assert.equal(await other.submit(id), 'accepted');
  });

  it('do not exist for unknown surveys, which get 503 until PostgreSQL is reachable', async () => {
    const unknown = newId();
    const other = starting();
    assert.equal(await other.submit(unknown), 'SERVICE_UNAVAILABLE');
    assert.equal(await other.submit(unknown), 'SERVICE_UNAVAILABLE');
    proxy.set('pass');
    await eventually(async () => assert.equal(await other.submit(unknown), 'unknown survey'), 15_000);
  });

  it('show respondents the survey, in its own language, as long as it is open', async () => {
    const { id } = await published();
    const secret = await published({ visibility: 'PRIVATE', accessToken: 'invited' });
    const before = await startLoopback({ api: here.routes });
    const after = await startLoopback({ api: starting().routes });
    try {
      const get = async (origin: string, surveyId: string, headers: Record<string, string> = {}) => {
        const reply = await fetch(`${origin}/api/v1/public/surveys/${surveyId}?lang=de`, { headers });
        return { status: reply.status, body: (await reply.json()) as { data?: { questions: unknown[] } } };
      };
      const shown = await get(after.origin, id);
      assert.deepEqual(shown, await get(before.origin, id));
      assert.deepEqual([shown.status, shown.body.data?.questions.length], [200, 1]);
      assert.equal((await get(after.origin, secret.id)).status, 404);
      assert.equal((await get(after.origin, secret.id, { 'x-survey-token': 'invited' })).status, 200);
      await here.actors.setStatus(id, 'PAUSED', 'update');
      assert.equal((await get(after.origin, id)).status, 503);
      assert.equal((await get(after.origin, newId())).status, 503);
    } finally {
      await before.stop();
      await after.stop();
    }
  });

  it('are saved in the background for surveys that lack one', async () => {
    const former = another(database.sql, { keeps: false });
    const ids = [(await published({}, former)).id, (await published({}, former)).id, (await published({}, former)).id];
    const lost = await published();
    await redis.del(keyOf(lost.id));
    const turn = createDefinitionBackfill({ ...here, log, pageSize: 4 });
    const { length } = await here.surveys.open({ limit: 1000 });
    for (let turns = 0; turns <= length / 4; turns += 1) await turn();
    assert.equal(await redis.exists(...ids.map(keyOf), keyOf(lost.id)), 4);
    assert.equal(await starting().submit(ids[0] ?? ''), 'accepted');
  });

  for (const [what, fields] of [
    ['of a form that only a newer version knows', async () => ({ v: 2 })],
    ['that cannot be read', async () => ({ data: 'nonsense' })],
    [
      'of another revision than it says',
      async (survey: SurveyWithQuestions) => ({ data: bytesOf({ ...survey, revision: 1 }) }),
    ],
    [
      'with a question that only a newer version knows',
      async (survey: SurveyWithQuestions) => {
        const questions = survey.questions.map((question) => ({ ...question, type: 'SMELL' as never }));
        return { data: bytesOf({ ...survey, questions }) };
      },
    ],
  ] as const)
    it(`are not used ${what}`, async () => {
      const survey = await published();
      await redis.hset(keyOf(survey.id), await fields(survey));
      assert.equal(await starting().submit(survey.id), 'SERVICE_UNAVAILABLE');
      assert.equal(await here.submit(survey.id), 'accepted');
    });

  it('follow a PostgreSQL that was restored to an earlier time', async () => {
    const { id, title } = await published();
    await database.sql`CREATE TABLE former AS SELECT * FROM surveys WHERE id = ${id}`;
    for (const name of ['One', 'Two', 'Three'])
      await here.actors.edit(id, (current) => ({ survey: { ...current, title: name } }));
    await database.sql`
      UPDATE surveys SET title = former.title, revision = former.revision FROM former WHERE surveys.id = former.id`;
    const restored = another(database.sql);
    assert.equal(await restored.submit(id), 'accepted');
    const other = starting();
    assert.equal(await other.submit(id), 'accepted');
    assert.equal(other.actors.peek(id)?.survey.title, title);
  });

  it('stay within their memory limit, and free it', async () => {
    const before = await bytesKept();
    const { id, revision } = await published();
    const used = (await bytesKept()) - before;
    assert.ok(used > 256 && used < 2000, `${used} bytes`);
    assert.equal(await here.definitions.save(id, { revision, compressed: Buffer.alloc(roomBytes) }), 'unchanged');
    const next = await here.actors.edit(id, (current) => ({ survey: { ...current, title: 'More' } }));
    await redis.hset(keyOf(id), 'v', 0);
    const tooLarge = { revision: next.revision, compressed: Buffer.alloc(roomBytes) };
    assert.equal(await here.definitions.save(id, tooLarge), 'no room');
    assert.equal(await bytesKept(), before);
    await here.actors.announce(next);
    assert.ok((await bytesKept()) > before);
    await here.surveys.remove(id);
    await here.actors.remove(id);
    assert.equal(await bytesKept(), before);
  });

  it('serve a whole process while PostgreSQL is away', async () => {
    const { redisUrl, redisJobsUrl: redisJobs, clickhouseUrl } = await sharedStores();
    const settings = {
      rateLimits: { submit: 1000 },
      retentionDays: null,
      dataDir: '/nonexistent',
      intakeShards: 2,
      clickhouseCluster: undefined,
    };
    const metrics = createMetrics();
    const open = async (postgres: string) => {
      const urls = { redis: new URL('/10', redisUrl).href, redisJobs, postgres, clickhouse: [clickhouseUrl] };
      const stores = await openStores({ urls, settings, log, metrics });
      waitForRedis(stores);
      const secrets = createSecrets('a master key for tests');
      const options = { settings: settings as unknown as Settings, stores, metrics, secrets, log };
      return { stores, core: createCore(options) };
    };
    const url = new URL(database.url);
    url.host = `127.0.0.1:${proxy.port}`;
    const [whole, cut] = [await open(database.url), await open(url.href)];
    await Promise.all([whole, cut].flatMap(({ stores }) => stores.contacts.all.map(({ ready }) => ready)));
    try {
      const { id } = await published({}, { ...here, actors: whole.core.actors });
      proxy.set('refuse');
      assert.equal(await submitTo(cut.core.submit)(id), 'accepted');
      assert.equal((await cut.core.currentSurvey(id))?.survey.id, id);
      const used = /intake_memory_use_bytes\{[^}]*use="definitions"[^}]*\} [1-9]/;
      await eventually(async () => assert.match(await formatMetrics([await metrics.collect()]), used));
    } finally {
      for (const { core, stores } of [whole, cut]) {
        core.actors.stop();
        await stores.close();
      }
    }
  });

  it('are not used by routes that manage surveys', async () => {
    const { id } = await published();
    const other = starting();
    assert.equal(await other.submit(id), 'accepted');
    const close = () => other.actors.setStatus(id, 'CLOSED', 'update');
    for (const call of [() => other.actors.sync(id), close, () => other.surveys.find(id)])
      await assert.rejects(call(), { code: 'SERVICE_UNAVAILABLE' });
  });
});
