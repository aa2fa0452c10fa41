import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { createLog } from '../../src/log.ts';
import { createClickHouse } from '../../src/stores/clickhouse/client.ts';
import { createPostgres } from '../../src/stores/postgres/client.ts';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { finishedExport } from '../support/exports.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { openSwitchableProxy, quietPort, type SwitchableProxy } from '../support/switchable-proxy.ts';
import { assertWithin } from '../support/time-bars.ts';

type StoreName = 'PostgreSQL' | 'ClickHouse' | 'Redis';
type Fault = 'none' | 'refuses' | 'hangs';

const log = createLog('silent');
/** A service waits five seconds for its stores. The rest is for several that start at once on a busy machine. */
const listensWithinMs = 45_000;
/** The deadline of a stop, with what a busy machine may add. */
const stopsWithinMs = 14_000;
const adminLine = /first ADMIN {3}admin@localhost {2}password: (\S+) {2}\(shown once\)/;
let databases = 2;

/** Stores that no other service uses: an empty database in each server, with a proxy in front of one or all of them. */
async function ownStores(away: readonly StoreName[], fault: Fault) {
  const shared = await sharedStores();
  const name = `degraded_${randomBytes(6).toString('hex')}`;
  const index = ++databases;
  const at = (url: string, pathname: string) => Object.assign(new URL(url), { pathname }).href;
  const urls = {
    redis: at(shared.redisUrl, `/${index}`),
    jobs: at(shared.redisJobsUrl, `/${index}`),
    postgres: at(shared.databaseUrl, `/${name}`),
    clickhouse: at(shared.clickhouseUrl, `/${name}`),
  };
  const owner = createPostgres(shared.databaseUrl, { log, poolSize: 1 });
  await owner.unsafe(`CREATE DATABASE ${name}`);
  const redises = [new Redis(urls.redis), new Redis(urls.jobs)];
  for (const redis of redises) await redis.flushdb();
  const proxies: SwitchableProxy[] = [];
  const behindGate = async (store: StoreName, url: string): Promise<string> => {
    if (!away.includes(store)) return url;
    const proxy = await openSwitchableProxy(url);
    proxies.push(proxy);
    if (fault !== 'refuses') await proxy[fault === 'hangs' ? 'hang' : 'forward']();
    return proxy.url;
  };
  const env = {
    REDIS_URL: await behindGate('Redis', urls.redis),
    REDIS_JOBS_URL: await behindGate('Redis', urls.jobs),
    DATABASE_URL: await behindGate('PostgreSQL', urls.postgres),
    CLICKHOUSE_URL: await behindGate('ClickHouse', urls.clickhouse),
  };
  return {
    env,
    intake: redises[0],
    all: async (step: 'refuse' | 'hang' | 'forward') => void (await Promise.all(proxies.map((proxy) => proxy[step]()))),
    async drop(): Promise<void> {
      for (const proxy of proxies) await proxy.close();
      for (const redis of redises) {
        await redis.flushdb();
        redis.disconnect();
      }
      await owner.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await owner.end({ timeout: 2 });
      const clickhouse = createClickHouse({ urls: [urls.clickhouse], log });
      await clickhouse.command(`DROP DATABASE IF EXISTS \`${name}\` SYNC`);
      await clickhouse.close();
    },
  };
}

type OwnStores = Awaited<ReturnType<typeof ownStores>>;

interface Scene {
  stores: OwnStores;
  service: RunningService;
  listenedAfterMs: number;
}

async function begin(away: readonly StoreName[], fault: Fault, env: Record<string, string> = {}): Promise<Scene> {
  const stores = await ownStores(away, fault);
  const startedAt = performance.now();
  try {
    const service = await startService({ env: { ...stores.env, PORT: String(await quietPort()), ...env } });
    return { stores, service, listenedAfterMs: performance.now() - startedAt };
  } catch (error) {
    await stores.drop();
    throw error;
  }
}

/** Waits for all of them, also when one fails, so that no process remains. */
async function allDone(works: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) if (outcome.status === 'rejected') throw outcome.reason;
}

async function end({ stores, service }: Scene): Promise<void> {
  try {
    assert.equal(await service.stop(), 0);
  } finally {
    await stores.drop();
  }
}

/** A refusal as the contract says, and not after a wait for a store that is known to be away. */
function assertUnavailable(reply: { status: number; body: { code?: string }; headers: Headers }, what: string): void {
  const said = `${what}: ${JSON.stringify(reply.body)}`;
  assert.deepEqual([reply.status, reply.body.code], [503, 'SERVICE_UNAVAILABLE'], said);
  assert.match(reply.headers.get('retry-after') ?? '', /^[1-9]\d*$/, what);
}

const health = async ({ origin }: RunningService, which: 'live' | 'ready') => {
  const reply = await fetch(`${origin}/health/${which}`);
  return { status: reply.status, body: (await reply.json()) as any };
};

