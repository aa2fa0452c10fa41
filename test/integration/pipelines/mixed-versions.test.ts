import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { createDeadLetters } from '../../../src/actors/dead-letters.ts';
import { createCollectorIds } from '../../../src/actors/survey-lookup.ts';
import { blankSurvey } from '../../../src/domain/blank-survey.ts';
import { blankCollector } from '../../../src/domain/collectors/collector.ts';
import { addCollector } from '../../../src/domain/collectors/survey-collectors.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { createBatchFollowUp } from '../../../src/pipelines/ingest/batch-follow-up.ts';
import { createIngest } from '../../../src/pipelines/ingest/ingest.ts';
import { createOutbox } from '../../../src/pipelines/outbox.ts';
import { createWorkers } from '../../../src/pipelines/workers.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createApiKeyStore } from '../../../src/stores/postgres/api-keys.ts';
import { createPostgres } from '../../../src/stores/postgres/client.ts';
import { createMemberStore } from '../../../src/stores/postgres/members.ts';
import { migratePostgres } from '../../../src/stores/postgres/migrate.ts';
import { createSessionStore } from '../../../src/stores/postgres/sessions.ts';
import { OfNewerVersion } from '../../../src/stores/postgres/survey-rows.ts';
import { createSurveyStore } from '../../../src/stores/postgres/surveys.ts';
import { createTranslationStore } from '../../../src/stores/postgres/translations.ts';
import { createUserStore, type NewUser } from '../../../src/stores/postgres/users.ts';
import { createIntake } from '../../../src/stores/redis/intake/intake.ts';
import { responseKey, type Shard, surveyKey } from '../../../src/stores/redis/intake/shards.ts';
import { createStream, type Stream, UnknownEntryFormat } from '../../../src/stores/redis/intake/stream.ts';
import { freshDatabase, startAuthServer } from '../../support/auth-server.ts';
import { eventually } from '../../support/eventually.ts';
import { acceptingSink, appendix, digestOf, noMemoryPressure, streamEntry } from '../../support/intake.ts';
import { openPatientRedis } from '../../support/patient-redis.ts';
import { responseLine } from '../../support/response-database.ts';
import { sharedStores } from '../../support/stores.ts';

const log = createLog('silent');

