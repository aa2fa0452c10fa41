import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../../../src/platform/ids.ts';
import { createIntake } from '../../../../src/stores/redis/intake/intake.ts';
import type { AnnouncedCollector } from '../../../../src/stores/redis/intake/scripts.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import {
  announceSurvey,
  appendix,
  connectIntake,
  noMetrics,
  type OpenIntake,
  openIntake,
  submittedAt,
} from '../../../support/intake.ts';

const counted = (code: number, quota: number | null, completed = 0): AnnouncedCollector => ({ code, quota, completed });

describe('the quotas of collectors', () => {
  const shards = createShards(2);
  let opened: OpenIntake;
  before(async () => {
    opened = await openIntake(shards);
  });
  after(() => opened?.close());

  const codesOf = async (surveyId: string, given: readonly Parameters<typeof appendix>[1][]): Promise<string[]> =>
    (await Promise.all(given.map((one) => opened.intake.append(appendix(surveyId, one))))).map(({ code }) => code);
  const completed = async (surveyId: string, codes = [0, 1, 2]) =>
    [...((await opened.intake.completedByCollector(surveyId, codes)) ?? [])].map(([, count]) => count);

  it('are exact in groups of one tick and one by one, and leave other collectors alone', async () => {
    const surveyId = await announceSurvey(opened.intake, {
      collectors: [counted(0, null), counted(1, 3), counted(2, 1)],
    });
    const times = (n: number, collector: number) => Array.from({ length: n }, () => ({ collector }));
    assert.deepEqual(await codesOf(surveyId, [...times(5, 1), ...times(2, 0)]), [
      'ACCEPTED',
      'ACCEPTED',
      'ACCEPTED',
      'COLLECTOR_FULL',
      'COLLECTOR_FULL',
      'ACCEPTED',
      'ACCEPTED',
    ]);
    const partial = { collector: 2, outcome: 'PARTIAL' as const, observedVersion: 0, savedState: '{}' };
    const [one, other] = [newId(), newId()];
    assert.deepEqual(
      await codesOf(surveyId, [
        { ...partial, responseId: one, digest: 'a' },
        { ...partial, responseId: other, digest: 'b' },
      ]),
      ['ACCEPTED', 'ACCEPTED'],
    );
    const complete = { collector: 2, observedVersion: 1 };
    assert.deepEqual(
      await codesOf(surveyId, [
        { ...complete, responseId: one, digest: 'c' },
        { ...complete, responseId: other, digest: 'd' },
        { ...partial, digest: 'e' },
      ]),
      ['ACCEPTED', 'COLLECTOR_FULL', 'COLLECTOR_FULL'],
    );
    assert.deepEqual(await completed(surveyId), [2, 3, 1]);
    assert.deepEqual(await opened.intake.counts(surveyId), { total: 7, completed: 6 });
  });

  it('stand beside the quota of the survey, of which the last seat closes it', async () => {
    const surveyId = await announceSurvey(opened.intake, {
      quota: 3,
      collectors: [counted(0, null), counted(1, 2)],
    });
    const given = [...Array.from({ length: 3 }, () => ({ collector: 1 })), { collector: 0 }, { collector: 0 }];
    assert.deepEqual(await codesOf(surveyId, given), ['ACCEPTED', 'ACCEPTED', 'COLLECTOR_FULL', 'FILLED', 'QUOTA']);
    assert.deepEqual(await completed(surveyId, [0, 1]), [1, 2]);
  });

  it('count what came before as of the default collector', async () => {
    const surveyId = await announceSurvey(opened.intake);
    assert.deepEqual(await codesOf(surveyId, [{}, {}, {}]), ['ACCEPTED', 'ACCEPTED', 'ACCEPTED']);
    assert.equal(await opened.intake.completedByCollector(surveyId, [0]), undefined);
    const announce = (revision: number, collectors: AnnouncedCollector[]) =>
      announceSurvey(opened.intake, { id: surveyId, revision, collectors });
    await announce(2, [counted(0, 4)]);
    assert.deepEqual(
      await codesOf(surveyId, [
        { revision: 2, collector: 0 },
        { revision: 2, collector: 0 },
      ]),
      ['ACCEPTED', 'COLLECTOR_FULL'],
    );
    await announce(3, [counted(0, null), counted(1, 1)]);
    assert.deepEqual(
      await codesOf(surveyId, [
        { revision: 3, collector: 0 },
        { revision: 3, collector: 1 },
      ]),
      ['ACCEPTED', 'ACCEPTED'],
    );
    assert.deepEqual(await completed(surveyId, [0, 1]), [5, 1]);
  });

  it('count what came by the default collector while it had no quota', async () => {
    const surveyId = await announceSurvey(opened.intake, { collectors: [counted(0, 5)] });
    const announce = (revision: number, collectors: AnnouncedCollector[]) =>
      announceSurvey(opened.intake, { id: surveyId, revision, collectors });
    const submit = (revision: number, n: number, more: { collector?: number }) =>
      codesOf(
        surveyId,
        Array.from({ length: n }, () => ({ revision, ...more })),
      );
    await submit(1, 3, { collector: 0 });
    await announce(2, []);
    await submit(2, 1, {});
    assert.equal(await opened.intake.completedByCollector(surveyId, [0]), undefined, 'nobody reads an old count');
    await announce(3, [counted(0, 5)]);
    assert.deepEqual(await completed(surveyId, [0]), [4]);
    assert.deepEqual(await submit(3, 2, { collector: 0 }), ['ACCEPTED', 'COLLECTOR_FULL']);
    await announce(4, []);
    await submit(4, 2, {});
    await announce(5, [counted(0, null), counted(1, null)]);
    await submit(5, 1, { collector: 1 });
    await announce(6, [counted(0, null), counted(1, null)]);
    assert.deepEqual(await completed(surveyId, [0, 1]), [7, 1]);
  });

  it('begin with the counts of the response store where the intake has lost the survey', async () => {
    const surveyId = newId();
    await opened.intake.announce({
      surveyId,
      revision: 1,
      quota: null,
      codePositions: 3,
      total: 9,
      completed: 7,
      collectors: [counted(0, null, 3), counted(1, 5, 4)],
    });
    assert.deepEqual(await completed(surveyId, [0, 1]), [3, 4]);
    assert.deepEqual(await codesOf(surveyId, [{ collector: 1 }, { collector: 1 }]), ['ACCEPTED', 'COLLECTOR_FULL']);
  });

  it('get a seat back with the deletion of a complete response', async () => {
    const surveyId = await announceSurvey(opened.intake, { collectors: [counted(0, null), counted(1, 1)] });
    const responseId = newId();
    assert.deepEqual(await codesOf(surveyId, [{ collector: 1, responseId }, { collector: 1 }]), [
      'ACCEPTED',
      'COLLECTOR_FULL',
    ]);
    const deletion = {
      surveyId,
      responseId,
      submittedAtMs: submittedAt,
      outcome: 'COMPLETED' as const,
      row: '["gone"]',
    };
    await opened.intake.deleteResponse({ ...deletion, collector: 1 });
    assert.deepEqual(
      [await completed(surveyId, [0, 1]), await codesOf(surveyId, [{ collector: 1 }])],
      [[0, 0], ['ACCEPTED']],
    );
  });

  it('are never exceeded by several connections at once', async () => {
    const surveyId = await announceSurvey(opened.intake, { collectors: [counted(0, 500), counted(1, 700)] });
    const connections = await Promise.all(Array.from({ length: 4 }, connectIntake));
    const intakes = connections.map((redis) => createIntake({ redis, shards, metrics: noMetrics }));
    const results = await Promise.all(
      intakes.flatMap((intake, place) =>
        Array.from({ length: 400 }, (_, n) =>
          intake.append(appendix(surveyId, { collector: n % 2, key: n % 5 === 0 ? `${place} ${n}` : '' })),
        ),
      ),
    );
    const accepted = results.filter(({ code }) => code === 'ACCEPTED').length;
    assert.deepEqual([accepted, await completed(surveyId, [0, 1])], [1200, [500, 700]]);
    for (const redis of connections) redis.disconnect();
  });
});
