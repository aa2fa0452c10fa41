import assert from 'node:assert/strict';
import { it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { deadLetterRoutes } from '../../../../src/http/routes/dead-letters.ts';
import { createShards } from '../../../../src/stores/redis/intake/shards.ts';
import { fakeDeadLetters } from '../../../support/dead-letters.ts';
import { startLoopback } from '../../../support/loopback-server.ts';

/** Replays by a server with these routes; the status of its reply. */
async function replay(routes: ReturnType<typeof deadLetterRoutes>): Promise<number> {
  const server = await startLoopback({ api: routes });
  try {
    const { status } = await fetch(`${server.origin}/api/v1/dead-letters/replay`, {
      method: 'POST',
      headers: { authorization: 'Bearer admin' },
    });
    return status;
  } finally {
    await server.stop();
  }
}

it('a replay of dead letters that fails half-way records what was requeued until then', async () => {
  const recorded: number[] = [];
  let isAway = false;
  const never = (): never => assert.fail('not to be asked');
  const routes = deadLetterRoutes({
    stream: {
      findDeadLetters: fakeDeadLetters(() =>
        ['1-0', '2-0', '3-0', '4-0'].map((id) => ({
          id,
          reason: 'for this test',
          rows: Buffer.from('not to be read'),
          isKnown: true,
        })),
      ),
      requeueDeadLetter: async (_, { id }) => {
        if (id === '3-0') isAway = true;
        if (isAway) throw unavailable('The intake is away', 5);
        return true;
      },
      listDeadLetters: never,
      countDeadLetters: async () => 4,
      removeDeadLetters: never,
    },
    shards: createShards(1).all,
    surveyExists: never,
    record: (_, revived) => void recorded.push(revived),
  });
  assert.deepEqual([await replay(routes), recorded], [503, [2]]);
});

it('a replay skips dead letters of a newer version, however many lie before the others', async () => {
  const foreign = Array.from({ length: 1200 }, (_, index) => ({
    id: `1-${index}`,
    reason: 'for this test',
    rows: Buffer.from('of a newer form'),
    isKnown: false,
  }));
  const revived: string[] = [];
  const never = (): never => assert.fail('not to be asked');
  const routes = deadLetterRoutes({
    stream: {
      findDeadLetters: fakeDeadLetters(() => [
        ...foreign,
        { id: '2-0', reason: 'for this test', rows: Buffer.from('not to be read'), isKnown: true },
      ]),
      requeueDeadLetter: async (_, { id }) => revived.push(id) > 0,
      listDeadLetters: never,
      countDeadLetters: async () => 1201,
      removeDeadLetters: never,
    },
    shards: createShards(1).all,
    surveyExists: never,
    record: () => undefined,
  });
  assert.deepEqual([await replay(routes), revived], [200, ['2-0']]);
});

it('a replay reads dead letters as it requeues them, up to those that were there when it began', async () => {
  const steps: string[] = [];
  const waiting = ['1-0', '2-0'];
  const never = (): never => assert.fail('not to be asked');
  const routes = deadLetterRoutes({
    stream: {
      async *findDeadLetters() {
        for (let at = 0; at < waiting.length; at += 1) {
          steps.push(`read ${waiting[at]}`);
          yield { id: waiting[at] ?? '', reason: 'for this test', rows: Buffer.from('not to be read'), isKnown: true };
        }
      },
      requeueDeadLetter: async (_, { id }) => {
        steps.push(`requeued ${id}`);
        // It still cannot be stored.
        return waiting.push(`${waiting.length + 1}-0`) > 0;
      },
      listDeadLetters: never,
      countDeadLetters: async () => 2,
      removeDeadLetters: never,
    },
    shards: createShards(1).all,
    surveyExists: never,
    record: () => undefined,
  });
  assert.equal(await replay(routes), 200);
  assert.deepEqual(steps, ['read 1-0', 'requeued 1-0', 'read 2-0', 'requeued 2-0', 'read 3-0']);
});
