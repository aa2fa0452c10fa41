import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { newId } from '../../src/platform/ids.ts';
import { adminClient, type Client, createClient } from '../support/client.ts';
import { temporaryDataDir } from '../support/data-dir.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';

/**
 * Kills processes of a whole installation at random while clients keep submitting, each retrying with its own key until
 * it gets an answer. What was acknowledged must be there once, what was refused for good must not, and the run must
 * have hurt: without a failed call it proves nothing.
 */
describe('kill -9 under load', () => {
  const dataDir = temporaryDataDir();
  const started: RunningService[] = [];
  after(async () => {
    for (const service of started) await service.stop().catch(() => undefined);
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = async (env: Record<string, string> = {}) => {
    const service = await startService({ dataDir, env });
    started.push(service);
    return service;
  };

  /** Process ids of the children whose pid files lie under the data directory. */
  function childPids(): number[] {
    const found: number[] = [];
    for (const store of readdirSync(dataDir, { withFileTypes: true })) {
      if (!store.isDirectory()) continue;
      try {
        const { pid } = JSON.parse(readFileSync(join(dataDir, store.name, 'pid'), 'utf8'));
        found.push(pid);
      } catch {
        // not a store's directory, or the store is just being started again
      }
    }
    return found;
  }

  it('loses nothing and duplicates nothing while stores and service are killed', async () => {
    let service = await start();
    const admin = await adminClient(service);
    const survey = await admin.create('/surveys', { title: 'Chaos', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'NUMBER', text: 'n' });
    const acknowledged = new Map<string, number>();
    let failedCalls = 0;
    let isOver = false;
    /** Submitters would otherwise retry for ever, and keep the file from ending. */
    let hasFailed = false;

    const submitter = async (lane: number) => {
      for (let n = 0; !isOver; n += 1) {
        const key = `${lane}-${n}`;
        const responseId = newId();
        while (!hasFailed) {
          try {
            const reply = await createClient(service).submit(
              survey.id,
              { responseId, answers: [{ questionId: question.id, numberValue: lane * 1e6 + n }] },
              { 'idempotency-key': key },
            );
            if (reply.status === 201) {
              acknowledged.set(reply.body.data.responseId, lane * 1e6 + n);
              break;
            }
            assert.equal(reply.status, 503, JSON.stringify(reply.body));
            failedCalls += 1;
          } catch (error) {
            if (error instanceof assert.AssertionError) throw error;
            failedCalls += 1;
          }
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    };
    const lanes = Promise.all(Array.from({ length: 16 }, (_, lane) => submitter(lane)));
    const more = async (count: number) => {
      const goal = acknowledged.size + count;
      await eventually(() => assert.ok(acknowledged.size >= goal), 60_000);
    };

    try {
      for (let round = 0; round < 4; round += 1) {
        await more(300);
        const pids = childPids();
        assert.ok(pids.length >= 3, `pid files under the data directory: ${pids.length}`);
        const victim = pids[round % pids.length];
        if (victim !== undefined) process.kill(victim, 'SIGKILL');
      }
      await more(300);
      await service.kill();
      for (const pid of childPids()) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // it ended with its parent
        }
      }
      service = await start();
      await more(300);
    } catch (error) {
      hasFailed = true;
      throw error;
    } finally {
      isOver = true;
    }
    await lanes;
    assert.ok(failedCalls > 0, 'no call failed: the kills did not bite');

    const late = await adminClient(service);
    await eventually(
      async () => assert.equal((await late.get(`/analytics/surveys/${survey.id}`)).totalResponses, acknowledged.size),
      60_000,
    );
    const stored = await allResponses(late, survey.id);
    assert.equal(stored.size, acknowledged.size);
    for (const [id, value] of acknowledged) assert.equal(stored.get(id), value, `response ${id}`);
    assert.equal((await late.get(`/surveys/${survey.id}`)).responseCount, acknowledged.size);
  });
});

async function allResponses(client: Client, surveyId: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  let cursor = '';
  do {
    const reply = await client.call(
      'GET',
      `/responses/surveys/${surveyId}?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    assert.equal(reply.status, 200);
    for (const response of reply.body.data) {
      assert.ok(!found.has(response.id), `response ${response.id} is listed twice`);
      found.set(response.id, response.answers[0].numberValue);
    }
    cursor = reply.body.pagination.nextCursor ?? '';
  } while (cursor !== '');
  return found;
}
