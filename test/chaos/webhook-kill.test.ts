import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { newId } from '../../src/ids.ts';
import { adminClient, createClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startService, temporaryDataDir, type RunningService } from '../support/service.ts';
import { startReceiver, type Receiver } from '../support/webhook-receiver.ts';

const env = { WEBHOOK_ALLOW_PRIVATE: 'true' };
const kills = 2;
const storeKills = 1;
const eachTime = 400;

/** Process ids of the stores, by the names of their folders. */
function storePids(dataDir: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const { name } of readdirSync(dataDir, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    try {
      found.set(name, JSON.parse(readFileSync(join(dataDir, name, 'pid'), 'utf8')).pid);
    } catch {
      // not a store's folder
    }
  }
  return found;
}

describe('webhooks under kill -9', () => {
  const dataDir = temporaryDataDir();
  const started: RunningService[] = [];
  let receiver: Receiver | undefined;
  after(async () => {
    for (const service of started) await service.stop().catch(() => undefined);
    await receiver?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const start = async () => {
    const service = await startService({ dataDir, env });
    started.push(service);
    return service;
  };

  it('tell of everything that was committed, at least once, each under one id', async () => {
    const target = (receiver = await startReceiver((_received, reply) => void setTimeout(() => reply.writeHead(200).end(), 5)));
    let service = await start();
    const admin = await adminClient(service);
    const survey = await admin.create('/surveys', { title: 'Killed', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'NUMBER', text: 'n' });
    const hook = await admin.create('/webhooks', { url: target.url, events: ['response.submitted', 'response.completed'], surveyId: survey.id });
    const committed = new Set<string>();
    let [isOver, goal] = [false, 0];
    const submitter = async () => {
      while (!isOver) {
        if (committed.size >= goal) {
          await new Promise((resolve) => setTimeout(resolve, 5));
          continue;
        }
        const responseId = newId();
        const reply = await createClient(service).submit(survey.id, { responseId, answers: [{ questionId: question.id, numberValue: 1 }] }).catch(() => undefined);
        if (reply?.status === 201) committed.add(responseId);
        else await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const lanes = Array.from({ length: 8 }, submitter);
    for (let n = 1; n <= kills; n += 1) {
      const before = target.received.length;
      goal = n * eachTime;
      // In the midst of deliveries: some have arrived, most have not.
      await eventually(() => assert.ok(committed.size >= goal / 2 && target.received.length >= before + 50), 60_000, 1);
      assert.ok(target.received.length < goal, 'deliveries are under way');
      await service.kill();
      service = await start();
    }
    for (let n = 1; n <= storeKills; n += 1) {
      goal += eachTime;
      const before = target.received.length;
      await eventually(() => assert.ok(target.received.length >= before + 50), 60_000, 1);
      const pids = storePids(dataDir);
      const victims = [...pids].filter(([name]) => /postgres|jobs/i.test(name));
      assert.equal(victims.length, 2, `Postgres and the Redis for jobs are among ${[...pids.keys()].join(', ')}`);
      for (const [, pid] of victims) process.kill(pid, 'SIGKILL');
    }
    goal += eachTime;
    await eventually(() => assert.ok(committed.size >= goal), 60_000);
    isOver = true;
    await Promise.all(lanes);

    const events = () => {
      const found = new Map<string, Set<string>>();
      for (const { id, content } of target.verified(hook.secret)) {
        const key = `${content.event} ${content.data.responseId}`;
        found.set(key, (found.get(key) ?? new Set()).add(id));
      }
      return found;
    };
    const wanted = [...committed].flatMap((id) => [`response.submitted ${id}`, `response.completed ${id}`]);
    const told = await eventually(() => {
      const found = events();
      assert.deepEqual(wanted.filter((key) => !found.has(key)), []);
      return found;
    }, 120_000, 500);
    assert.ok([...told.values()].every((ids) => ids.size === 1), 'the same webhook-id on every attempt');
    const repeated = target.received.length - told.size;
    // At most what was under way or not yet written down when the process died.
    assert.ok(repeated <= (kills + storeKills) * 20, `${repeated} of ${target.received.length} requests were repetitions`);
  });
});
