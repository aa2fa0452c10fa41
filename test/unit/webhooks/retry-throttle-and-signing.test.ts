import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import {
  decodeResponse,
  encodeResponse,
  encodeTombstone,
  type ResponseHead,
} from '../../../src/domain/response-row.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import type { NewDelivery } from '../../../src/stores/postgres/webhook-deliveries.ts';
import type { Subscription } from '../../../src/stores/postgres/webhooks.ts';
import { type AttemptContext, evaluateAttempt } from '../../../src/webhooks/attempt-outcome.ts';
import { createBacklogLimit } from '../../../src/webhooks/backlog-limit.ts';
import { createFanOut } from '../../../src/webhooks/fan-out.ts';
import { nextAttemptAtMs, retryAfterMs } from '../../../src/webhooks/retry.ts';
import type { SendResult } from '../../../src/webhooks/send.ts';
import { makeSecret, signedHeaders } from '../../../src/webhooks/sign.ts';
import { createRateThrottle } from '../../../src/webhooks/throttle.ts';

const contractSchedule = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
const startMs = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;

describe('the schedule of attempts', () => {
  it('keeps to the table within 20 %, and ends after it', () => {
    for (const random of [0, 0.5, 0.999_999]) {
      for (const [index, seconds] of contractSchedule.entries()) {
        const at = nextAttemptAtMs({ tries: index + 1, scheduleSeconds: contractSchedule, nowMs: startMs, random });
        const share = ((at ?? 0) - startMs) / (seconds * 1000);
        assert.ok(Math.abs(share - (0.8 + 0.4 * random)) < 1e-3, `attempt ${index + 2}: ${share} of ${seconds} s`);
      }
    }
    assert.equal(
      nextAttemptAtMs({
        tries: contractSchedule.length + 1,
        scheduleSeconds: contractSchedule,
        nowMs: startMs,
        random: 0,
      }),
      undefined,
    );
  });

  it('waits for as long as Retry-After asks, in seconds or until a date, at most a day', () => {
    const after = (retryAfter: string) =>
      (nextAttemptAtMs({ tries: 1, scheduleSeconds: [5], retryAfter, nowMs: startMs, random: 0.5 }) ?? 0) - startMs;
    assert.equal(after('120'), 120_000);
    assert.equal(after('1'), 5000, 'never sooner than the schedule');
    assert.equal(after(new Date(startMs + 60_000).toUTCString()), 60_000);
    assert.equal(after('999999999'), dayMs);
    for (const nonsense of ['', 'soon', '-5', '0', '1e9', new Date(startMs - 1000).toUTCString()])
      assert.equal(after(nonsense), 5000, nonsense);
    assert.equal(retryAfterMs(undefined, startMs), undefined);
  });
});

describe('the judgement of an attempt', () => {
  const occasion: AttemptContext = {
    startedAtMs: startMs,
    nowMs: startMs + 20,
    tries: 0,
    scheduleSeconds: contractSchedule,
    random: 0.5,
    failingSince: null,
  };
  const reply = (status: number, retryAfter?: string): SendResult => ({
    kind: 'replied',
    status,
    response: 'x',
    retryAfter,
    latencyMs: 20,
  });

  it('takes only 2xx for success', () => {
    for (const status of [200, 201, 204, 299])
      assert.equal(evaluateAttempt(reply(status), occasion).status, 'DELIVERED', String(status));
    for (const status of [301, 302, 307, 308, 400, 401, 404, 429, 500, 502, 503]) {
      const verdict = evaluateAttempt(reply(status), occasion);
      assert.deepEqual(
        [verdict.status, verdict.tries, verdict.nextAttemptAtMs],
        ['PENDING', 1, startMs + 20 + 5000],
        String(status),
      );
      assert.equal(verdict.attempt.httpStatus, status);
    }
    assert.equal(
      evaluateAttempt(
        { kind: 'failed', cause: 'timeout', error: 'late', status: 200, response: 'dri', latencyMs: 15_000 },
        occasion,
      ).status,
      'PENDING',
    );
  });

  it('switches off at once on 410 and tries no more', () => {
    const verdict = evaluateAttempt(reply(410), occasion);
    assert.deepEqual([verdict.status, verdict.nextAttemptAtMs, verdict.result], ['FAILED', undefined, 'gone']);
    assert.match(verdict.disableReason ?? '', /410/);
  });

  it('switches off after five days of nothing but failures, not before', () => {
    const at = (days: number) =>
      evaluateAttempt(reply(500), { ...occasion, failingSince: new Date(startMs - days * dayMs) }).disableReason;
    assert.equal(at(4.99), undefined);
    assert.match(at(5) ?? '', /five days/);
    assert.equal(evaluateAttempt(reply(200), { ...occasion, failingSince: new Date(0) }).disableReason, undefined);
  });

  it('gives up after the last attempt of the schedule', () => {
    assert.equal(evaluateAttempt(reply(500), { ...occasion, tries: contractSchedule.length - 1 }).status, 'PENDING');
    assert.equal(evaluateAttempt(reply(500), { ...occasion, tries: contractSchedule.length }).status, 'FAILED');
  });

  it('leaves an endpoint alone that asks for a pause', () => {
    assert.equal(evaluateAttempt(reply(429, '60'), occasion).pauseUntilMs, startMs + 20 + 60_000);
    assert.equal(evaluateAttempt(reply(429), occasion).pauseUntilMs, undefined);
  });
});

