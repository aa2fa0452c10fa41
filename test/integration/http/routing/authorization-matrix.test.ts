import assert from 'node:assert/strict';
import { createPrivateKey, sign } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createDispatch } from '../../../../src/http/routing/dispatch.ts';
import { createRateLimits } from '../../../../src/http/routing/rate-limits.ts';
import { type Access, ok, type Route } from '../../../../src/http/routing/route.ts';
import { createRouteTable } from '../../../../src/http/routing/route-table.ts';
import { createSurveyAccess } from '../../../../src/http/routing/survey-access.ts';
import { createBodyBudget } from '../../../../src/http/server/body-pieces.ts';
import { createAddressReader } from '../../../../src/http/server/client-address.ts';
import { createServer, type Server } from '../../../../src/http/server/server.ts';
import { createLog } from '../../../../src/log.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createMemberStore } from '../../../../src/stores/postgres/members.ts';
import { type AuthServer, password, startAuthServer } from '../../../support/auth-server.ts';
import { createClient } from '../../../support/client.ts';
import { accessWord, everyRoute, refusesKeys, routeName } from '../../../support/every-route.ts';
import { tokenParts } from '../../../support/forged-tokens.ts';
import { blankSurvey, nextId, withQuestion } from '../../../support/questions.ts';

/** Callers, with the role that they act in and what they may do with the survey of the test. */
const callers = {
  nobody: { isKnown: false },
  'a garbage token': { isKnown: false },
  'an expired token': { isKnown: false },
  'another owner, EDITOR': { isKnown: true, role: 'EDITOR', right: undefined },
  'a VIEWER without a share': { isKnown: true, role: 'VIEWER', right: undefined },
  'a VIEWER member': { isKnown: true, role: 'EDITOR', right: 'read' },
  'an EDITOR member whose role is VIEWER': { isKnown: true, role: 'VIEWER', right: 'read' },
  'an EDITOR member': { isKnown: true, role: 'EDITOR', right: 'edit' },
  'the owner': { isKnown: true, role: 'EDITOR', right: 'own' },
  'an EDITOR key of the owner': { isKnown: true, isKey: true, role: 'EDITOR', right: 'own' },
  'a VIEWER key of the owner': { isKnown: true, isKey: true, role: 'VIEWER', right: 'read' },
  'a key of another owner': { isKnown: true, isKey: true, role: 'EDITOR', right: undefined },
  'a VIEWER key of an ADMIN': { isKnown: true, isKey: true, role: 'VIEWER', right: undefined },
  'an ADMIN key': { isKnown: true, isKey: true, role: 'ADMIN', right: 'own' },
  'an ADMIN': { isKnown: true, role: 'ADMIN', right: 'own' },
} as const satisfies Record<
  string,
  { isKnown: false } | { isKnown: true; isKey?: true; role: string; right: 'read' | 'edit' | 'own' | undefined }
>;
type CallerName = keyof typeof callers;

const strength = { read: 1, edit: 2, own: 3 };

function expected(access: Access, caller: (typeof callers)[CallerName]): number {
  if (access.kind === 'public') return 200;
  if (!caller.isKnown) return 401;
  if (refusesKeys(access) && 'isKey' in caller) return 403;
  if (access.kind === 'user') return 200;
  if (access.kind === 'editor') return caller.role === 'VIEWER' ? 403 : 200;
  if (access.kind === 'admin') return caller.role === 'ADMIN' ? 200 : 403;
  if (caller.right === undefined) return 404;
  return strength[caller.right] >= strength[access.right] ? 200 : 403;
}

const { api } = await everyRoute();

describe('the rights of every route', () => {
  it('have a caller for every expected result', () => {
    const answers = new Set(
      api.flatMap((route) =>
        Object.values(callers).map((caller) => `${accessWord(route.access)} ${expected(route.access, caller)}`),
      ),
    );
    for (const answer of [
      'public 200',
      'user 401',
      'editor 403',
      'admin 403',
      'admin 200',
      'read 404',
      'read 200',
      'edit 404',
      'edit 403',
      'edit 200',
      'own 404',
      'own 403',
      'own 200',
    ])
      assert.ok(answers.has(answer), answer);
  });
});

