import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';
import { assertRefusedInTime, assertWithin } from '../support/time-bars.ts';

/**
 * Stops one store at a time (SIGSTOP: the connection stays, the answers do not come) and looks at what clients get
 * meanwhile.
 */
describe('a store that is away', () => {
  const dataDir = temporaryDataDir();
  let service: RunningService;
  let admin: Client;
  let surveyId: string;
  const accepted = new Set<string>();
  const refusalsMs: number[] = [];

  before(async () => {
    service = await startService({ dataDir });
    admin = await adminClient(service);
    surveyId = (await admin.create('/surveys', { title: 'Outage', status: 'ACTIVE' })).id;
    await submit(201);
  });
  after(async () => {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const pidOf = (store: string): number => JSON.parse(readFileSync(join(dataDir, store, 'pid'), 'utf8')).pid;

  /**
   * Submits under an id of the client's own, which may be sent again: what was refused for lack of an answer may have
   * been stored all the same.
   */
  async function submit(expected: 201 | 503, responseId: string = randomUUID()): Promise<string> {
    const startedAt = performance.now();
    const reply = await admin.submit(surveyId, { responseId, answers: [] });
    assert.equal(reply.status, expected, JSON.stringify(reply.body));
    if (expected === 201) accepted.add(responseId);
    else {
      assert.equal(reply.body.code, 'SERVICE_UNAVAILABLE');
      assert.ok(Number(reply.headers.get('retry-after')) >= 1);
      refusalsMs.push(performance.now() - startedAt);
    }
    return responseId;
  }

  let asked = 0;
  /**
   * Asks all that reads from ClickHouse at once, counts of what nobody has counted yet; gives the milliseconds until
   * the last was refused.
   */
  async function readingRefusedMs(): Promise<number> {
    const startedAt = performance.now();
    const counts = `/analytics/surveys/${surveyId}?startDate=${new Date(++asked).toISOString()}`;
    await Promise.all(
      [counts, `/responses/surveys/${surveyId}`, `/responses/${[...accepted][0]}`].map(async (path) => {
        const reply = await admin.call('GET', path);
        assert.deepEqual([reply.status, reply.body.code], [503, 'SERVICE_UNAVAILABLE'], path);
        assert.ok(Number(reply.headers.get('retry-after')) >= 1);
      }),
    );
    return performance.now() - startedAt;
  }

  async function whileStopped(store: string, look: () => Promise<void>): Promise<void> {
    const pid = pidOf(store);
    process.kill(pid, 'SIGSTOP');
    try {
      await look();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  const countIs = (count: number) =>
    eventually(
      async () => assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, count),
      30_000,
    );

  it('the intake: submissions are refused in time, and taken again without a restart', async () => {
    const refused: string[] = [];
    await whileStopped('redis-intake', async () => {
      refused.push(await submit(503), await submit(503));
    });
    assertRefusedInTime(refusalsMs);
    for (const responseId of refused) await eventually(() => submit(201, responseId), 15_000);
    await countIs(accepted.size);
  });

  it('ClickHouse: submissions go on, reading is refused, nothing is lost', async () => {
    await whileStopped('clickhouse', async () => {
      for (let n = 0; n < 20; n += 1) await submit(201);
      // The first callers wait four seconds for a reply; later ones are refused at once.
      const [first, then] = [await readingRefusedMs(), await readingRefusedMs()];
      assertWithin(10_000, first, 'the first refusal');
      assertWithin(Math.max(1000, first / 2), then, 'a later refusal');
    });
    await eventually(
      async () => assert.equal((await admin.call('GET', `/responses/surveys/${surveyId}`)).status, 200),
      15_000,
    );
    await countIs(accepted.size);
  });

  it('Postgres: submissions go on from memory, the control plane is refused', async () => {
    await submit(201);
    const pid = pidOf('postgres');
    process.kill(pid, 'SIGKILL');
    await submit(201);
    await eventually(async () => assert.equal((await admin.call('GET', `/surveys/${surveyId}`)).status, 200), 20_000);
    await submit(201);
    await countIs(accepted.size);
  });

  it('no reply was INTERNAL_ERROR', () => {
    assert.ok(
      !service.logs().includes('a handler failed'),
      service
        .logs()
        .split('\n')
        .find((line) => line.includes('a handler failed')),
    );
  });
});