describe('signatures', () => {
  const body = JSON.stringify({ event: 'survey.published', text: 'ünïcödé 🙂' });
  // Looked at when a test runs: while files are loaded, the clock may be one that a test of another file has set.
  let timestamp = 0;
  beforeEach(() => {
    timestamp = Math.floor(Date.now() / 1000);
  });

  it('pass the independent library, for each of several secrets', () => {
    for (let n = 0; n < 200; n += 1) {
      const secrets = [makeSecret(), makeSecret()];
      const text = JSON.stringify({ body, n });
      const headers = signedHeaders({ webhookId: newId(), timestamp, body: text }, secrets);
      for (const secret of secrets) assert.deepEqual(new Webhook(secret).verify(text, headers), { body, n });
    }
  });

  it('fail for another body, id, time or secret', () => {
    const secret = makeSecret();
    const headers = signedHeaders({ webhookId: newId(), timestamp, body }, [secret]);
    const verifier = new Webhook(secret);
    assert.doesNotThrow(() => verifier.verify(body, headers));
    assert.throws(() => verifier.verify(body.replace('published', 'publishee'), headers));
    assert.throws(() => verifier.verify(body, { ...headers, 'webhook-id': newId() }));
    assert.throws(() => verifier.verify(body, { ...headers, 'webhook-timestamp': String(timestamp + 1) }));
    assert.throws(() => new Webhook(makeSecret()).verify(body, headers));
    const stale = signedHeaders({ webhookId: newId(), timestamp: timestamp - 301, body }, [secret]);
    assert.throws(() => verifier.verify(body, stale));
  });
});

describe('the pace of an endpoint', () => {
  it('spreads events evenly', () => {
    let nowMs = 0;
    const starts: number[] = [];
    const pace = createRateThrottle(() => nowMs);
    for (const events of [1, 1, 1, 50, 1]) {
      nowMs += pace.waitMs(10);
      pace.take(10, events);
      starts.push(nowMs);
    }
    assert.deepEqual(starts, [0, 100, 200, 300, 5300]);
  });

  it('loses nothing by timers that are late, and gains nothing by rest', () => {
    let nowMs = 0;
    const pace = createRateThrottle(() => nowMs);
    pace.take(10);
    nowMs = 107;
    pace.take(10);
    assert.equal(pace.waitMs(10), 93);
    nowMs = 60_000;
    pace.take(10);
    assert.equal(pace.waitMs(10), 100);
  });

  it('gives a turn back, but none that another has taken since', () => {
    const pace = createRateThrottle(() => 0);
    pace.take(10)();
    assert.equal(pace.waitMs(10), 0);
    const giveBack = pace.take(10);
    pace.take(10, 50);
    giveBack();
    assert.equal(pace.waitMs(10), 5100);
  });
});

