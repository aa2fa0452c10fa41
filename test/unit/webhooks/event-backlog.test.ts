import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResponseEvents } from '../../../src/domain/events.ts';
import { newId } from '../../../src/platform/ids.ts';
import { countEvents, type KeptEvents } from '../../../src/stores/postgres/webhook-response-events.ts';
import { createKeepEvents, createWriteDeliveries } from '../../../src/webhooks/event-backlog.ts';
import { inPieces } from '../../../src/webhooks/response-events.ts';

function eventsOf(count: number, { endpoints = 1, deletedKeys = [] as string[] } = {}): ResponseEvents {
  const responses = Array.from({ length: count }, (): [string, number, number] => [newId(), 1, 1]);
  const group = { event: 'response.completed', outcome: 'COMPLETED', collectorId: null, responses } as const;
  const webhookIds = Array.from({ length: endpoints }, () => newId());
  return { surveyId: newId(), webhookIds, groups: count > 0 ? [group] : [], deletedKeys };
}

describe('events of responses', () => {
  it('wait for their deliveries, until too many wait; deletions always do', async () => {
    const [kept, published]: [ResponseEvents[], ResponseEvents[]] = [[], []];
    let counted = 0;
    const keep = createKeepEvents({
      responseEvents: {
        add: async (rows) => void kept.push(...rows),
        count: async () => {
          counted += 1;
          return 90;
        },
      },
      fanOut: { publishResponses: async (surveys) => void published.push(...surveys) },
      maxWaiting: 100,
    });
    const [first, second, third] = [eventsOf(6), eventsOf(4), eventsOf(1, { deletedKeys: ['completed:x'] })];
    for (const events of [first, second, third]) await keep([events]);
    assert.deepEqual(kept, [first, second, { ...third, groups: [] }]);
    assert.deepEqual([published, counted], [[{ ...third, deletedKeys: [] }], 1]);
  });

  it('are divided by the deliveries that they make, deletions last', () => {
    const events = eventsOf(25, { endpoints: 100, deletedKeys: ['a', 'b', 'c', 'd', 'e', 'f'] });
    const pieces = inPieces(events, 1000);
    assert.deepEqual(pieces.map(countEvents), [10, 10, 10, 1]);
    assert.deepEqual(
      pieces.flatMap(({ groups }) => groups.flatMap(({ responses }) => responses)),
      events.groups[0]?.responses,
    );
    assert.deepEqual(
      pieces.map(({ deletedKeys }) => deletedKeys),
      [[], [], ['a', 'b', 'c', 'd', 'e'], ['f']],
    );
    assert.equal(inPieces(eventsOf(2, { endpoints: 3000 }), 1000).length, 2, 'those of one event are not divided');
  });
});

describe('deliveries of events that wait', () => {
  /** Rows of so many deliveries, by survey; those of `failing` cannot be written. */
  const useBacklog = (
    surveys: Record<string, number[]>,
    {
      requestsPerSecond = 10_000,
      failing = '',
      error = new Error('not that one'),
    }: { requestsPerSecond?: number; failing?: string; error?: Error } = {},
  ) => {
    const rows: KeptEvents[] = Object.entries(surveys)
      .flatMap(([surveyId, list]) => list.map((deliveries) => ({ surveyId, deliveries })))
      .map((row, id) => ({ ...eventsOf(0), ...row, id, keptAt: new Date(0) }));
    const drop = (ids: readonly number[]) =>
      rows.splice(0, rows.length, ...rows.filter(({ id }) => !ids.includes(id))).filter(({ id }) => ids.includes(id));
    let isStopping = false;
    const written: string[] = [];
    const setBack: string[] = [];
    let requests = 0;
    const write = createWriteDeliveries({
      responseEvents: {
        oldest: async (limit, after = '') =>
          rows
            .filter(({ surveyId }, place) => rows.findIndex((row) => row.surveyId === surveyId) === place)
            .filter(({ surveyId }) => surveyId > after)
            .slice(0, limit),
        remove: async (ids) => void drop(ids),
        setBack: async (id) => void setBack.push(...drop([id]).map(({ surveyId }) => surveyId)),
      },
      fanOut: {
        publishResponses: async (turn) => {
          if (turn.some(({ surveyId }) => surveyId === failing)) throw error;
          written.push(...turn.map(({ surveyId }) => surveyId));
        },
      },
      pace: {
        perSecond: () => requestsPerSecond,
        begin: (count = 1) => {
          requests += count;
        },
      },
      isStopping: () => isStopping,
      log: { warn: () => undefined },
    });
    return { write, written, setBack, rows, requests: () => requests, stop: () => (isStopping = true) };
  };

  it('are written by turns of the surveys, so that none waits for all that another has', async () => {
    const { write, written, rows } = useBacklog({ a: [1000, 1000, 1000], b: [10], c: [10, 10] });
    await write();
    assert.deepEqual([written.join(''), rows], ['abcaca', []]);
  });

  it('are written without the row that cannot be, which is set back', async () => {
    const { write, written, setBack, rows } = useBacklog({ a: [10, 10], b: [10], c: [10] }, { failing: 'b' });
    await write();
    assert.deepEqual([written.join(''), setBack, rows], ['aca', ['b'], []]);
  });

  it('are left where they are while PostgreSQL is away, and the next run begins with the next survey', async () => {
    const away = Object.assign(new Error('closed'), { code: 'CONNECTION_CLOSED' });
    const { write, written, setBack, rows } = useBacklog(
      { a: [1000], b: [1000], c: [10] },
      { failing: 'b', error: away },
    );
    await assert.rejects(write(), /closed/);
    await assert.rejects(write(), /closed/);
    assert.deepEqual([written.join(''), setBack, rows.map(({ surveyId }) => surveyId)], ['ac', [], ['b']]);
  });

  it('are written at the pace of requests, twenty for each, and by the next run after a stop', async () => {
    const { write, written, requests, rows } = useBacklog({ a: [1000, 1000, 1000] }, { requestsPerSecond: 500 });
    const startedAt = performance.now();
    await write();
    // Ten thousand deliveries a second.
    assert.ok(performance.now() - startedAt >= 199);
    assert.deepEqual([written.length, requests()], [3, 150]);
    const slow = useBacklog({ a: [1000, 1000] }, { requestsPerSecond: 1 });
    const running = slow.write();
    setTimeout(slow.stop, 20);
    await running;
    assert.deepEqual([slow.written.length, slow.rows.length, rows.length], [1, 1, 0]);
  });
});
