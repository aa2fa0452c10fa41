import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResponseEvents } from '../../../src/domain/events.ts';
import { newId } from '../../../src/platform/ids.ts';
import { countEvents, type KeptEvents } from '../../../src/stores/postgres/webhook-response-events.ts';
import { createKeepEvents, createWriteDeliveries } from '../../../src/webhooks/event-backlog.ts';
import { inPieces, type PublishedResponseEvents, webhookEventsOf } from '../../../src/webhooks/response-events.ts';

function eventsOf(count: number, { endpoints = 1, deletedKeys = [] as string[] } = {}): ResponseEvents {
  const responses = Array.from({ length: count }, (): [string, number, number] => [newId(), 1, 1]);
  const group = { event: 'response.completed', outcome: 'COMPLETED', collectorId: null, responses } as const;
  const webhookIds = Array.from({ length: endpoints }, () => newId());
  return { surveyId: newId(), webhookIds, groups: count > 0 ? [group] : [], deletedKeys };
}

describe('events of responses', () => {
  it('wait for their deliveries, until too many wait; deletions always do, and mark what is written', async () => {
    const [kept, published, marked]: [ResponseEvents[], PublishedResponseEvents[], string[]] = [[], [], []];
    let counted = 0;
    const keep = createKeepEvents({
      responseEvents: {
        add: async (rows) => void kept.push(...rows),
        count: async () => {
          counted += 1;
          return 90;
        },
      },
      fanOut: {
        publishResponses: async (surveys) => void published.push(...surveys),
        markDeleted: async (rows) => void marked.push(...rows.flatMap(({ deletedKeys }) => deletedKeys)),
      },
      log: { warn: () => assert.fail('every deletion can be marked') },
      maxWaiting: 100,
    });
    const [first, second, third] = [eventsOf(6), eventsOf(4), eventsOf(1, { deletedKeys: ['completed:x'] })];
    for (const events of [first, second, third]) await keep([events]);
    assert.deepEqual(kept, [first, second, { ...third, groups: [] }]);
    const keysDeletedLater = new Set(third.deletedKeys);
    assert.deepEqual(published, [{ ...third, deletedKeys: [], keysDeletedLater }]);
    assert.deepEqual([marked, counted], [['completed:x'], 1]);
  });

  it('are kept once, though what they delete cannot be marked: their own turn does so too', async () => {
    const [kept, warned]: [ResponseEvents[], unknown[]] = [[], []];
    const error = Object.assign(new Error('locked'), { code: '55P03' });
    const keep = createKeepEvents({
      responseEvents: { add: async (rows) => void kept.push(...rows), count: async () => 0 },
      fanOut: { publishResponses: () => assert.fail('there is room'), markDeleted: () => Promise.reject(error) },
      log: { warn: (details: object) => void warned.push(details) },
    });
    const events = eventsOf(2, { deletedKeys: ['completed:x'] });
    await keep([events]);
    assert.deepEqual([kept, warned], [[events], [{ err: error }]]);
  });

  it('wait in rows of up to two hundred deliveries', async () => {
    const kept: ResponseEvents[] = [];
    const keep = createKeepEvents({
      responseEvents: { add: async (rows) => void kept.push(...rows), count: async () => 0 },
      fanOut: { publishResponses: () => assert.fail('there is room'), markDeleted: async () => undefined },
      log: { warn: () => assert.fail('there is nothing to mark') },
    });
    await keep([eventsOf(450), eventsOf(3, { endpoints: 150 })]);
    assert.deepEqual(kept.map(countEvents), [200, 200, 50, 1, 1, 1]);
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
      publishMs = 0,
      supplied = new Set<string>(),
      batched = new Set(Object.keys(surveys)),
      later = new Map<string, Set<string>>(),
    }: {
      requestsPerSecond?: number;
      failing?: string;
      error?: Error;
      publishMs?: number;
      supplied?: Set<string>;
      batched?: Set<string>;
      later?: Map<string, Set<string>>;
    } = {},
  ) => {
    const rows: KeptEvents[] = Object.entries(surveys)
      .flatMap(([surveyId, list]) => list.map((deliveries) => ({ surveyId, deliveries })))
      .map((row, id) => ({ ...eventsOf(1), ...row, id, keptAt: new Date(0) }));
    const drop = (ids: readonly number[]) =>
      rows.splice(0, rows.length, ...rows.filter(({ id }) => !ids.includes(id))).filter(({ id }) => ids.includes(id));
    let isStopping = false;
    const written: string[] = [];
    const setBack: string[] = [];
    const limits: number[] = [];
    const published: (readonly PublishedResponseEvents[])[] = [];
    const marked: string[][] = [];
    let attempts = 0;
    let requests = 0;
    // Time passes only where it is waited for.
    let nowMs = 0;
    const inTime: { atMs: number; work: () => void }[] = [];
    const wait = async (ms: number) => {
      nowMs += ms;
      for (const { work } of inTime.splice(0, inTime.filter(({ atMs }) => atMs <= nowMs).length)) work();
    };
    const write = createWriteDeliveries({
      responseEvents: {
        nextTurn: async (limit, after = '') => {
          limits.push(limit);
          const turn: KeptEvents[] = [];
          const total = (list: KeptEvents[]) => list.reduce((sum, row) => sum + row.deliveries, 0);
          for (const id of new Set(rows.map((row) => row.surveyId))) {
            if (id <= after || total(turn) >= limit) continue;
            const own = rows.filter(({ surveyId }) => surveyId === id);
            turn.push(...own.filter((_, n) => n === 0 || total(own.slice(0, n + 1)) <= limit));
          }
          return turn;
        },
        supplyOf: async () =>
          new Map(Object.keys(surveys).map((id) => [id, { isEnough: supplied.has(id), hasBatches: batched.has(id) }])),
        laterDeletions: async () => later,
        remove: async (ids) => void drop(ids),
        setBack: async (id) => void setBack.push(...drop([id]).map(({ surveyId }) => surveyId)),
      },
      fanOut: {
        publishResponses: async (turn, beforeWaking) => {
          attempts += 1;
          if (turn.some(({ surveyId }) => surveyId === failing)) {
            await wait(publishMs);
            throw error;
          }
          await wait(publishMs);
          await beforeWaking?.();
          written.push(...turn.map(({ surveyId }) => surveyId));
          published.push(turn);
        },
        markDeleted: async (rows) => void marked.push(...rows.map(({ deletedKeys }) => [...deletedKeys])),
      },
      pace: {
        perSecond: () => requestsPerSecond,
        begin: (count = 1) => {
          requests += count;
        },
      },
      isStopping: () => isStopping,
      log: { warn: () => undefined },
      clock: { nowMs: () => nowMs, wait },
    });
    return {
      write,
      /** Runs again and again, as the leader does. */
      writeAll: async () => {
        for (; rows.length > 0; await wait(10)) await write();
      },
      nowMs: () => nowMs,
      at: (atMs: number, work: () => void) => inTime.push({ atMs, work }),
      written,
      published,
      marked,
      setBack,
      rows,
      limits,
      attempts: () => attempts,
      requests: () => requests,
      stop: () => {
        isStopping = true;
      },
    };
  };

  it('are written by turns of the surveys, so that none waits for all that another has', async () => {
    const { write, written, rows } = useBacklog({ a: [1000, 1000, 1000], b: [10], c: [10, 10] });
    await write();
    assert.deepEqual([written.join(''), rows], ['abccaa', []]);
  });

  it('are written in turns of half a second, with several small rows of a survey beside a large one', async () => {
    const { writeAll, written, limits, nowMs } = useBacklog(
      { a: [200, 200, 200], b: Array.from({ length: 300 }, () => 1) },
      { requestsPerSecond: 20 },
    );
    await writeAll();
    assert.ok(nowMs() < 4000, `${nowMs()} ms`);
    assert.equal(written.join(''), `a${'b'.repeat(200)}a${'b'.repeat(100)}a`);
    assert.equal(Math.max(...limits), 200);
  });

  it('take part in the next turn, although all that waited before is not written yet', async () => {
    const { writeAll, written, rows, at } = useBacklog({ a: [200, 200, 200] }, { requestsPerSecond: 20 });
    at(20, () => rows.push({ ...eventsOf(0), surveyId: 'b', deliveries: 1, id: 100, keptAt: new Date(0) }));
    await writeAll();
    assert.equal(written.join(''), 'abaa');
  });

  it('are written at five for each request while the pace is short, where no endpoint takes batches', async () => {
    const rows = { a: [200, 200], b: [200, 200] };
    const slow = useBacklog(rows, { requestsPerSecond: 20, batched: new Set(['b']) });
    await slow.writeAll();
    // Two seconds for each row of the one, half a second for each of the other; nothing waits for the last one.
    assert.equal(slow.written.join(''), 'abab');
    assert.ok(slow.nowMs() >= 4500 && slow.nowMs() < 5000, `${slow.nowMs()} ms`);
    const ample = useBacklog(rows, { requestsPerSecond: 1000, batched: new Set() });
    await ample.writeAll();
    assert.ok(ample.nowMs() < 100, `${ample.nowMs()} ms`);
  });

  it('are written without the row that cannot be, which is set back', async () => {
    const { write, written, setBack, rows } = useBacklog({ a: [10, 10], b: [10], c: [10] }, { failing: 'b' });
    await write();
    assert.deepEqual([written.join(''), setBack, rows], ['aac', ['b'], []]);
  });

  it('are written by halves when a row of many cannot be', async () => {
    const { write, written, setBack, attempts } = useBacklog(
      { a: Array.from({ length: 500 }, () => 1), b: [1] },
      { failing: 'b' },
    );
    await write();
    assert.deepEqual([written.length, setBack], [500, ['b']]);
    assert.ok(attempts() < 25, `${attempts()} attempts`);
  });

  it('are left to the next run when a run has lasted two seconds, while it publishes or waits', async () => {
    const many = Array.from({ length: 400 }, () => 1);
    const failing = useBacklog({ b: many }, { failing: 'b', publishMs: 50 });
    await failing.write();
    assert.ok(failing.nowMs() < 3000, `${failing.nowMs()} ms`);
    assert.ok(failing.setBack.length > 0 && failing.rows.length > 0);
    assert.equal(failing.setBack.length + failing.rows.length, many.length);
    const waiting = useBacklog({ a: [1000, 1000] }, { requestsPerSecond: 1 });
    await waiting.write();
    await waiting.write();
    assert.ok(waiting.nowMs() < 3000, `${waiting.nowMs()} ms`);
    assert.deepEqual([waiting.written.length, waiting.rows.length], [1, 1]);
  });

  it('say that their responses are deleted where a later row of the turn says so, also if rows are published alone', async () => {
    for (const failing of ['', 'b']) {
      const { write, rows, published } = useBacklog({ a: [1, 1, 1], b: [1] }, { failing });
      Object.assign(rows[1] ?? {}, { deletedKeys: ['completed:x'] });
      await write();
      assert.deepEqual(
        published
          .flat()
          .flatMap(({ surveyId, keysDeletedLater }) => (surveyId === 'a' ? [[...(keysDeletedLater ?? [])]] : [])),
        [['completed:x'], [], []],
      );
    }
  });

  it('are marked where a later row deletes their response, together, as an earlier try may have written them', async () => {
    const later = new Map<string, Set<string>>();
    const { write, rows, marked } = useBacklog({ a: [1, 1, 1], b: [1] }, { later });
    const keys = rows.flatMap((row) => webhookEventsOf(row).map(({ key }) => key));
    for (const row of rows) row.webhookIds = rows[0]?.webhookIds ?? [];
    later.set('a', new Set(['completed:x', ...keys.slice(1)]));
    await write();
    assert.deepEqual(marked, [keys.slice(1, 3)]);
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

  it('wait while their endpoints have enough to send, and no other survey waits longer for it', async () => {
    const supplied = new Set(['a']);
    const slow = useBacklog({ a: [200, 200], b: [10], c: [200, 200] }, { requestsPerSecond: 20, supplied });
    const atMs: number[] = [];
    for (; slow.nowMs() < 3000; await slow.write()) atMs.push(slow.nowMs());
    assert.deepEqual([slow.written.join(''), slow.rows.length], ['bcc', 2]);
    slow.at(3100, () => supplied.clear());
    await slow.writeAll();
    assert.equal(slow.written.join(''), 'bccaa');
    const ample = useBacklog({ a: [200] }, { requestsPerSecond: 1000, supplied: new Set(['a']) });
    await ample.write();
    assert.deepEqual(ample.written, ['a']);
  });

  it('are written at the pace of requests, twenty for each, and by the next run after a stop', async () => {
    const { write, written, requests, nowMs } = useBacklog({ a: [1000, 1000, 1000] }, { requestsPerSecond: 500 });
    await write();
    // Ten thousand deliveries a second; a fourth turn would have been the next.
    assert.equal(nowMs(), 300);
    assert.deepEqual([written.length, requests()], [3, 150]);
    const slow = useBacklog({ a: [1000, 1000] }, { requestsPerSecond: 40 });
    slow.at(100, slow.stop);
    await slow.write();
    assert.equal(slow.nowMs(), 100);
    assert.deepEqual([slow.written.length, slow.rows.length], [1, 1]);
  });
});