describe('fan-out of stored responses', () => {
  const [surveyId, otherId, webhookId, batchHookId] = [newId(), newId(), newId(), newId()];
  const head = (fields: Partial<ResponseHead>): ResponseHead => ({
    surveyId,
    responseId: newId(),
    submittedAtMs: startMs,
    version: 1,
    surveyVersion: 1,
    isComplete: true,
    completedAtMs: startMs + 1,
    durationMs: -1,
    language: '',
    respondent: 'line\nbreak',
    metadata: {},
    ...fields,
  });
  const encode = (fields: Partial<ResponseHead>) =>
    encodeResponse(head(fields), { codes: [], numbers: [], texts: [] } as never);
  const run = async (lines: string[], listeners: Subscription[], alreadyWaiting = 0) => {
    const logged: unknown[] = [];
    const added: NewDelivery[] = [];
    const deleted: (readonly string[])[] = [];
    const hinted: string[] = [];
    let overflow = 0;
    const fanOut = createFanOut({
      webhooks: { findSubscriptions: async () => listeners },
      deliveries: {
        add: async (rows) => void added.push(...rows),
        markDeleted: async (_hooks, keys) => void deleted.push(keys),
        countPending: async (ids) => new Map(ids.map((id) => [id, alreadyWaiting])),
      },
      metrics: {
        webhookOverflowed: (count) => {
          overflow += count;
        },
      },
      enqueueDelivery: (ids) => void hinted.push(...ids),
      now: () => startMs,
      newId,
      log: { warn: (...said: unknown[]) => void logged.push(said) },
    });
    await fanOut.publishResponses([{ id: '5-0', surveyIds: [surveyId, otherId], rows: Buffer.from(lines.join('\n')) }]);
    return { added, deleted, hinted, overflow, logged };
  };
  const maxWaiting = 1000;
  const both = ['response.submitted', 'response.completed'];

  it('tells of the first version and of the complete one, and of no other survey', async () => {
    const lines = [
      encode({}),
      encode({ isComplete: false, completedAtMs: 0 }),
      encode({ version: 2, isComplete: false }),
      encode({ version: 3 }),
      encode({ surveyId: otherId }),
    ];
    const { added } = await run(lines, [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting }]);
    const expected = lines.slice(0, 4).map((line) => decodeResponse(line).head);
    assert.deepEqual(
      added.map(({ event, data }) => [event, data['responseId']]),
      [
        ['response.submitted', expected[0]?.responseId],
        ['response.completed', expected[0]?.responseId],
        ['response.submitted', expected[1]?.responseId],
        ['response.completed', expected[3]?.responseId],
      ],
    );
    assert.deepEqual(
      added.map(({ occurredAt }) => occurredAt.getTime() - startMs),
      [0, 1, 0, 1],
    );
  });

  it('passes over a row that cannot be read, tells of all others, and logs where it lies but nothing of it', async () => {
    const good = [encode({}), encode({})];
    const spoilt = encode({ language: 'a secret' }).slice(0, -1);
    const { added, logged } = await run(
      [good[0] ?? '', spoilt, good[1] ?? '', `["${otherId}" of others`],
      [{ webhookId, surveyId, events: ['response.submitted'], isBatch: false, maxWaiting }],
    );
    assert.deepEqual(
      added.map(({ data }) => data['responseId']),
      good.map((line) => decodeResponse(line).head.responseId),
    );
    assert.deepEqual(logged, [[{ entry: '5-0', place: 1 }, 'a row of the stream could not be read']]);
  });

  it('gives the same cause the same key when a batch is told again', async () => {
    const lines = [encode({}), encode({})];
    const [once, again] = await Promise.all(
      [1, 2].map(() => run(lines, [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting }])),
    );
    assert.deepEqual(
      once?.added.map((row) => row.eventKey),
      again?.added.map((row) => row.eventKey),
    );
    assert.equal(new Set(once?.added.map((row) => row.eventKey)).size, 4);
  });

  it('tells of each response under an id that a client has made again, days later, and of the deletion of that one', async () => {
    const listeners = [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting }];
    const responseId = newId();
    const [first, second] = [encode({ responseId }), encode({ responseId, submittedAtMs: startMs + 200_000_000 })];
    const keysOf = async (lines: string[]) => (await run(lines, listeners)).added.map(({ eventKey }) => eventKey);
    assert.equal(new Set(await keysOf([first, second])).size, 4);
    assert.deepEqual(
      await keysOf([encode({ responseId, isComplete: false }), encode({ responseId, version: 2 })]),
      await keysOf([first]),
      'saves of one response',
    );
    const {
      deleted: [gone = []],
    } = await run([encodeTombstone(surveyId, responseId, startMs)], listeners);
    assert.deepEqual(
      (await keysOf([first, second])).map((key) => gone.includes(key)),
      [true, true, false, false],
    );
    const own = newResponseId();
    assert.deepEqual(
      await keysOf([encode({ responseId: own })]),
      [`submitted:${own}`, `completed:${own}`],
      'those of the service come once',
    );
  });

  it('tells of deletions, and gives each endpoint only what it listens to', async () => {
    const gone = newId();
    const listeners = [
      { webhookId, surveyId, events: ['response.completed'], isBatch: false, maxWaiting },
      { webhookId: batchHookId, surveyId, events: ['response.submitted'], isBatch: true, maxWaiting },
    ];
    const { added, deleted } = await run([encode({}), encodeTombstone(surveyId, gone, startMs)], listeners);
    assert.ok(
      deleted[0]?.includes(`submitted:${gone}`) && deleted[0].includes(`completed:${gone}`),
      'as a former version named them',
    );
    const told = new Map(added.map((row) => [row.webhookId, [row.event, row.nextAttemptAt.getTime() - startMs]]));
    assert.deepEqual(
      told,
      new Map([
        [batchHookId, ['response.submitted', 1000]],
        [webhookId, ['response.completed', 0]],
      ]),
    );
    assert.equal(added.length, 2);
  });

  it('takes nothing for waiting that could not be written', async () => {
    const written: NewDelivery[] = [];
    let tries = 0;
    const fanOut = createFanOut({
      webhooks: {
        findSubscriptions: async () => [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting: 12_000 }],
      },
      deliveries: {
        add: async (rows) => {
          tries += 1;
          if (tries < 4) throw new Error('the disk is full');
          written.push(...rows);
        },
        markDeleted: async () => undefined,
        countPending: async (ids) => new Map(ids.map((id) => [id, written.length])),
      },
      metrics: { webhookOverflowed: () => assert.fail('there is room') },
      enqueueDelivery: () => undefined,
      now: () => startMs,
      newId,
      log: { warn: () => undefined },
    });
    const entries = [
      {
        id: '5-0',
        surveyIds: [surveyId],
        rows: Buffer.from(Array.from({ length: 3000 }, () => encode({})).join('\n')),
      },
    ];
    for (let attempt = 0; attempt < 3; attempt += 1) await assert.rejects(fanOut.publishResponses(entries), /disk/);
    await fanOut.publishResponses(entries);
    assert.deepEqual([written.length, written.filter((row) => row.overflowLimit !== undefined).length], [6000, 0]);
  });

  it('notes as not sent what comes while as many deliveries wait as may, and wakes nobody for it', async () => {
    const listeners = [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting: 10 }];
    const lines = Array.from({ length: 4 }, () => encode({}));
    const some = await run(lines, listeners, 5);
    assert.deepEqual(
      some.added.map((row) => row.overflowLimit),
      [...Array.from({ length: 5 }, () => undefined), 10, 10, 10],
    );
    assert.deepEqual([some.hinted, some.overflow], [[webhookId], 3]);
    const none = await run(lines, listeners, 10);
    assert.ok(none.added.length === 8 && none.added.every((row) => row.overflowLimit === 10));
    assert.deepEqual([none.hinted, none.overflow], [[], 8]);
  });
});