/** What readiness comes to say: a busy store that is there may miss the half second that it has for a check. */
const readiness = (service: RunningService, looksRight: (found: Awaited<ReturnType<typeof health>>) => void) =>
  eventually(async () => looksRight(await health(service, 'ready')));

const stranger = (service: RunningService) => createClient(service);

/** For each store: calls that need it are refused while it is away, and no others. */
const whileAway: Record<StoreName, (service: RunningService) => Promise<void>> = {
  async PostgreSQL(service) {
    await readiness(service, ({ status, body }) =>
      assert.deepEqual([status, body.data?.checks.intake, body.data?.degraded], [200, 'ok', ['controlPlane']]),
    );
    const known = { email: adminEmail, password: adminPassword };
    const login = await stranger(service).call('POST', '/auth/login', { body: known });
    assertUnavailable(login, 'sign-in');
    assertUnavailable(await stranger(service).submit(randomUUID(), { answers: [] }), 'a submission');
  },
  async ClickHouse(service) {
    await readiness(service, ({ status, body }) =>
      assert.deepEqual([status, body.data?.degraded, body.data?.checks.responses], [200, ['responses'], 'failed']),
    );
    const admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Early', status: 'ACTIVE' });
    // The responses that a survey has are counted before the intake knows it.
    assertUnavailable(await admin.submit(id, { answers: [] }), 'the first submission of a survey');
    assertUnavailable(await admin.call('GET', `/analytics/surveys/${id}`), 'analytics');
    assertUnavailable(await admin.call('GET', `/responses/surveys/${id}`), 'a list of responses');
  },
  async Redis(service) {
    await readiness(service, ({ status, body }) => {
      const { reason, checks, degraded } = body.details;
      assert.deepEqual([status, reason, checks.intake, degraded], [503, 'INTAKE_UNAVAILABLE', 'failed', ['jobs']]);
    });
    const admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Early', status: 'ACTIVE' });
    assertUnavailable(await admin.submit(id, { answers: [] }), 'a submission');
    assertUnavailable(await admin.call('POST', '/live/tickets'), 'a ticket');
  },
};

/** Submissions are stored and counted, closing is published to other processes, and an export is made. */
async function seeEverythingWork(admin: Client): Promise<void> {
  const { id } = await admin.create('/surveys', { title: 'Whole again', status: 'ACTIVE' });
  for (let sent = 0; sent < 3; sent += 1) assert.equal((await admin.submit(id, { answers: [] })).status, 201);
  await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 3));
  const exported = await admin.call('POST', `/exports/surveys/${id}`, { body: { format: 'CSV' } });
  assert.ok(exported.status === 201 || exported.status === 202, JSON.stringify(exported.body));
  const exportId = exported.body.data.exportId ?? exported.body.data.id;
  assert.equal((await finishedExport(admin, exportId)).status, 'COMPLETED');
}

/** Number of processes on the shared server that have subscribed to survey changes. */
async function listeners(): Promise<number> {
  const redis = new Redis((await sharedStores()).redisJobsUrl);
  const [, count] = (await redis.call('PUBSUB', 'NUMSUB', 'survey:changed')) as [string, number];
  redis.disconnect();
  return count;
}

const becomesComplete = (service: RunningService) =>
  eventually(() => assert.match(service.printed(), /^Survey service is complete\.$/m), 20_000);

for (const fault of ['refuses', 'hangs'] as const)
  describe(`a service that starts while a store ${fault}`, () => {
    const names: readonly StoreName[] = ['PostgreSQL', 'ClickHouse', 'Redis'];
    const scenes = new Map<StoreName, Scene>();
    const sceneOf = (name: StoreName): Scene => scenes.get(name) ?? assert.fail(`no service without ${name} came up`);
    before(async () => {
      const env = (name: StoreName) => (name === 'PostgreSQL' ? { ADMIN_PASSWORD: '' } : undefined);
      await allDone(names.map(async (name) => void scenes.set(name, await begin([name], fault, env(name)))));
    });
    after(async () => void (await Promise.all([...scenes.values()].map(end))));

    for (const name of names)
      it(`${name}: listens, reports what is missing, refuses calls that need it, and completes its start when it is reachable`, async () => {
        const { stores, service, listenedAfterMs } = sceneOf(name);
        assertWithin(listensWithinMs, listenedAfterMs, 'the start');
        assert.match(service.printed(), new RegExp(`^Survey service runs DEGRADED: ${name} cannot be reached `, 'm'));
        assert.doesNotMatch(service.printed(), /is ready|is complete/);
        assert.deepEqual(await health(service, 'live'), {
          status: 200,
          body: { success: true, data: { status: 'live' } },
        });
        await whileAway[name](service);
        const listening = await listeners();
        await stores.all('forward');
        await becomesComplete(service);
        const now = name === 'Redis' ? listening + 1 : listening;
        await eventually(async () => assert.equal(await listeners(), now, 'it hears of what other processes change'));
        const password = adminLine.exec(service.printed())?.[1];
        assert.equal(password !== undefined, name === 'PostgreSQL', 'an ADMIN is told of when its store is there');
        const ready = await eventually(async () => {
          const found = await health(service, 'ready');
          assert.deepEqual([found.status, found.body.data?.degraded], [200, []]);
          return found;
        });
        assert.equal(ready.body.data.status, 'ready');
        const admin = await (password === undefined ? adminClient(service) : signedIn(service, password));
        await seeEverythingWork(admin);
        assert.equal(await stores.intake?.get('intake:shards'), '2', 'the intake was looked at');
        const [early] = await admin.get('/surveys?search=Early');
        if (early)
          assert.equal((await admin.submit(early.id, { answers: [] })).status, 201, 'one that was made meanwhile');
        assert.equal(
          service
            .logs()
            .split('\n')
            .find((line) => line.includes('"level":"error"')),
          undefined,
        );
      });
  });

