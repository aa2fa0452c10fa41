import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ResponseEvents } from '../../../src/domain/events.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { WaitingEvents } from '../../../src/stores/postgres/webhook-response-events.ts';
import { createKeepEvents, createWriteDeliveries } from '../../../src/webhooks/event-backlog.ts';
import { createPace } from '../../../src/webhooks/pace.ts';

const surveyId = newId();

function batchOf(events: number): ResponseEvents {
  const responses = Array.from({ length: events }, (): [string, number, number] => [newId(), 1, 1]);
  const group = { event: 'response.completed', surveyId, outcome: 'COMPLETED', collectorId: null, responses } as const;
  return { surveyIds: [surveyId], groups: [group], deletedKeys: [] };
}

describe('events of responses', () => {
  it('wait for their deliveries, until too many wait', async () => {
    const [kept, published]: [ResponseEvents[], ResponseEvents[]] = [[], []];
    let counted = 0;
    const keep = createKeepEvents({
      responseEvents: {
        add: async (batch) => void kept.push(batch),
        count: async () => {
          counted += 1;
          return 90;
        },
      },
      fanOut: { publishResponses: async (batch) => published.push(batch) > 0 },
      maxWaiting: 100,
    });
    const [first, second, third] = [batchOf(6), batchOf(4), batchOf(1)];
    for (const batch of [first, second, third]) await keep(batch);
    assert.deepEqual([kept, published, counted], [[first, second], [third], 1]);
  });
});

describe('deliveries of events that wait', () => {
  /** Batches of so many deliveries each; under load, a request a second may go out. */
  const useBacklog = (t: TestContext, batches: number[]) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    let isStopping = false;
    const waiting = batches.map((deliveries, id) => ({ ids: [id], deliveries }));
    const written: number[] = [];
    const pace = createPace({ leastPerSecond: 1, isUnderLoad: async () => true });
    const write = createWriteDeliveries({
      responseEvents: {
        oldest: async () => waiting[0] as unknown as WaitingEvents,
        remove: async (ids) => void waiting.splice(0, ids.length),
      },
      fanOut: {
        publishResponses: async (batch, waitForTurn) => {
          const { deliveries } = batch as unknown as { deliveries: number };
          if (!(await waitForTurn?.(deliveries))) return false;
          written.push(deliveries);
          return true;
        },
      },
      pace,
      isStopping: () => isStopping,
    });
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 50) {
        nowMs += 50;
        t.mock.timers.tick(50);
        await nextTurn();
      }
    };
    return { write, pass, waiting, written, stop: () => (isStopping = true) };
  };

  it('are written at the pace of requests, twenty for each', async (t) => {
    const { write, pass, written, waiting } = useBacklog(t, [40, 20, 20, 20]);
    const done = write();
    await pass(300);
    assert.equal(written.length, 4, 'as many as there are, before the first look');
    assert.equal(waiting.length, 0);
    await done;
    waiting.push(...[20, 20, 20].map((deliveries, id) => ({ ids: [id], deliveries })));
    // At each look the pace is halved: by then it is at its least.
    await pass(5000);
    const again = write();
    await pass(500);
    assert.equal(written.length, 5);
    await pass(1000);
    assert.equal(written.length, 6);
    await pass(1000);
    assert.equal(written.length, 7);
    await again;
  });

  it('are written again after a stop that came before all were', async (t) => {
    const { write, pass, waiting, written, stop } = useBacklog(t, [20, 40, 20]);
    const first = write();
    await first;
    assert.deepEqual([written, waiting.length], [[20, 40, 20], 0]);
    await pass(5000);
    waiting.push({ ids: [0], deliveries: 100 }, { ids: [1], deliveries: 20 });
    const second = write();
    await pass(1000);
    assert.equal(waiting.length, 1);
    stop();
    await pass(200);
    await second;
    assert.deepEqual(
      waiting.map(({ deliveries }) => deliveries),
      [20],
    );
  });
});
