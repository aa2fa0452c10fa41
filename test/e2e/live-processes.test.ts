import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { type LiveSocket, openEvents, openLive, subscribeResiliently } from '../support/live-client.ts';
import { adminEmail, adminPassword, type RunningService, sharedStoreUrls, startService } from '../support/service.ts';
import { type SharedStores, sharedStores } from '../support/stores.ts';
import { quietPort } from '../support/switchable-proxy.ts';

async function signIn(admin: Client): Promise<string> {
  return (await admin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } })).body.data
    .accessToken;
}

describe('live streams across HTTP processes', () => {
  let stores: SharedStores;
  // One for all: they sign with the same keys.
  const dataDir = temporaryDataDir();
  const started: RunningService[] = [];
  const open: LiveSocket[] = [];
  const clients: ReturnType<typeof subscribeResiliently>[] = [];
  before(async () => {
    stores = await sharedStores();
    return stores;
  });
  after(async () => {
    await Promise.all(clients.map((client) => client.stop()));
    for (const { socket } of open) socket.terminate();
    for (const service of started) await service.stop();
    await stores?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const start = async (env: Record<string, string>): Promise<RunningService> => {
    const { redisUrl, redisJobsUrl, databaseUrl, clickhouseUrl } = stores;
    const urls = {
      ...sharedStoreUrls(),
      REDIS_URL: redisUrl,
      REDIS_JOBS_URL: redisJobsUrl,
      DATABASE_URL: databaseUrl,
      CLICKHOUSE_URL: clickhouseUrl,
    };
    const service = await startService({ dataDir, env: { ...urls, ...env } });
    started.push(service);
    return service;
  };
  const listen = async (service: RunningService, token: string, wish: Record<string, unknown>): Promise<LiveSocket> => {
    const live = await openLive(service, token);
    open.push(live);
    live.send({ type: 'subscribe', channels: ['responses'], ...wish });
    await live.next('subscribed');
    return live;
  };

  it('send responses that another process accepted, in order, before ClickHouse has stored them', async () => {
    // Neither process moves anything out of the intake.
    const [accepting, listening] = [await start({ ROLES: 'http' }), await start({ ROLES: 'http' })];
    const admin = await adminClient(accepting);
    const token = await signIn(admin);
    const survey = await admin.create('/surveys', { title: 'Two processes', status: 'ACTIVE' });
    const live = await listen(listening, token, { surveyId: survey.id });
    const events = await openEvents(`${listening.base}/surveys/${survey.id}/live`, token);
    await events.next('subscribed');
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push((await admin.submit(survey.id, { answers: [] })).body.data.responseId);
    await eventually(() => assert.deepEqual(live.responseIds(), ids));
    await eventually(() =>
      assert.deepEqual(
        events.events.filter(({ event }) => event === 'response').map(({ data }) => data.responseId),
        ids,
      ),
    );
    const late = await listen(accepting, token, {
      surveyId: survey.id,
      after: live.messages.find(({ responseId }) => responseId === ids[4])?.['cursor'],
    });
    await eventually(() => assert.deepEqual(late.responseIds(), ids.slice(5)));
    events.close();
  });

  it('have no gap and no duplicate between history and live events, under load, through broken connections and a restart', async () => {
    const accepting = await start({ ROLES: 'http' });
    let listening = await start({ ROLES: 'http' });
    const admin = await adminClient(accepting);
    const token = await signIn(admin);
    const survey = await admin.create('/surveys', { title: 'Seam', status: 'ACTIVE' });
    const witness = await listen(accepting, token, { surveyId: survey.id });
    for (let n = 0; n < 20; n += 1)
      clients.push(
        subscribeResiliently(
          () => listening,
          async () => token,
          survey.id,
        ),
      );
    await eventually(() => assert.ok(clients.every((client) => client.isReady())));

    let isOver = false;
    const accepted = new Set<string>();
    let turn = 0;
    const lanes = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        accepted.add((await createClient(accepting).submit(survey.id, { answers: [] })).body.data.responseId);
        // Not by a clock: a slow machine would do nothing but open connections again.
        if (accepted.size % 5 === 0) clients[turn++ % clients.length]?.drop();
      }
    });
    /** Waits for so many further ones, however long a busy machine takes for them, as long as they come. */
    const more = async (count: number) => {
      for (const goal = accepted.size + count; accepted.size < goal; ) {
        const before = accepted.size;
        await eventually(() => assert.ok(accepted.size > before), 30_000);
      }
    };
    try {
      await more(500);
      const stopped = listening.stop();
      await more(200);
      assert.equal(await stopped, 0);
      listening = await start({ ROLES: 'http' });
      await more(500);
      // A busy machine may take so long to open connections that few of them could be broken by now.
      await eventually(() => {
        for (const client of clients) assert.ok(client.connections() > 3, `${client.connections()} connections`);
      });
    } finally {
      isOver = true;
      await Promise.all(lanes);
    }

    await eventually(() => assert.equal(witness.responseIds().length, accepted.size), 20_000);
    for (const client of clients) {
      await eventually(() => assert.equal(client.seen.size, accepted.size), 20_000);
      assert.deepEqual([...client.seen], witness.responseIds(), 'all of it, in the same order');
      assert.equal(client.doubles(), 0);
    }
    await Promise.all(clients.map((client) => client.stop()));
  });

  it('reach every listener on any of several WORKERS', async () => {
    const service = await start({ WORKERS: '2', PORT: String(await quietPort()) });
    const admin = await adminClient(service);
    const token = await signIn(admin);
    const survey = await admin.create('/surveys', { title: 'Workers', status: 'ACTIVE' });
    const all = await Promise.all(
      Array.from({ length: 16 }, () =>
        listen(service, token, { surveyId: survey.id, channels: ['responses', 'status'] }),
      ),
    );
    const accepted = new Set<string>();
    await Promise.all(
      Array.from({ length: 40 }, async () =>
        accepted.add((await createClient(service).submit(survey.id, { answers: [] })).body.data.responseId),
      ),
    );
    await eventually(() => {
      for (const live of all) assert.equal(live.responseIds().length, accepted.size);
    });
    for (const live of all) {
      assert.deepEqual(live.responseIds(), all[0]?.responseIds(), 'the same order everywhere');
      assert.deepEqual(new Set(live.responseIds()), accepted);
    }
    await admin.put(`/surveys/${survey.id}`, { status: 'PAUSED' });
    for (const live of all) await live.next('status', ({ status }) => status === 'PAUSED');
  });
});
