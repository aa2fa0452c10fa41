import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { emailKey } from '../../src/auth/email.ts';
import { createPasswords } from '../../src/auth/passwords.ts';
import type { UserRole } from '../../src/auth/roles.ts';
import { makeSigningKey } from '../../src/auth/signing-keys.ts';
import { createAuthentication } from '../../src/http/authentication.ts';
import { withAudit } from '../../src/http/routing/audit.ts';
import { createDispatch } from '../../src/http/routing/dispatch.ts';
import { createRateLimits } from '../../src/http/routing/rate-limits.ts';
import { ok, type Route, route } from '../../src/http/routing/route.ts';
import { createRouteTable } from '../../src/http/routing/route-table.ts';
import { createSurveyAccess } from '../../src/http/routing/survey-access.ts';
import { createBodyBudget } from '../../src/http/server/body-pieces.ts';
import { createAddressReader } from '../../src/http/server/client-address.ts';
import { createServer } from '../../src/http/server/server.ts';
import { createLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import { newId } from '../../src/platform/ids.ts';
import { createSecrets } from '../../src/platform/secrets.ts';
import { createPostgres, type Sql } from '../../src/stores/postgres/client.ts';
import { migratePostgres } from '../../src/stores/postgres/migrate.ts';
import { createSurveyStore } from '../../src/stores/postgres/surveys.ts';
import { createUserStore, type User } from '../../src/stores/postgres/users.ts';
import { sharedStores } from './stores.ts';

export const password = 'correct horse battery';

/** A migrated database of its own in the shared PostgreSQL; `options`: those of CREATE DATABASE. */
export async function freshDatabase(options = ''): Promise<{ sql: Sql; url: string; drop(): Promise<void> }> {
  const { databaseUrl } = await sharedStores();
  const name = `people_${randomBytes(6).toString('hex')}`;
  const log = createLog('error');
  const owner = createPostgres(databaseUrl, { log, poolSize: 1 });
  await owner.unsafe(`CREATE DATABASE ${name} ${options}`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  const sql = createPostgres(url.href, { log });
  await migratePostgres(sql);
  const drop = async () => {
    await sql.end({ timeout: 2 });
    await owner.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
    await owner.end({ timeout: 2 });
  };
  return { sql, url: url.href, drop };
}

export async function freshRedis(): Promise<Redis> {
  const { redisJobsUrl } = await sharedStores();
  return new Redis(redisJobsUrl, { keyPrefix: `test:${randomBytes(6).toString('hex')}:` });
}

export interface AuthServerOptions {
  limits?: { auth?: number; api?: number; apiKeys?: { perUser: number; requestsPerMinute: number } };
  accessTokenTtlSeconds?: number;
  signingKey?: string;
}

/**
 * The people's routes alone on a real server, database and Redis; `/surveys/{id}/probe/<right>` stand for the surveys'
 * own routes, and `/probe/stream` for those that read their body piece by piece.
 */
export async function startAuthServer({
  limits: given = {},
  accessTokenTtlSeconds = 900,
  signingKey = makeSigningKey(),
}: AuthServerOptions = {}) {
  const log = createLog('error');
  const metrics = createMetrics();
  const database = await freshDatabase();
  const redis = await freshRedis();
  const { sql } = database;
  const surveys = createSurveyStore(sql);
  const people = await createAuthentication({
    sql,
    redis,
    log,
    secrets: createSecrets('a master key for tests'),
    nowMs: Date.now,
    newId,
    settings: {
      dataDir: '/nonexistent',
      publicUrl: undefined,
      jwtPrivateKey: signingKey,
      accessTokenTtlSeconds,
      refreshTokenTtlSeconds: 3600,
      apiKeys: given.apiKeys ?? { perUser: 20, requestsPerMinute: 10_000 },
    },
  });
  const limits = createRateLimits({
    redis,
    auth: given.auth ?? 100_000,
    api: given.api ?? 100_000,
    processCount: 1,
    keyedHash: createSecrets('a key of these tests').keyedHash,
    log,
  });
  const dispatch = createDispatch({
    authenticate: people.authenticate,
    current: people.current,
    access: createSurveyAccess({ surveys }),
    limits,
    log,
    metrics,
  });
  const server = createServer({
    api: createRouteTable([...withAudit(people.routes, people.audit), ...probes, streamProbe]),
    root: createRouteTable([]),
    dispatch,
    addressOf: createAddressReader(['127.0.0.1']),
    bodyBudget: createBodyBudget(),
    corsOrigins: [],
    isPortShared: false,
    log,
    metrics,
  });
  const port = await server.listen('127.0.0.1', 0);
  const users = createUserStore(sql);
  const passwordHash = await createPasswords().hash(password);
  return {
    base: `http://127.0.0.1:${port}/api/v1`,
    sql,
    redis,
    people,
    surveys,
    users,
    signingKey,
    databaseUrl: database.url,
    async addUser(email: string, role: UserRole): Promise<User> {
      const id = newId();
      await sql`INSERT INTO users ${sql({ id, email, email_key: emailKey(email), password_hash: passwordHash, role })}`;
      return (await users.find(id)) ?? assert.fail();
    },
    async stop() {
      await server.drain(2000);
      redis.disconnect();
      await database.drop();
    },
  };
}

export type AuthServer = Awaited<ReturnType<typeof startAuthServer>>;

/** Reads its body piece by piece. */
const streamProbe: Route = route({
  method: 'POST',
  path: '/probe/stream',
  tag: 'Test',
  summary: 'stream',
  access: { kind: 'user' },
  limit: 'api',
  bodyKind: 'stream',
  reply: z.object({ bytes: z.number() }),
  replyStatus: 200,
  handle: async ({ bodyChunks }) => {
    let bytes = 0;
    for await (const chunk of bodyChunks()) bytes += chunk.length;
    return ok({ bytes });
  },
});

const probes: Route[] = (['read', 'edit', 'own'] as const).map((right) =>
  route({
    method: 'GET',
    path: `/surveys/{id}/probe/${right}`,
    tag: 'Test',
    summary: right,
    access: { kind: 'survey', right, by: 'id' },
    limit: 'api',
    reply: z.object({}),
    replyStatus: 200,
    handle: async (call) => ok({ right: call.right }),
  }),
);