async function signedIn(service: RunningService, password: string): Promise<Client> {
  const { body } = await createClient(service).call('POST', '/auth/login', { body: { email: adminEmail, password } });
  return createClient(service, body.data.accessToken);
}

describe('a service of several processes', () => {
  let scene: Scene;
  before(async () => {
    scene = await begin(['ClickHouse', 'PostgreSQL'], 'none', { WORKERS: '2' });
  });
  after(() => end(scene));

  const pidsOf = (name: string): number[] => {
    const isListening = (line: string) => line.includes('"listening"') && line.includes(`"${name}"`);
    const lines = scene.service.logs().split('\n').filter(isListening);
    return lines.map((line) => (JSON.parse(line) as { pid: number }).pid);
  };
  /** The stores that a process has reached after it had to wait for them. */
  const storesReachedBy = (pid: number): string[] => {
    const lines = scene.service.logs().split('\n');
    return lines
      .filter((line) => line.includes('"a store is reached"'))
      .map((line) => JSON.parse(line) as { pid: number; store: string })
      .filter((line) => line.pid === pid)
      .map(({ store }) => store)
      .toSorted();
  };

  it('replaces a process that dies while ClickHouse and PostgreSQL hang, and accepts submissions', async () => {
    const { stores, service } = scene;
    const admin = await adminClient(service);
    const { id } = await admin.create('/surveys', { title: 'Through', status: 'ACTIVE' });
    assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    await stores.all('hang');
    const killed = ['http-1', 'http-2'].map((name) => pidsOf(name)[0] ?? assert.fail(`${name} did not listen`));
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    const replacements: number[] = [];
    for (const name of ['http-1', 'http-2'])
      await eventually(() => {
        const [, pid] = pidsOf(name);
        replacements.push(pid ?? assert.fail(`${name} is not replaced`));
      }, listensWithinMs);
    for (let sent = 0; sent < 10; sent += 1) assert.equal((await admin.submit(id, { answers: [] })).status, 201);
    await readiness(service, ({ body }) =>
      assert.deepEqual(body.data?.degraded.toSorted(), ['controlPlane', 'responses']),
    );
    await stores.all('forward');
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, 11));
    // Each process reaches the stores by itself, and any of them may get the next call. A busy one may also have had to
    // wait for a Redis.
    const hung = ['ClickHouse', 'PostgreSQL'];
    for (const pid of replacements)
      await eventually(() => {
        const reached = storesReachedBy(pid).filter((store) => hung.includes(store));
        assert.deepEqual(reached, hung, `process ${pid}`);
      });
    await seeEverythingWork(admin);
  });
});

describe('a service without any store', () => {
  const all: readonly StoreName[] = ['PostgreSQL', 'ClickHouse', 'Redis'];
  const endsInTime = async ({ stores, service }: Scene): Promise<void> => {
    const toldAt = performance.now();
    try {
      assert.equal(await service.stop(), 0);
      assertWithin(stopsWithinMs, performance.now() - toldAt, 'the stop');
    } finally {
      await stores.drop();
    }
  };

  it('listens, and stops within its deadline', async () => {
    const look = async (scene: Scene): Promise<void> => {
      try {
        assert.equal((await health(scene.service, 'live')).status, 200);
        const { status, body } = await health(scene.service, 'ready');
        assert.deepEqual([status, body.details.degraded], [503, ['responses', 'controlPlane', 'jobs']]);
        assertUnavailable(await stranger(scene.service).submit(randomUUID(), { answers: [] }), 'a submission');
      } finally {
        await endsInTime(scene);
      }
    };
    await allDone([begin(all, 'refuses').then(look), begin(all, 'hangs', { WORKERS: '2' }).then(look)]);
  });

  it('stops within its deadline also if the stores hang after a complete start', async () => {
    const scene = await begin(all, 'none');
    try {
      const admin = await adminClient(scene.service);
      const { id } = await admin.create('/surveys', { title: 'Last', status: 'ACTIVE' });
      assert.equal((await admin.submit(id, { answers: [] })).status, 201);
      await scene.stores.all('hang');
    } finally {
      await endsInTime(scene);
    }
  });
});
