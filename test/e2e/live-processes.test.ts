import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { adminClient, createClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { openEvents, openLive, type LiveSocket } from '../support/live-client.ts';
import { adminEmail, adminPassword, startService, temporaryDataDir, type RunningService } from '../support/service.ts';
import { sharedStores, type SharedStores } from '../support/stores.ts';

async function signIn(admin: Client): Promise<string> {
  return (await admin.call('POST', '/auth/login', { body: { email: adminEmail, password: adminPassword } })).body.data.accessToken;
}

describe('live streams across HTTP processes', () => {
  let stores: SharedStores;
  // One for all: they sign with the same keys.
  const dataDir = temporaryDataDir();
  const started: RunningService[] = [];
  const open: LiveSocket[] = [];
  before(async () => (stores = await sharedStores()));
  after(async () => {
    for (const { socket } of open) socket.terminate();
    for (const service of started) await service.stop();
    await stores?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const start = async (env: Record<string, string>): Promise<RunningService> => {
    const { redisUrl, redisJobsUrl, databaseUrl, clickhouseUrl } = stores;
    const urls = { REDIS_URL: redisUrl, REDIS_JOBS_URL: redisJobsUrl, DATABASE_URL: databaseUrl, CLICKHOUSE_URL: clickhouseUrl };
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

  it('bring what another process accepted, in order, before anything has stored it in ClickHouse', async () => {
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
    await eventually(() => assert.deepEqual(live.responseIds(), ids), 2000);
    await eventually(() => assert.deepEqual(events.events.filter(({ event }) => event === 'response').map(({ data }) => data.responseId), ids), 2000);
    const late = await listen(accepting, token, { surveyId: survey.id, after: live.messages.find(({ responseId }) => responseId === ids[4])?.['cursor'] });
    await eventually(() => assert.deepEqual(late.responseIds(), ids.slice(5)), 2000);
    events.close();
  });

  it('reach every listener whichever of several WORKERS it is connected to', async () => {
    const service = await start({ WORKERS: '2', PORT: String(await freePort()) });
    const admin = await adminClient(service);
    const token = await signIn(admin);
    const survey = await admin.create('/surveys', { title: 'Workers', status: 'ACTIVE' });
    const all = await Promise.all(Array.from({ length: 16 }, () => listen(service, token, { surveyId: survey.id, channels: ['responses', 'status'] })));
    const accepted = new Set<string>();
    await Promise.all(Array.from({ length: 40 }, async () => accepted.add((await createClient(service).submit(survey.id, { answers: [] })).body.data.responseId)));
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

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}
