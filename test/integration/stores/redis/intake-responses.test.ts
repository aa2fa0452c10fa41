import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId, newResponseId } from '../../../../src/platform/ids.ts';
import { encodeMoment } from '../../../../src/stores/redis/intake/append-protocol.ts';
import { createIntake } from '../../../../src/stores/redis/intake/intake.ts';
import { answersKey, createShards, responseKey } from '../../../../src/stores/redis/intake/shards.ts';
import {
  announceSurvey,
  appendix,
  digestOf,
  forgetStates,
  noMetrics,
  type OpenIntake,
  openIntake,
  submittedAt,
} from '../../../support/intake.ts';

describe('states of responses in the intake', () => {
  const shards = createShards(2);
  let intake: OpenIntake['intake'];
  let plain: OpenIntake['plain'];
  let live: OpenIntake['live'];
  let close: OpenIntake['close'] | undefined;
  before(async () => {
    ({ intake, plain, live, close } = await openIntake(shards));
  });
  after(() => close?.());

  const survey = (facts?: Parameters<typeof announceSurvey>[1]) => announceSurvey(intake, facts);
  const [first, second, third] = ['first', 'second', 'third'];

  it('saved answers are kept for minutes, and a small state for longer', async () => {
    const surveyId = await survey();
    const responseId = newId();
    const large = JSON.stringify({ texts: ['四'.repeat(20_000)] });
    const save = (observedVersion: number, more: Parameters<typeof appendix>[1]) =>
      intake.append(
        appendix(surveyId, { responseId, observedVersion, outcome: 'PARTIAL', savedState: large, ...more }),
      );
    assert.equal((await save(0, { digest: first })).code, 'ACCEPTED');
    assert.deepEqual(await intake.state(responseId), {
      version: 1,
      isComplete: false,
      surveyId,
      submittedAtMs: submittedAt,
      savedState: large,
    });
    assert.equal((await save(1, { digest: second })).code, 'ACCEPTED');
    assert.ok((await plain.ttl(answersKey(responseId))) <= 900);
    assert.ok((await plain.ttl(responseKey(responseId))) <= 48 * 3600);
    const bytes = Number(await plain.call('MEMORY', 'USAGE', responseKey(responseId)));
    assert.ok(bytes < 400, `${bytes} bytes`);
    await plain.del(answersKey(responseId));
    assert.equal((await intake.state(responseId))?.savedState, '');
    assert.equal((await save(2, { digest: third })).code, 'ACCEPTED');
    assert.equal((await intake.state(responseId))?.savedState, large);
    assert.equal((await save(3, { digest: 'last', outcome: 'COMPLETED', savedState: '' })).code, 'ACCEPTED');
    assert.equal(await plain.exists(answersKey(responseId)), 0);
  });

  it('saved answers are kept for a minute only while memory is short', async () => {
    const narrow = createIntake({
      redis: plain,
      shards,
      metrics: noMetrics,
      memory: { hasSpareMemory: () => false, maxPendingBytesPerSurvey: () => undefined, sliceBytes: () => 1_000_000 },
    });
    const [surveyId, responseId] = [await survey(), newId()];
    await narrow.append(
      appendix(surveyId, { responseId, observedVersion: 0, outcome: 'PARTIAL', savedState: '{}', digest: first }),
    );
    assert.ok((await plain.ttl(answersKey(responseId))) <= 60);
  });

  it('saved answers of another version are ignored', async () => {
    const [surveyId, responseId] = [await survey(), newId()];
    await intake.append(
      appendix(surveyId, { responseId, observedVersion: 0, outcome: 'PARTIAL', savedState: '{"n":1}', digest: first }),
    );
    await plain.hset(responseKey(responseId), 'n', 2);
    assert.deepEqual(
      [(await intake.state(responseId))?.version, (await intake.state(responseId))?.savedState],
      [2, ''],
    );
  });

  it('a repeat of the first save gets its reply after the response was continued or completed', async () => {
    const [surveyId, responseId] = [await survey(), newId()];
    const save = (observedVersion: number, digest: string, isComplete = false) =>
      intake.append(
        appendix(surveyId, {
          responseId,
          observedVersion,
          digest,
          outcome: isComplete ? 'COMPLETED' : 'PARTIAL',
          savedState: isComplete ? '' : '{}',
        }),
      );
    const kept = (isComplete: boolean) => ['REPLAY', `${isComplete ? 1 : 0} ${encodeMoment(submittedAt)}`];
    const repeated = async (digest: string) => {
      const { code, text } = await save(0, digest);
      return [code, text];
    };
    await save(0, first);
    assert.deepEqual(await repeated(first), kept(false));
    await save(1, second);
    assert.deepEqual(await repeated(first), kept(false));
    await save(2, third, true);
    assert.deepEqual(await repeated(first), kept(false));
    assert.deepEqual(await repeated(third), kept(true));
    assert.deepEqual((await repeated('another'))[0], 'MISMATCH');
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 1 });
  });

  it('a repeat gets the reply of its save, though the survey has paths since or has none any more', async () => {
    for (const hadPaths of [true, false]) {
      const paths = hadPaths ? ['/', ''] : ['', '/'];
      const [surveyId, responseId] = [await survey(), newId()];
      const part = { responseId, outcome: 'PARTIAL', savedState: '{}' } as const;
      const save = (observedVersion: number, index: number) =>
        intake.append(appendix(surveyId, { ...part, observedVersion, digest: `part ${index}`, ignored: paths[index] }));
      const isRepeated = async (index: number) => {
        const { code, text } = await save(0, index);
        assert.deepEqual([code, text], ['REPLAY', `0 ${encodeMoment(submittedAt)}${paths[index]}`]);
      };
      await save(0, 0);
      await isRepeated(0);
      await save(1, 1);
      await isRepeated(1);
      await isRepeated(0);
      // An earlier version notes nothing of the first reply: then it said what the last one did.
      await plain.hset(responseKey(responseId), 'first', digestOf('part 0'));
      assert.equal((await save(0, 0)).text, `0 ${encodeMoment(submittedAt)}${paths[1]}`);
    }
  });

  it('an evicted response is continued unless it was deleted meanwhile', async () => {
    const surveyId = await survey();
    const [forgotten, deleted] = [newId(), newResponseId()];
    const { generation: observedGeneration } = await intake.observe(forgotten);
    const save = (responseId: string, observedVersion: number, digest: string) =>
      intake.append(
        appendix(surveyId, {
          responseId,
          observedVersion,
          observedGeneration,
          digest,
          outcome: 'PARTIAL',
          savedState: '{}',
        }),
      );
    for (const responseId of [forgotten, deleted]) {
      await save(responseId, 0, first);
      await plain.del(responseKey(responseId), answersKey(responseId));
    }
    await intake.deleteResponse({
      surveyId,
      responseId: deleted,
      submittedAtMs: 1,
      outcome: 'PARTIAL',
      row: '["gone"]',
    });
    const both = await Promise.all([save(forgotten, 1, second), save(forgotten, 1, third)]);
    assert.deepEqual(
      both.map(({ code }) => code),
      ['ACCEPTED', 'CHANGED'],
    );
    assert.equal((await intake.state(forgotten))?.version, 2);
    assert.equal((await save(deleted, 1, second)).code !== 'ACCEPTED', true);
    assert.deepEqual(await intake.counts(surveyId), { total: 1, completed: 0 });
  });

  it('an evicted response is continued although an earlier response with its id was deleted', async () => {
    const [surveyId, responseId] = [await survey(), newId()];
    const [former, later] = [Date.parse('2026-11-18T10:00:00.000Z'), submittedAt];
    const row = (ms: number) => `["${surveyId}","${responseId}",${ms},1,0,1]`;
    const { generation: observedGeneration } = await intake.observe(responseId);
    const save = (submittedAtMs: number, observedVersion: number, digest: string) =>
      intake.append(
        appendix(surveyId, {
          responseId,
          observedVersion,
          observedGeneration,
          digest,
          outcome: 'PARTIAL',
          savedState: '{}',
          row: row(submittedAtMs),
          submittedAtMs,
          isLookupDone: true,
        }),
      );
    const forget = () => forgetStates(plain, responseId);
    for (const moment of [former, later]) {
      assert.equal((await save(moment, 0, first)).code, 'ACCEPTED');
      if (moment === former) await forget();
    }
    assert.equal(
      await intake.deleteResponse({ surveyId, responseId, submittedAtMs: former, outcome: 'PARTIAL', row: '["gone"]' }),
      true,
    );
    await forget();
    const removed = (submittedAtMs: number) => live.findDeleted(shards.of(surveyId), [{ responseId, submittedAtMs }]);
    assert.deepEqual([await removed(former), await removed(later)], [[true], [false]]);
    assert.equal((await save(former, 1, second)).code, 'CHANGED');
    assert.equal((await save(later, 1, second)).code, 'ACCEPTED');
    await forget();
    await plain.set(`${shards.of(surveyId).prefix}removed:${responseId}`, '1');
    assert.equal((await save(later, 1, second)).code, 'CHANGED', 'a former version did not say which one it deleted');
    assert.deepEqual(await removed(later), [true]);
  });

  it('states with the answers of an earlier version can be continued', async () => {
    const [surveyId, responseId] = [await survey(), newId()];
    const former = {
      n: '1',
      done: '0',
      digest: digestOf(first).padEnd(43, 'x'),
      reply: JSON.stringify({ isComplete: false, submittedAt: '2026-11-21T10:00:00.123Z' }),
      data: '{"kept":true}',
      survey: surveyId,
    };
    await plain.hset(responseKey(responseId), former);
    assert.deepEqual(await intake.state(responseId), {
      version: 1,
      isComplete: false,
      surveyId,
      submittedAtMs: submittedAt,
      savedState: '{"kept":true}',
    });
    const save = (observedVersion: number, digest: string, savedState: string) =>
      intake.append(appendix(surveyId, { responseId, observedVersion, digest, outcome: 'PARTIAL', savedState }));
    assert.deepEqual([(await save(0, first, '')).code, (await save(0, first, '')).text], ['REPLAY', former.reply]);
    assert.equal((await save(1, second, '{"kept":"more"}')).code, 'ACCEPTED');
    assert.deepEqual(
      [(await intake.state(responseId))?.savedState, await plain.hget(responseKey(responseId), 'data')],
      ['{"kept":"more"}', null],
    );
    assert.equal((await save(0, first, '')).code, 'REPLAY');
    // If a process of the earlier version continues it, its state is the newest.
    await plain.hset(responseKey(responseId), { ...former, n: '3', data: '{"kept":"by the former"}' });
    assert.equal((await intake.state(responseId))?.savedState, '{"kept":"by the former"}');
  });

  it('an id is accepted in one survey only, on every shard', async () => {
    const responseId = newId();
    const idIn = (index: number): string => {
      for (;;) {
        const id = newId();
        if (shards.of(id).index === index) return id;
      }
    };
    const surveys = await Promise.all(Array.from({ length: 6 }, (_, n) => survey({ id: idIn(n % 2) })));
    const codes: string[] = [];
    for (const surveyId of surveys)
      codes.push((await intake.append(appendix(surveyId, { responseId, observedVersion: 0, digest: 'same' }))).code);
    assert.deepEqual(codes, ['ACCEPTED', ...Array.from({ length: 5 }, () => 'MISMATCH')]);
    for (const surveyId of surveys.slice(1))
      assert.deepEqual(await intake.counts(surveyId), { total: 0, completed: 0 });
  });
});