describe('the room in an endpoint’s line', () => {
  const setUp = () => {
    const state = { nowMs: 0, waiting: 0, counts: 0 };
    const room = createBacklogLimit({
      monotonicMs: () => state.nowMs,
      countPending: async (ids) => {
        state.counts += 1;
        return new Map(ids.map((id) => [id, state.waiting]));
      },
    });
    return {
      state,
      take: async (wanted: number, maxWaiting = 100_000) =>
        (await room.reserve([{ webhookId: 'a', wanted, maxWaiting }])).get('a'),
    };
  };

  it('counts now and then, and takes what was added meanwhile for waiting', async () => {
    const { state, take } = setUp();
    assert.deepEqual([await take(60_000), await take(60_000), await take(1)], [60_000, 40_000, 0]);
    assert.equal(state.counts, 1, 'a long line is not counted for every batch');
    state.nowMs += 1001;
    assert.equal(await take(10), 10, 'all were sent in the meantime');
    assert.equal(state.counts, 2);
    state.nowMs += 5001;
    state.waiting = 99_999;
    assert.equal(await take(5), 1);
  });

  it('counts a short line whenever it matters', async () => {
    const { state, take } = setUp();
    for (let n = 0; n < 5; n += 1) assert.equal(await take(100, 100), 100);
    state.waiting = 100;
    assert.equal(await take(1, 100), 0);
  });
});