/** While one version takes over from another both run, each with what the other has written. */
describe('an older version beside a newer one', () => {
  let redis: Redis;
  let url: string;
  const prefix = `{mixed-${randomBytes(4).toString('hex')}}:`;
  const shard: Shard = { index: 0, prefix, stream: `${prefix}stream` };
  let stream: Stream;
  before(async () => {
    url = new URL('/8', (await sharedStores()).redisUrl).href;
    redis = await openPatientRedis(url);
    stream = createStream(redis);
  });
  after(async () => {
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(keys);
    await redis.quit();
  });

  const add = (fields: Record<string, string>) => redis.xadd(shard.stream, '*', ...Object.entries(fields).flat());
  const whole = { n: '1', codes: '2', surveys: newId(), filled: '', rows: '["row"]' };

  it('reads entries with more fields than it knows', async () => {
    const id = (await add({ ...whole, v: '1', zone: 'eu', ünknown: '\u0000' })) ?? '';
    const [entry] = await stream.readRange(shard, id, id, 1);
    assert.deepEqual(
      entry,
      streamEntry(id, { codeColumns: 2, surveyIds: [whole.surveys], rows: Buffer.from('["row"]') }),
    );
    await redis.del(shard.stream);
  });

  it('does not take an unreadable entry for an empty one', async () => {
    const { codes: _, ...withoutCodes } = whole;
    const { rows: __, ...withoutRows } = whole;
    for (const fields of [{ ...whole, v: '2' }, { ...whole, n: 'many' }, withoutCodes, withoutRows]) {
      const id = (await add(fields)) ?? '';
      await assert.rejects(stream.readRange(shard, id, id, 1), UnknownEntryFormat, JSON.stringify(fields));
    }
    await redis.del(shard.stream);
  });

  it('leaves an unreadable entry to the newer version: it is not acknowledged, not a dead letter, not lost', async () => {
    await add(whole);
    const unknown = (await add({ ...whole, v: '2', rows: '["newer"]' })) ?? '';
    const stored: string[] = [];
    const ingest = (name: string, reads: Stream) =>
      createIngest({
        stream: reads,
        shards: [shard],
        name,
        now: Date.now,
        log,
        metrics: createMetrics(),
        memory: noMemoryPressure,
        storedRows: undefined,
        isDeleted: async () => false,
        forward: async () => undefined,
        onStored: () => undefined,
        sink: acceptingSink(async ({ lines }) => {
          stored.push(`${name} ${lines.toString()}`);
          return { kind: 'stored' };
        }),
      });
    const older = ingest('older', stream);
    older.start();
    await eventually(async () =>
      assert.ok((await redis.get(`${prefix}fence`)) !== null && (await redis.exists(`${prefix}owner`)) === 0),
    );
    assert.deepEqual([stored, await redis.xlen(shard.stream), await redis.exists(`${prefix}dead`)], [[], 2, 0]);
    // To the newer one the field says how to read the rest.
    const knowing = async (key: string) =>
      ((await redis.xrange(key, '-', '+')) ?? []).map(([id]) =>
        streamEntry(id, { codeColumns: 2, rows: Buffer.from(id === unknown ? '["newer"]' : '["row"]') }),
      );
    const newer = ingest('newer', {
      ...stream,
      readAfter: async ({ stream: key }, after) => (after === '0-0' ? knowing(key) : []),
    });
    newer.start();
    await eventually(async () => assert.equal(await stream.acknowledged(shard), unknown));
    assert.deepEqual(stored, ['newer ["row"]\n["newer"]']);
    await Promise.all([older.stop(), newer.stop()]);
  });

  it('does not requeue or read a dead letter of a newer form', async () => {
    const surveyId = newId();
    await redis.del(shard.stream);
    const row = responseLine({ surveyId });
    for (const more of [[], ['v', '2']])
      await redis.xadd(`${prefix}dead`, '*', 'reason', 'for this test', 'rows', row, ...more);
    const letters = await stream.listDeadLetters(shard, { count: 10 });
    const revived = await Promise.all(
      letters.map((letter) =>
        stream.requeueDeadLetter(shard, letter, { count: 1, codeColumns: 0, surveyIds: [surveyId] }),
      ),
    );
    assert.deepEqual(
      [revived, await redis.xlen(`${prefix}dead`), await redis.xlen(shard.stream)],
      [[true, false], 1, 1],
    );
    const [left] = await createDeadLetters({ stream, shards: { all: [shard], of: () => shard } }).ofSurvey(surveyId);
    assert.deepEqual([left?.row.surveyId, left?.row.head], [surveyId, undefined]);
    await redis.del(shard.stream, `${prefix}dead`);
  });

  it('refuses a response of a newer form as temporarily unavailable, never as complete, deleted or different', async () => {
    const intake = createIntake({
      redis,
      shards: { all: [shard], of: () => shard },
      metrics: { committed: () => undefined, submitted: () => undefined },
    });
    const [surveyId, responseId] = [newId(), newId()];
    await intake.announce({ surveyId, revision: 1, quota: null, codePositions: 0, total: 1, completed: 0 });
    const append = async (more: Parameters<typeof appendix>[1]) =>
      (await intake.append(appendix(surveyId, { limit: 9, digest: 'd', responseId, ...more }))).code;
    await redis.hset(responseKey(responseId), { v: '2', n: '1', done: '1', survey: surveyId, more: 'unknown' });
    await redis.set(`${prefix}idem:${surveyId}:k`, '!2 in another form');
    try {
      assert.deepEqual(
        [
          await append({ observedVersion: 0 }),
          await append({ observedVersion: 1 }),
          await append({ key: 'k', legacy: { key: 'k', digest: digestOf('d') } }),
        ],
        ['NEWER', 'NEWER', 'NEWER'],
      );
      await assert.rejects(intake.state(responseId), { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 10 });
      await assert.rejects(
        intake.deleteResponse({ surveyId, responseId, submittedAtMs: 1, outcome: 'COMPLETED', row: '["gone"]' }),
        { code: 'SERVICE_UNAVAILABLE' },
      );
      assert.deepEqual(
        [await intake.counts(surveyId), await redis.hget(responseKey(responseId), 'more')],
        [{ total: 1, completed: 0 }, 'unknown'],
      );
      // A survey's hash of another format has a revision that is no number.
      await redis.hset(surveyKey(shard, surveyId), 'rev', 'v2 7');
      assert.equal(await append({}), 'STALE');
      await assert.rejects(
        intake.announce({ surveyId, revision: 9, quota: null, codePositions: 0, total: 0, completed: 0 }),
        { code: 'SERVICE_UNAVAILABLE' },
      );
    } finally {
      await redis.del(responseKey(responseId));
    }
  });

  it('leaves outbox events of an unknown kind to processes that know it', async () => {
    const database = await freshDatabase();
    const told: string[] = [];
    const start = (...kinds: string[]) => {
      const outbox = createOutbox({
        sql: database.sql,
        log,
        metrics: createMetrics(),
        handlers: Object.fromEntries(
          kinds.map((kind) => [kind, [async ({ payload }) => void told.push(`${kind} ${JSON.stringify(payload)}`)]]),
        ),
      });
      outbox.start();
      return outbox;
    };
    for (const kind of ['new', 'old'])
      await database.sql`INSERT INTO outbox (kind, payload) VALUES (${kind}, ${database.sql.json({ kind, more: [1] })})`;
    const older = start('old');
    await eventually(() => assert.equal(told.length, 1));
    await older.stop();
    assert.deepEqual(
      (await database.sql`SELECT kind, attempts FROM outbox WHERE done_at IS NULL`).map(({ kind, attempts }) => [
        kind,
        attempts,
      ]),
      [['new', 0]],
    );
    const newer = start('old', 'new');
    await eventually(() => assert.deepEqual(told, ['old {"kind":"old","more":[1]}', 'new {"kind":"new","more":[1]}']));
    await newer.stop();
    await database.drop();
  });

  it('runs jobs whose payload has unknown fields', async () => {
    const workers = createWorkers({ url, connection: { assertReady: () => undefined }, log });
    const connection = new Redis(url, { maxRetriesPerRequest: null });
    const queue = new Queue('exports', { connection });
    const done: unknown[] = [];
    workers.consume('exports', async (payload) => void done.push(payload));
    const exportId = newId();
    await queue.add('exports', { exportId, priority: 'high', v: 2 }, { removeOnComplete: true });
    await eventually(() => assert.deepEqual(done, [{ exportId }]));
    await workers.stop();
    await queue.obliterate({ force: true });
    await queue.close();
    connection.disconnect();
  });

  it('refuses a survey with an unknown question type, and no other survey', async () => {
    const server = await startAuthServer();
    try {
      const owner = await server.addUser('owner@example.org', 'EDITOR');
      const [surveyId, other] = [newId(), newId()];
      for (const id of [surveyId, other])
        await server.sql`INSERT INTO surveys (id, owner_id, title, status, is_anonymous, visibility, ai_enabled, language, created_at, updated_at, version, revision, code_slots, number_slots, text_slots)
          VALUES (${id}, ${owner.id}, 'Mixed', 'DRAFT', true, 'PUBLIC', true, 'en', now(), now(), 1, 1, 0, 0, 0)`;
      await server.sql`INSERT INTO questions (id, survey_id, type, text, is_required, position, options, rows, settings, slots)
        VALUES (${newId()}, ${surveyId}, 'HOLOGRAM', 'Show it', false, 1, '[]', '[]', '{}', '{"codes":{},"numbers":{},"texts":{}}')`;
      const surveys = createSurveyStore(server.sql);
      await assert.rejects(surveys.load(surveyId), { code: 'SERVICE_UNAVAILABLE' });
      assert.equal((await surveys.load(other))?.id, other);
    } finally {
      await server.stop();
    }
  });

  it('forwards what came to a survey with an unknown question type, as that of any other survey', async () => {
    const database = await freshDatabase();
    const [owner, surveyId] = [newId(), newId()];
    const surveys = createSurveyStore(database.sql);
    try {
      await database.sql`INSERT INTO users (id, email, email_key, role, password_hash)
        VALUES (${owner}, 'a@localhost', 'a@localhost', 'ADMIN', '')`;
      await surveys.create(blankSurvey(surveyId, owner, Date.now()));
      const panel = blankCollector({ id: newId(), surveyId, code: 1, linkId: 'panel', nowMs: Date.now() });
      await surveys.change(surveyId, (current) => ({ survey: addCollector(current, panel), isWordingChanged: false }));
      await database.sql`INSERT INTO questions (id, survey_id, type, text, is_required, position, options, rows, settings, slots)
        VALUES (${newId()}, ${surveyId}, 'HOLOGRAM', 'Show it', false, 1, '[]', '[]', '{}', '{"codes":{},"numbers":{},"texts":{}}')`;
      await assert.rejects(surveys.load(surveyId), OfNewerVersion);
      const collectorIdOf = createCollectorIds(surveys);
      assert.deepEqual([await collectorIdOf(surveyId, [1]), await collectorIdOf(newId(), [1])], [panel.id, null]);
      const followUp = createBatchFollowUp({
        surveys,
        actors: { quotaFilled: () => Promise.reject(new OfNewerVersion()) },
        intake: { counts: async () => undefined },
        invitations: { recordUses: async () => undefined },
        log,
      });
      const quota = { id: newId(), name: 'Women', limit: 1 };
      const filling = { surveyId, code: 1, times: 1, count: 1, quota };
      const entries = [streamEntry('1764000000000-0', { filled: [surveyId], reachedQuotas: [filling] })];
      await followUp.closeFullSurveys(entries);
      await followUp.announceReachedQuotas(entries);
      followUp.stop();
      const said = await database.sql`SELECT payload->>'quotaId' AS id FROM outbox WHERE kind = 'quota.reached'`;
      assert.deepEqual([...said], [{ id: quota.id }]);
    } finally {
      await database.drop();
    }
  });

  it('works with a schema that the newer version has migrated, and logs it', async () => {
    const database = await freshDatabase();
    await database.sql`INSERT INTO migrations (name) VALUES ('999_from_the_future.sql')`;
    const said: unknown[] = [];
    await migratePostgres(database.sql, { warn: (facts: unknown) => void said.push(facts) });
    assert.deepEqual(said, [{ newer: ['999_from_the_future.sql'] }]);
    await database.drop();
  });

  it('loads and changes surveys on connections from before a migration that added columns', async () => {
    const database = await freshDatabase();
    const sql = createPostgres(database.url, { log, poolSize: 1 });
    try {
      const [owner, surveyId] = [newId(), newId()];
      await database.sql`INSERT INTO users (id, email, email_key, role, password_hash)
        VALUES (${owner}, 'a@localhost', 'a@localhost', 'ADMIN', '')`;
      const surveys = createSurveyStore(sql);
      await surveys.create(blankSurvey(surveyId, owner, Date.now()));
      const change = (title: string) =>
        surveys.change(surveyId, (current) => ({ survey: { ...current, title }, isWordingChanged: false }));
      await change('Before');
      assert.equal((await surveys.load(surveyId))?.title, 'Before');
      for (const table of ['surveys', 'questions', 'collectors']) {
        await database.sql.unsafe(`ALTER TABLE ${table} ADD COLUMN from_the_future text`);
        assert.equal((await surveys.load(surveyId))?.title, 'Before', `after a change of ${table}`);
      }
      for (const table of ['surveys', 'questions', 'collectors']) {
        await database.sql.unsafe(`ALTER TABLE ${table} ADD COLUMN from_further_away text`);
        assert.equal((await change(`After a change of ${table}`)).title, `After a change of ${table}`);
      }
    } finally {
      await sql.end({ timeout: 2 });
      await database.drop();
    }
  });

  it('changes users, keys, owners and texts on connections from before a migration that added columns', async () => {
    const database = await freshDatabase();
    const sql = createPostgres(database.url, { log, poolSize: 1 });
    const [users, keys, members] = [createUserStore(sql), createApiKeyStore(sql), createMemberStore(sql)];
    const [surveys, translations] = [createSurveyStore(sql), createTranslationStore(sql)];
    const fields = (name: string): NewUser => ({
      id: newId(),
      email: `${name}@localhost`,
      emailKey: `${name}@localhost`,
      passwordHash: '',
      role: 'ADMIN',
      mustChangePassword: false,
    });
    try {
      const owner = fields('owner');
      await users.createFirst(owner);
      const caller = { userId: owner.id, sessionId: null, keyId: null };
      const newUser = (name: string) => users.create(fields(name), caller);
      const other = await newUser('other');
      const survey = blankSurvey(newId(), owner.id, Date.now());
      await surveys.create(survey);
      const session = { id: newId(), userId: owner.id, passwordHash: '', tokenHash: randomBytes(32), ttlSeconds: 600 };
      await createSessionStore(sql).start(session);
      let owners = [owner.id, other.id];
      const transactions: Record<string, () => Promise<unknown>> = {
        'a new user': () => newUser(newId()),
        'a changed user': () => users.change(owner.id, { isDisabled: false }, caller),
        'a deleted user': async () => users.remove((await newUser(newId())).id, caller),
        'a key': () =>
          keys.create(
            {
              id: newId(),
              userId: owner.id,
              sessionId: session.id,
              name: 'key',
              role: 'VIEWER',
              keyHash: randomBytes(32),
              lastFour: '0000',
              requestsPerMinute: null,
              expiresAt: null,
            },
            100,
          ),
        'an owner': async () => {
          const [fromUserId = '', toUserId = ''] = owners;
          owners = [toUserId, fromUserId];
          const moved = await members.transferOwnership({ surveyId: survey.id, fromUserId, toUserId, at: new Date() });
          assert.ok(typeof moved === 'object' && moved.ownerId === toUserId);
        },
        'a text': () =>
          sql.begin(async (tx) => {
            await translations.findIn(tx, survey.id, 'de');
            await translations.withPlaceholders(tx, survey.id);
            await translations.mergeIn(tx, {
              surveyId: survey.id,
              language: 'de',
              strings: {},
              removedKeys: [],
              at: new Date(),
            });
          }),
      };
      for (const change of Object.values(transactions)) await change();
      for (const table of ['users', 'api_keys', 'surveys', 'translations'])
        await database.sql.unsafe(`ALTER TABLE ${table} ADD COLUMN from_the_future text`);
      for (const [what, change] of Object.entries(transactions)) await assert.doesNotReject(change, what);
    } finally {
      await sql.end({ timeout: 2 });
      await database.drop();
    }
  });
});
