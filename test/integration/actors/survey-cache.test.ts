import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Redis } from 'ioredis';
import { createSubmissions } from '../../../src/actors/submissions/submit.ts';
import { createSurveyActors } from '../../../src/actors/survey-actors.ts';
import type { CellQuota } from '../../../src/domain/quotas/cell-quota.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { notFound } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import { createSharedRedis, createWaitingRedis } from '../../../src/stores/redis/clients.ts';
import { createIntake, type Intake } from '../../../src/stores/redis/intake/intake.ts';
import { createShards, surveyKey } from '../../../src/stores/redis/intake/shards.ts';
import { createPubSub } from '../../../src/stores/redis/pub-sub.ts';
import { emptySubmission } from '../../support/bare-submissions.ts';
import { eventually } from '../../support/eventually.ts';
import { connectPatiently, openPatientRedis } from '../../support/patient-redis.ts';
import { blankSurvey } from '../../support/questions.ts';
import { sharedStores } from '../../support/stores.ts';

const log = createLog('silent');
const shards = createShards(2);

describe('cached surveys and the intake', () => {
  let redis: Redis;
  let intake: Intake;
  let url: string;
  before(async () => {
    url = new URL('/7', (await sharedStores()).redisUrl).href;
    redis = await openPatientRedis(url);
    intake = createIntake({ redis, shards, metrics: { committed: () => undefined, submitted: () => undefined } });
  });
  after(async () => void (await redis.quit()));

  /** A process with a survey in its row; what is asked for meanwhile may be held up. */
  async function holding(fields: Partial<SurveyWithQuestions> = {}) {
    const row: { survey: SurveyWithQuestions | undefined } = { survey: { ...blankSurvey(), id: newId(), ...fields } };
    const given = row.survey ?? assert.fail();
    const events: string[] = [];
    const world = {
      loads: 0,
      changes: Promise.resolve(given),
      beforeLoad: async (): Promise<void> => undefined,
      afterLoad: async (): Promise<void> => undefined,
      beforeAnnounce: async (): Promise<void> => undefined,
    };
    const actors = createSurveyActors({
      audit: { record: async () => undefined },
      surveys: {
        load: async () => {
          world.loads += 1;
          await world.beforeLoad();
          const found = row.survey;
          await world.afterLoad();
          return found;
        },
        // One after the other, as a locked row lets them.
        change: (_id, decide) => {
          world.changes = world.changes.then(async () => {
            const current = row.survey;
            if (!current) throw notFound('survey');
            const change = await decide(current, undefined as never);
            if (change)
              row.survey = { ...change.survey, revision: Math.max(current.revision, change.survey.revision) + 1 };
            for (const { kind } of change?.events ?? []) events.push(kind);
            return row.survey ?? assert.fail();
          });
          return world.changes;
        },
      },
      intake: {
        ...intake,
        announce: async (facts) => {
          await world.beforeAnnounce();
          return intake.announce(facts);
        },
      },
      countResponses: async () => ({ total: 0, complete: 0 }),
      broadcast: () => undefined,
      now: Date.now,
      log,
      metrics: { surveysCached: () => undefined },
    });
    const never = () => Promise.reject(new Error('not to be asked'));
    const send = createSubmissions({
      actors: { ...actors, quotaFilled: async () => given },
      intake,
      uploads: { reserve: never, release: never },
      findStored: never,
      restore: never,
      findRecords: never,
      submitLimit: 1000,
      pressure: () => undefined,
      quotaCounts: async () => new Map(),
      formerVersions: { forSubmission: async () => 'gone', ofResponse: async (present) => present },
      mayHaveLegacyKeys: () => false,
      now: Date.now,
      secrets: { resumeToken: () => 't', isResumeToken: () => true, keyedHash: (_surveyId, address) => address },
      newId: () => newResponseId(),
      onBackgroundError: (error) => assert.fail(String(error)),
    });
    const submit = async (): Promise<string> => {
      const outcome = await send({
        surveyId: given.id,
        submission: emptySubmission,
        problem: undefined,
        issues: [],
        body: {},
        idempotencyKey: undefined,
        surveyToken: undefined,
        address: 'here',
      });
      if (outcome.kind !== 'refused') return outcome.kind;
      const { details } = outcome.problem;
      return details && 'reason' in details ? String(details.reason) : outcome.problem.code;
    };
    await actors.add(given);
    return { id: given.id, row, events, world, actors, submit };
  }

  for (const [when, letGo] of [
    ['at once', async () => undefined],
    ['after days', async (id: string) => void (await redis.del(surveyKey(shards.of(id), id)))],
  ] as const)
    it(`do not accept submissions to a survey that was deleted without a notification, ${when}`, async () => {
      const { id, row, actors, submit } = await holding();
      try {
        assert.equal(await submit(), 'accepted');
        row.survey = undefined;
        await intake.markDeleted(id);
        await intake.removeSurvey(id);
        await letGo(id);
        assert.equal(await submit(), 'unknown survey');
        assert.equal(await intake.counts(id), undefined);
        assert.equal(actors.peek(id), undefined);
      } finally {
        actors.stop();
      }
    });

  it('leave only a mark of a deleted survey, for two days', async () => {
    const { id, actors } = await holding();
    actors.stop();
    await intake.markDeleted(id);
    await intake.removeSurvey(id);
    const key = surveyKey(shards.of(id), id);
    assert.deepEqual(await redis.hgetall(key), { rev: String(Number.MAX_SAFE_INTEGER) });
    assert.ok((await redis.ttl(key)) > 0 && (await redis.ttl(key)) <= 48 * 3600);
    assert.equal(
      await intake.announce({ surveyId: id, revision: 5, quota: null, codePositions: 0, total: 0, completed: 0 }),
      false,
    );
    await intake.deleteResponse({
      surveyId: id,
      responseId: newId(),
      submittedAtMs: 1,
      outcome: 'COMPLETED',
      row: '["gone"]',
    });
    assert.equal(await intake.counts(id), undefined);
  });

  it('close when the last seat was taken, although a response was deleted before the notification', async () => {
    const { id, row, events, actors, submit } = await holding({ responseQuota: 2 });
    try {
      assert.deepEqual([await submit(), await submit()], ['accepted', 'accepted']);
      await intake.deleteResponse({
        surveyId: id,
        responseId: newId(),
        submittedAtMs: 1,
        outcome: 'COMPLETED',
        row: '["gone"]',
      });
      assert.equal(await submit(), 'QUOTA_REACHED');
      await Promise.all([actors.quotaFilled(id), actors.quotaFilled(id)]);
      assert.deepEqual([row.survey?.status, row.survey?.closedReason, events], ['CLOSED', 'QUOTA', ['quota.reached']]);
      assert.equal((await actors.setStatus(id, 'ACTIVE', 'update')).status, 'ACTIVE');
      await actors.quotaFilled(id);
      assert.equal(row.survey?.status, 'ACTIVE', 'the old filling says nothing of the survey that was opened again');
      assert.deepEqual([await submit(), await submit()], ['accepted', 'QUOTA_REACHED']);
    } finally {
      actors.stop();
    }
  });

  it('close when the last seat of a lowered quota is taken before the intake knows the quota', async () => {
    const { id, row, events, world, actors, submit } = await holding({ responseQuota: 9 });
    try {
      assert.equal(await submit(), 'accepted');
      world.beforeAnnounce = async () => {
        world.beforeAnnounce = async () => undefined;
        assert.equal(await submit(), 'accepted');
      };
      const saved = await actors.edit(id, (current) => ({ survey: { ...current, responseQuota: 2 } }));
      assert.deepEqual([saved.status, row.survey?.closedReason, events], ['CLOSED', 'QUOTA', ['quota.reached']]);
    } finally {
      actors.stop();
    }
  });

  for (const when of ['before', 'after'] as const)
    it(`close when a quota by cell is filled while the survey is edited, ${when} the notification`, async () => {
      const quota: CellQuota = {
        id: newId(),
        code: 1,
        name: 'English',
        limit: 1,
        where: { language: ['en'] },
        counts: 'COMPLETED',
        whenFull: 'CLOSE',
        isActive: true,
        version: 1,
      };
      const { id, row, events, world, actors, submit } = await holding({ quotas: [quota], responseQuota: 100 });
      const rename = (title: string) => actors.edit(id, (current) => ({ survey: { ...current, title } }));
      try {
        const freeze = await intake.freeze(id, 5000);
        const removals = await intake.quotas.removals(id);
        const counting = await intake.quotas.beginCount(id, { frozen: freeze?.frozen ?? '', removals });
        await freeze?.release();
        await counting?.end([{ code: 1, version: 1, count: 0 }]);
        world.beforeAnnounce = async () => {
          world.beforeAnnounce = async () => undefined;
          assert.equal(await submit(), 'accepted');
          if (when === 'before') await actors.quotaFilled(id);
        };
        await rename('Changed');
        if (when === 'after') await actors.quotaFilled(id);
        assert.deepEqual(
          [row.survey?.status, row.survey?.closedReason, events],
          ['CLOSED', 'QUOTA', []],
          'nor is the quota of the survey reached',
        );
        assert.equal((await actors.setStatus(id, 'ACTIVE', 'update')).status, 'ACTIVE', 'it may be opened again');
        assert.equal((await rename('Changed again')).status, 'ACTIVE');
        assert.equal(await submit(), 'QUOTA_REACHED');
        await actors.quotaFilled(id);
        assert.deepEqual([row.survey?.status, events], ['CLOSED', []]);
      } finally {
        actors.stop();
      }
    });

  it('follow a PostgreSQL that was restored to an earlier time, also in processes without a notification', async () => {
    const former = await holding();
    const before = former.row.survey ?? assert.fail();
    const edit = (title: string) => former.actors.edit(former.id, (current) => ({ survey: { ...current, title } }));
    for (const title of ['Second', 'Third', 'Fourth']) await edit(title);
    assert.equal(await former.submit(), 'accepted');
    const later = await holding({ ...before, id: former.id, responseQuota: 3 });
    try {
      assert.deepEqual([await later.submit(), await later.submit()], ['accepted', 'accepted']);
      const { title, revision } = later.row.survey ?? assert.fail();
      assert.deepEqual([title, await intake.revision(former.id)], [before.title, revision]);
      assert.ok(revision > 4, 'no late news of what is lost can be taken for it');
      former.row.survey = later.row.survey;
      assert.equal(await former.submit(), 'QUOTA_REACHED', 'no response is forgotten');
      assert.equal(former.actors.peek(former.id)?.survey.title, before.title);
    } finally {
      former.actors.stop();
      later.actors.stop();
    }
  });

  for (const isForgotten of [false, true])
    it(`accept submissions again after PostgreSQL was restored to a time before their deletion${isForgotten ? ', also once they are evicted' : ''}`, async () => {
      const { id, row, actors, submit } = await holding({ responseQuota: 2 });
      const survey = row.survey ?? assert.fail();
      assert.equal(await submit(), 'accepted');
      await intake.markDeleted(id);
      if (isForgotten) await intake.removeSurvey(id);
      try {
        assert.deepEqual([await submit(), row.survey], ['accepted', survey]);
        assert.deepEqual(
          await intake.counts(id),
          isForgotten ? { total: 1, completed: 1 } : { total: 2, completed: 2 },
        );
        assert.equal(await redis.ttl(surveyKey(shards.of(id), id)), -1);
      } finally {
        actors.stop();
      }
    });

  it('are not announced again by a process that missed their deletion', async () => {
    const { id, row, actors, world, submit } = await holding();
    try {
      world.beforeAnnounce = async () => {
        row.survey = undefined;
        await intake.markDeleted(id);
      };
      assert.equal(
        (await actors.edit(id, (current) => ({ survey: { ...current, title: 'Too late' } }))).title,
        'Too late',
      );
      assert.equal(await actors.repairSuperseded({ id, revision: 2 }), false);
      assert.equal(await submit(), 'unknown survey');
      assert.equal(await intake.revision(id), Number.MAX_SAFE_INTEGER);
    } finally {
      actors.stop();
    }
  });

  it('are read again if a notification arrives while they are being read', async () => {
    const { id, row, world, actors } = await holding();
    try {
      actors.evict(id);
      let go: () => void = () => undefined;
      const held = new Promise<void>((resolve) => {
        go = resolve;
      });
      world.afterLoad = () => held;
      const asked = actors.lookUp(id);
      await eventually(() => assert.equal(world.loads, 1));
      world.afterLoad = async () => undefined;
      row.survey = { ...(row.survey ?? assert.fail()), revision: 2, title: 'Changed' };
      const synced = [actors.sync(id), actors.sync(id)];
      actors.onRevisionPublished(id, 2);
      go();
      assert.equal((await asked)?.survey.title, 'A survey');
      assert.deepEqual(
        (await Promise.all(synced)).map((found) => found?.survey.title),
        ['Changed', 'Changed'],
      );
      assert.deepEqual([actors.peek(id)?.survey.title, world.loads], ['Changed', 2]);
    } finally {
      actors.stop();
    }
  });

  it('are read again at their next use after notifications may have been lost', async () => {
    const subscriber = createWaitingRedis(url, log);
    const publisher = createSharedRedis(url, log);
    await Promise.all([subscriber, publisher].map(connectPatiently));
    const messages = createPubSub({ publisher, subscriber, log });
    const { id, row, world, actors } = await holding();
    const heard: number[] = [];
    try {
      let gaps = 0;
      messages.onReconnect(() => {
        gaps += 1;
        actors.markAllStale();
      });
      const channel = `news-${id}`;
      await messages.subscribe(channel, ({ revision }) => void heard.push(Number(revision)));
      row.survey = { ...(row.survey ?? assert.fail()), revision: 2, title: 'Changed' };
      assert.equal(actors.peek(id)?.survey.title, 'A survey');
      await redis.client('KILL', 'ID', String(await clientIdOf(redis, channel)));
      await eventually(() => assert.equal(gaps, 1));
      await eventually(async () => assert.equal((await actors.lookUp(id))?.survey.title, 'Changed'));
      await actors.lookUp(id);
      assert.equal(world.loads, 1, 'once is enough');
      messages.publish(channel, { revision: 9 });
      await eventually(() => assert.deepEqual(heard, [9]));
    } finally {
      actors.stop();
      subscriber.disconnect();
      publisher.disconnect();
    }
  });
});

/** The connection that listens: of those of this process the only one with a subscription. */
async function clientIdOf(redis: Redis, channel: string): Promise<number> {
  assert.deepEqual(await redis.pubsub('NUMSUB', channel), [channel, 1]);
  const list = String(await redis.call('CLIENT', 'LIST', 'TYPE', 'pubsub'));
  const mine = list.split('\n').filter((line) => line.includes(' db=7 '));
  return Number(/id=(\d+)/.exec(mine[0] ?? '')?.[1]);
}