describe('authorisation of every route', () => {
  let people: AuthServer;
  let servers: Server[];
  let base: string;
  /** The routes with their schemas of query and body, which here accept nothing. */
  let strictBase: string;
  let tokens: Record<CallerName, string | undefined>;
  let ids: { survey: string; question: string };

  before(async () => {
    people = await startAuthServer();
    const { survey, owner } = await makeSurvey();
    ids = { survey: survey.id, question: survey.questions[0]?.id ?? '' };
    tokens = await makeTokens(survey.id, owner);
    const inSurvey = async () => survey.id;
    const access = createSurveyAccess({
      surveys: people.surveys,
      lookups: {
        responseId: inSurvey,
        exportId: inSurvey,
        uploadId: inSurvey,
        suggestionId: inSurvey,
        collectorId: inSurvey,
      },
    });
    const log = createLog('error');
    const metrics = createMetrics();
    const limits = createRateLimits({
      redis: people.redis,
      auth: 1e6,
      api: 1e6,
      processCount: 1,
      keyedHash: (_scope, text) => text,
      log,
    });
    const serverOf = (routes: readonly Route[]) =>
      createServer({
        api: createRouteTable(routes),
        root: createRouteTable([]),
        dispatch: createDispatch({
          authenticate: people.people.authenticate,
          current: people.people.current,
          access,
          limits,
          log,
          metrics,
        }),
        addressOf: createAddressReader([]),
        bodyBudget: createBodyBudget(),
        corsOrigins: [],
        isPortShared: false,
        log,
        metrics,
      });
    servers = [
      serverOf(api.map(gateOnly)),
      serverOf(api.map((route) => ({ ...route, handle: async () => ok('passed') }))),
    ];
    const [open, strict] = await Promise.all(servers.map((server) => server.listen('127.0.0.1', 0)));
    [base, strictBase] = [`http://127.0.0.1:${open}/api/v1`, `http://127.0.0.1:${strict}/api/v1`];
  });
  after(async () => {
    for (const server of servers) await server.drain(1000);
    await people.stop();
  });

  /** The route with an empty handler. */
  const gateOnly = ({ method, path, tag, summary, access, limit, reply, replyStatus }: Route): Route => ({
    method,
    path,
    tag,
    summary,
    access,
    limit,
    reply,
    replyStatus,
    handle: async () => ok('passed'),
  });

  const makeSurvey = async () => {
    const owner = await people.addUser('owner@example.org', 'EDITOR');
    const { survey } = withQuestion(
      { ...blankSurvey(), id: newId(), ownerId: owner.id },
      { type: 'YES_NO', text: 'Well?' },
    );
    await people.surveys.create(survey);
    return { survey, owner };
  };

  const makeTokens = async (
    surveyId: string,
    owner: { id: string; email: string },
  ): Promise<Record<CallerName, string | undefined>> => {
    const client = createClient({ base: people.base });
    const signIn = async (email: string): Promise<string> =>
      (await client.post('/auth/login', { email, password })).accessToken;
    const person = async (name: string, role: 'ADMIN' | 'EDITOR' | 'VIEWER', share?: 'EDITOR' | 'VIEWER') => {
      const user = await people.addUser(`${name}@example.org`, role);
      if (share) await createMemberStore(people.sql).put(surveyId, user.id, share);
      return signIn(user.email);
    };
    const key = async (token: string, role: string): Promise<string> =>
      (await createClient({ base: people.base }, token).create('/api-keys', { name: 'a key', role })).key;
    const [ownerToken, strangerToken, adminToken] = [
      await signIn(owner.email),
      await person('stranger', 'EDITOR'),
      await person('admin', 'ADMIN'),
    ];
    return {
      nobody: undefined,
      'a garbage token': 'garbage',
      'an expired token': await expiredToken(owner.id),
      'another owner, EDITOR': strangerToken,
      'a VIEWER without a share': await person('lonely', 'VIEWER'),
      'a VIEWER member': await person('viewer', 'EDITOR', 'VIEWER'),
      'an EDITOR member whose role is VIEWER': await person('weak', 'VIEWER', 'EDITOR'),
      'an EDITOR member': await person('editor', 'EDITOR', 'EDITOR'),
      'the owner': ownerToken,
      'an EDITOR key of the owner': await key(ownerToken, 'EDITOR'),
      'a VIEWER key of the owner': await key(ownerToken, 'VIEWER'),
      'a key of another owner': await key(strangerToken, 'EDITOR'),
      'a VIEWER key of an ADMIN': await key(adminToken, 'VIEWER'),
      'an ADMIN key': await key(adminToken, 'ADMIN'),
      'an ADMIN': adminToken,
    };
  };

  /** A well-signed, expired token of a live session. */
  const expiredToken = async (userId: string): Promise<string> => {
    const [session] = await people.sql<{ id: string }[]>`SELECT id FROM sessions WHERE user_id = ${userId} LIMIT 1`;
    const { header, claims, nowSeconds } = await tokenParts({
      pem: people.signingKey,
      userId,
      sessionId: session?.id ?? '',
    });
    const input = [header, { ...claims, iat: nowSeconds - 901, exp: nowSeconds - 1 }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${input}.${sign(null, Buffer.from(input), createPrivateKey(people.signingKey)).toString('base64url')}`;
  };

  const pathOf = (path: string): string =>
    path
      .replace('{id}', ids.survey)
      .replace('{surveyId}', ids.survey)
      .replace('{questionId}', ids.question)
      .replace(/\{\w+Id\}/g, nextId)
      .replace(/\{\w+\}/g, 'openai');
  const call = async ({ method, path }: Pick<Route, 'method' | 'path'>, token: string | undefined): Promise<number> => {
    const reply = await fetch(base + pathOf(path), {
      method,
      headers: { connection: 'close', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    });
    await reply.arrayBuffer();
    return reply.status;
  };

  for (const route of api)
    it(`${routeName(route)} (${accessWord(route.access)}) admits the right callers and reveals nothing to others`, async () => {
      const found: Record<string, number> = {};
      const wanted: Record<string, number> = {};
      for (const name of Object.keys(callers) as CallerName[]) {
        found[name] = await call(route, tokens[name]);
        wanted[name] = expected(route.access, callers[name]);
      }
      assert.deepEqual(found, wanted);
    });

  it('authorises before it validates query and body', async () => {
    for (const { method, path, access } of api) {
      const refused = (Object.keys(callers) as CallerName[]).filter((name) => expected(access, callers[name]) !== 200);
      for (const [mediaType, sent] of [
        ['application/json', '{'],
        ['application/json', '{"nonsense":1}'],
        ['text/plain', 'x'],
      ] as const) {
        const found = await Promise.all(
          refused.map(async (name) => {
            const body = method === 'POST' || method === 'PUT' ? { body: sent } : {};
            const reply = await fetch(`${strictBase}${pathOf(path)}?nonsense=1`, {
              method,
              headers: {
                'content-type': mediaType,
                ...(tokens[name] !== undefined && { authorization: `Bearer ${tokens[name]}` }),
              },
              ...body,
            });
            await reply.arrayBuffer();
            return reply.status;
          }),
        );
        assert.deepEqual(
          found,
          refused.map((name) => expected(access, callers[name])),
          `${method} ${path} with ${sent}`,
        );
      }
    }
  });

  it('hides whether the survey of another user exists', async () => {
    const paths = api.filter(
      ({ access }) =>
        access.kind === 'survey' && (access.by === 'id' || access.by === 'surveyId' || access.by === 'questionId'),
    );
    for (const { method, path } of paths) {
      const stranger = tokens['another owner, EDITOR'] ?? '';
      const texts = await Promise.all(
        [pathOf(path), path.replace(/\{\w*(?:id|Id)\}/g, nextId).replace(/\{\w+\}/g, 'openai')].map(async (address) => {
          const reply = await fetch(base + address, { method, headers: { authorization: `Bearer ${stranger}` } });
          return `${reply.status} ${((await reply.json()) as { message: string }).message}`;
        }),
      );
      assert.equal(texts[0], texts[1], `${method} ${path}`);
    }
  });
});
