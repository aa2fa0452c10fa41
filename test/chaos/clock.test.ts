import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runningStores } from '../../src/stores/embedded/start-stores.ts';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { adminEmail, adminPassword, type RunningService, startService } from '../support/service.ts';
import { openStoresOf, urlsOf } from '../support/service-stores.ts';

const hourMs = 3_600_000;

/**
 * The clock of the service is set while it works; those of its stores, which are its own lest others' work is thought
 * to be due, stay.
 */
describe('a service whose clock is set forward and back', () => {
  const folder = mkdtempSync(join(tmpdir(), 'survey-clock-'));
  const file = join(folder, 'offset');
  const dataDir = temporaryDataDir();
  let service: RunningService;
  let admin: Client;
  const start = async (): Promise<void> => {
    const preload = new URL('../support/moved-clock.js', import.meta.url);
    service = await startService({
      dataDir,
      env: { NODE_OPTIONS: `--import ${preload.href}`, MOVED_CLOCK_FILE: file, ACCESS_TOKEN_TTL_SECONDS: '900' },
    });
    admin = await adminClient(service);
  };
  before(async () => {
    writeFileSync(file, '0');
    await start();
  });
  after(async () => {
    assert.equal(await service.stop(), 0);
    for (const made of [folder, dataDir]) rmSync(made, { recursive: true, force: true });
  });

  /** The service's clock: the window of a limit ends within a minute of it. */
  async function shownOffsetMs(): Promise<number> {
    const { headers } = await createClient(service).call('GET', '/surveys');
    return Number(headers.get('x-ratelimit-reset')) * 1000 - 30_000 - Date.now();
  }

  async function move(offsetMs: number): Promise<void> {
    writeFileSync(file, String(offsetMs));
    process.kill(service.pid, 'SIGUSR2');
    await eventually(async () => assert.ok(Math.abs((await shownOffsetMs()) - offsetMs) < 60_000));
  }

  it('loses and duplicates no submission, and all become visible in time', async () => {
    const { id } = await admin.create('/surveys', { title: 'Hours', status: 'ACTIVE' });
    const accepted = new Set<string>();
    let isOver = false;
    const lanes = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!isOver) {
          const { status, body } = await admin.submit(id, { answers: [] });
          assert.equal(status, 201, JSON.stringify(body));
          accepted.add(body.data.responseId);
        }
      }),
    );
    for (const offsetMs of [hourMs, 0, -hourMs, hourMs, -hourMs, 0, hourMs, 0, -hourMs, 0]) await move(offsetMs);
    isOver = true;
    await lanes;
    const reader = await adminClient(service);
    await eventually(
      async () => assert.equal((await reader.get(`/analytics/surveys/${id}`)).totalResponses, accepted.size),
      20_000,
    );
    assert.equal((await reader.get(`/surveys/${id}`)).responseCount, accepted.size);
  });

  it('opens and closes surveys at their dates, within seconds', async () => {
    const [ending, beginning] = await Promise.all([
      admin.create('/surveys', {
        title: 'Ends',
        status: 'ACTIVE',
        endsAt: new Date(Date.now() + hourMs / 2).toISOString(),
      }),
      admin.create('/surveys', {
        title: 'Begins',
        status: 'ACTIVE',
        startsAt: new Date(Date.now() + hourMs / 2).toISOString(),
      }),
    ]);
    const outcome = async (id: string) => {
      const { status, body } = await createClient(service).submit(id, { answers: [] });
      return [status, body.details?.reason];
    };
    assert.deepEqual(
      [await outcome(ending.id), await outcome(beginning.id)],
      [
        [201, undefined],
        [409, 'SURVEY_NOT_OPEN_YET'],
      ],
    );
    await move(-hourMs);
    assert.deepEqual(
      [await outcome(ending.id), await outcome(beginning.id)],
      [
        [201, undefined],
        [409, 'SURVEY_NOT_OPEN_YET'],
      ],
    );
    await move(hourMs);
    await eventually(async () => assert.deepEqual(await outcome(beginning.id), [201, undefined]), 20_000);
    await eventually(async () => assert.equal((await outcome(ending.id))[0], 409), 20_000);
    await move(0);
  });

  it('expires access tokens by its clock, and allows sign-ins at any time', async () => {
    const first = await adminClient(service);
    await move(hourMs);
    assert.equal((await first.call('GET', '/auth/me')).status, 401);
    const second = await adminClient(service);
    assert.equal((await second.call('GET', '/auth/me')).status, 200);
    await move(0);
    for (const client of [first, second]) assert.equal((await client.call('GET', '/auth/me')).status, 200);
    const { status } = await createClient(service).call('POST', '/auth/login', {
      body: { email: adminEmail, password: adminPassword },
    });
    assert.equal(status, 200);
  });

  it('neither lifts nor prolongs a submission limit', async () => {
    for (const offsetMs of [hourMs, -hourMs, 0]) {
      // A survey for each move, whose window of a minute begins just before it.
      const owner = await adminClient(service);
      const { id } = await owner.create('/surveys', { title: 'Limited', status: 'ACTIVE', submissionRateLimit: 3 });
      const submit = () => createClient(service).submit(id, { answers: [] });
      const statuses: number[] = [];
      for (let n = 0; n < 4; n += 1) statuses.push((await submit()).status);
      assert.deepEqual(statuses, [201, 201, 201, 429]);
      await move(offsetMs);
      const reply = await submit();
      assert.equal(reply.status, 429);
      assert.ok(Number(reply.headers.get('retry-after')) <= 60);
    }
  });

  it('erases what is too old, and no more, when it starts with a clock that is a year ahead', async () => {
    const stores = await openStoresOf(service, urlsOf(runningStores(dataDir)));
    await eventually(async () => assert.equal((await stores.sql`SELECT FROM settled_clock`).length, 1), 30_000);
    await stores.close();
    // Ages are looked at again ten minutes later, or after a start; those of the first survey come first.
    await move(-36 * hourMs);
    const owner = await adminClient(service);
    const newSurvey = async (): Promise<string> =>
      (await owner.create('/surveys', { title: 'Kept for a day', status: 'ACTIVE', retentionDays: 1 })).id;
    const [recent, old] = [await newSurvey(), await newSurvey()];
    assert.equal((await owner.submit(old, { answers: [] })).status, 201);
    await move(0);
    assert.equal((await owner.submit(recent, { answers: [] })).status, 201);
    assert.equal(await service.stop(), 0);
    writeFileSync(file, String(365 * 24 * hourMs));
    await start();
    const count = async (id: string): Promise<number> => (await admin.get(`/responses/surveys/${id}`)).length;
    await eventually(async () => assert.equal(await count(old), 0), 30_000);
    assert.match(service.logs(), /the clock has gone ahead by more than two days/);
    assert.equal(await count(recent), 1);
    await move(0);
  });
});
