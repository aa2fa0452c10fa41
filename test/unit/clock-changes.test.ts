import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { createConsistentReads } from '../../src/actors/consistent-reads.ts';
import { createSurveyActors } from '../../src/actors/survey-actors.ts';
import type { SurveyWithQuestions } from '../../src/domain/survey.ts';
import { healthRoutes } from '../../src/http/routes/health.ts';
import { createLog } from '../../src/log.ts';
import { createIngest } from '../../src/pipelines/ingest/ingest.ts';
import type { Stream, StreamEntry } from '../../src/stores/redis/intake/stream.ts';
import { eventually } from '../support/eventually.ts';
import { acceptingSink, noMemoryPressure, streamEntry } from '../support/intake.ts';
import { startLoopback } from '../support/loopback-server.ts';
import { fullSurvey } from '../support/questions.ts';

const hourMs = 3_600_000;

/** Actors whose wall clock the test sets; what is loaded may come to be later. */
function actorsAt(nowMs: number, survey: SurveyWithQuestions) {
  const clock = { nowMs, monotonicMs: 0, isThere: true };
  const actors = createSurveyActors({
    audit: { record: async () => undefined },
    surveys: {
      load: async () => (clock.isThere ? survey : undefined),
      change: () => Promise.reject(new Error('not asked for')),
    },
    intake: {
      announce: async () => true,
      restoreDeleted: async () => true,
      revision: async () => undefined,
      counts: async () => undefined,
      filling: async () => undefined,
      markDeleted: async () => undefined,
    },
    countResponses: async () => ({ total: 0, complete: 0 }),
    broadcast: () => undefined,
    now: () => clock.nowMs,
    monotonicMs: () => clock.monotonicMs,
    log: createLog('silent'),
    metrics: { surveysCached: () => undefined },
  });
  return { actors, clock };
}

describe('a clock that is set', () => {
  it('an hour forward opens a survey that is due within seconds, and back before its start opens none', async () => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    const nowMs = Date.parse('2026-03-01T00:00:00Z');
    const { actors, clock } = actorsAt(nowMs, {
      ...fullSurvey().survey,
      status: 'ACTIVE',
      startsAt: new Date(nowMs + hourMs / 2),
      endsAt: null,
    });
    try {
      const held = await actors.lookUp(fullSurvey().survey.id);
      const isOpen = () => held?.actor.getSnapshot().hasTag('accepting');
      clock.nowMs -= hourMs;
      mock.timers.tick(hourMs / 2);
      assert.equal(isOpen(), false);
      clock.nowMs += 2 * hourMs;
      mock.timers.tick(6000);
      assert.equal(isOpen(), true);
    } finally {
      actors.stop();
      mock.timers.reset();
    }
  });

  it('an hour back does not make a survey unknown for an hour if it was requested just before its creation', async () => {
    const { survey } = fullSurvey();
    const { actors, clock } = actorsAt(Date.parse('2026-03-01T00:00:00Z'), survey);
    try {
      clock.isThere = false;
      assert.equal(await actors.lookUp(survey.id), undefined);
      clock.isThere = true;
      clock.nowMs -= hourMs;
      clock.monotonicMs += 1100;
      assert.ok(await actors.lookUp(survey.id));
    } finally {
      actors.stop();
    }
  });

  it('an hour back while a batch is stored does not delay the next one', async () => {
    let nowMs = Date.parse('2026-03-01T00:00:00Z');
    const entry = (n: number): StreamEntry => streamEntry(`${n}-0`);
    const entries = [entry(1)];
    const stream: Partial<Stream> = {
      lease: async (shard, name) => ({ shard, name, fence: 1 }),
      acknowledged: async () => '0-0',
      dispatched: async () => '0-0',
      markStored: async () => true,
      acknowledge: async () => true,
      markDispatched: async () => true,
      trim: async () => undefined,
      release: async () => true,
      readAfter: async (_, id) => entries.filter((one) => Number(one.id.split('-')[0]) > Number(id.split('-')[0])),
      stats: async () => ({ length: 0, lag: 0, oldest: undefined, unforwarded: undefined }),
      countDeadLetters: async () => 0,
    };
    const stored: string[] = [];
    const nothing = () => undefined;
    const ingest = createIngest({
      stream: stream as Stream,
      shards: [{ index: 0, stream: 's', prefix: 'p' }],
      forward: async () => undefined,
      onStored: () => undefined,
      memory: noMemoryPressure,
      storedRows: undefined,
      isDeleted: async () => false,
      name: 'one',
      now: () => nowMs,
      log: createLog('silent'),
      metrics: {
        inserted: nothing,
        insertRetried: nothing,
        deadLettered: nothing,
        ingestFenced: nothing,
        rowsMissing: nothing,
        rechecked: nothing,
        shardState: nothing,
        shardUnknown: nothing,
      },
      sink: acceptingSink(async ({ lines }) => {
        nowMs -= hourMs;
        stored.push(lines.toString());
        if (entries.length < 3) entries.push(entry(entries.length + 1));
        return { kind: 'stored' };
      }),
    });
    ingest.start();
    try {
      await eventually(() => assert.equal(stored.length, 3), 20_000);
    } finally {
      await ingest.stop();
    }
  });

  it('an hour back does not freeze the cached readiness', async () => {
    mock.timers.enable({ apis: ['Date'], now: 2 * hourMs });
    let writes = 0;
    const server = await startLoopback({
      root: healthRoutes({
        isDraining: () => false,
        fullIntakeProblem: () => undefined,
        writeToIntake: async () => {
          writes += 1;
          return writes;
        },
        dependencies: {},
      }),
    });
    try {
      await fetch(`${server.origin}/health/ready`);
      mock.timers.setTime(hourMs);
      await eventually(async () => {
        await fetch(`${server.origin}/health/ready`);
        assert.ok(writes > 1);
      }, 5000);
    } finally {
      mock.timers.reset();
      await server.stop();
    }
  });

  it('an hour back does not prolong a read that waits for ingest', async () => {
    mock.timers.enable({ apis: ['Date'], now: 2 * hourMs });
    const never = () => Promise.reject(new Error('not to be asked'));
    const shard = { index: 0, stream: 's', prefix: 'p' };
    let asked = 0;
    const reading = createConsistentReads({
      timeoutMs: 100,
      responses: { findAll: never, wasDeleted: never, hasAnswersAt: never },
      deadLetters: { has: never, ofResponse: never, withResponseId: never },
      shards: { all: [shard], of: () => shard },
      stream: {
        newestId: async () => '2-0',
        isDeleted: never,
        acknowledged: async () => {
          asked += 1;
          mock.timers.setTime(hourMs);
          return '1-0';
        },
      },
    });
    try {
      await assert.rejects(reading.caughtUp('any'), { code: 'SERVICE_UNAVAILABLE' });
      assert.ok(asked > 1);
    } finally {
      mock.timers.reset();
    }
  });
});
