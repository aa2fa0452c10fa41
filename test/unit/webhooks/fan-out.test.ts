import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResponseEventGroup, ResponseEvents } from '../../../src/domain/events.ts';
import {
  decodeResponse,
  encodeResponse,
  encodeTombstone,
  type ResponseHead,
} from '../../../src/domain/response-row.ts';
import { newId, newResponseId } from '../../../src/platform/ids.ts';
import type { NewDelivery } from '../../../src/stores/postgres/webhook-new-deliveries.ts';
import type { Subscription } from '../../../src/stores/postgres/webhooks.ts';
import { createFanOut } from '../../../src/webhooks/fan-out.ts';
import { createReadResponseEvents, withLaterDeletions } from '../../../src/webhooks/response-events.ts';

const startMs = Date.UTC(2026, 0, 1);

describe('fan-out of stored responses', () => {
  const [surveyId, otherId, webhookId, batchHookId] = [newId(), newId(), newId(), newId()];
  const head = (fields: Partial<ResponseHead>): ResponseHead => ({
    surveyId,
    responseId: newId(),
    submittedAtMs: startMs,
    version: 1,
    surveyVersion: 1,
    outcome: 'COMPLETED',
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
      webhooks: { findSubscriptions: async () => listeners, findEndpoints: async () => listeners },
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
    });
    const read = createReadResponseEvents({
      findSubscriptions: async () => listeners,
      collectorIdOf: async () => null,
      now: () => startMs,
      log: { warn: (...said: unknown[]) => void logged.push(said) },
    });
    const events = await read([
      { id: `${startMs + 7}-0`, surveyIds: [surveyId, otherId], rows: Buffer.from(lines.join('\n')) },
    ]);
    await fanOut.publishResponses(events);
    return { added, deleted, hinted, overflow, logged };
  };
  const maxWaiting = 1000;
  const createdAt = new Date(startMs - 1000);
  const both = ['response.submitted', 'response.completed'];

  it('publishes the first and the complete version of a response, and no other survey', async () => {
    const lines = [
      encode({}),
      encode({ outcome: 'PARTIAL', completedAtMs: 0 }),
      encode({ version: 2, outcome: 'PARTIAL' }),
      encode({ version: 3 }),
      encode({ surveyId: otherId }),
    ];
    const { added } = await run(lines, [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting, createdAt }]);
    const expected = lines.slice(0, 4).map((line) => decodeResponse(line).head);
    assert.deepEqual(
      added.map(({ event, data }) => [event, data['responseId']]),
      [
        ['response.submitted', expected[0]?.responseId],
        ['response.submitted', expected[1]?.responseId],
        ['response.completed', expected[0]?.responseId],
        ['response.completed', expected[3]?.responseId],
      ],
    );
    assert.deepEqual(
      added.map(({ occurredAt }) => occurredAt.getTime() - startMs),
      [0, 0, 1, 1],
    );
  });

  it('says of each response its outcome, and when a save was completed by a full quota', async () => {
    const lines = [
      encode({ outcome: 'SCREENED_OUT' }),
      // The intake changes the outcome of a partial save that finds its cell full; its row has no time of completion.
      encode({ outcome: 'OVER_QUOTA', completedAtMs: 0 }),
    ];
    const { added } = await run(lines, [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting, createdAt }]);
    assert.deepEqual(
      added.map(({ event, occurredAt, data }) => [event, data['outcome'], occurredAt.getTime() - startMs]),
      [
        ['response.submitted', 'SCREENED_OUT', 0],
        ['response.submitted', 'OVER_QUOTA', 0],
        ['response.completed', 'SCREENED_OUT', 1],
        ['response.completed', 'OVER_QUOTA', 7],
      ],
    );
  });

  it('sends an endpoint nothing that happened before it was made, unless the clock was set back since', async () => {
    const lines = [
      encode({ submittedAtMs: startMs - 2000, completedAtMs: startMs - 2000 }),
      encode({ submittedAtMs: startMs - 2000, completedAtMs: startMs - 500 }),
      encode({ submittedAtMs: startMs - 1000, completedAtMs: startMs - 1000 }),
    ];
    const ids = lines.map((line) => decodeResponse(line).head.responseId);
    const subscription = { webhookId, surveyId, events: both, isBatch: false, maxWaiting };
    const sent = async (madeAtMs: number) =>
      (await run(lines, [{ ...subscription, createdAt: new Date(madeAtMs) }])).added.map(({ event, data }) => [
        event,
        ids.indexOf(String(data['responseId'])),
      ]);
    assert.deepEqual(await sent(startMs - 1000), [
      ['response.submitted', 2],
      ['response.completed', 2],
      ['response.completed', 1],
    ]);
    assert.equal((await sent(startMs + 3_600_000)).length, 6);
  });

  it('skips a row that cannot be read, and logs its place but nothing of its content', async () => {
    const good = [encode({}), encode({})];
    const spoilt = encode({ language: 'a secret' }).slice(0, -1);
    const { added, logged } = await run(
      [good[0] ?? '', spoilt, good[1] ?? '', `["${otherId}" of others`],
      [{ webhookId, surveyId, events: ['response.submitted'], isBatch: false, maxWaiting, createdAt }],
    );
    assert.deepEqual(
      added.map(({ data }) => data['responseId']),
      good.map((line) => decodeResponse(line).head.responseId),
    );
    assert.deepEqual(logged, [[{ entry: `${startMs + 7}-0`, place: 1 }, 'a row of the stream could not be read']]);
  });

  it('gives the same cause the same key when a batch is repeated', async () => {
    const lines = [encode({}), encode({})];
    const [once, again] = await Promise.all(
      [1, 2].map(() => run(lines, [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting, createdAt }])),
    );
    assert.deepEqual(
      once?.added.map((row) => row.eventKey),
      again?.added.map((row) => row.eventKey),
    );
    assert.equal(new Set(once?.added.map((row) => row.eventKey)).size, 4);
  });

  it('publishes each response under a client-made id that is used again days later, and deletes only the one', async () => {
    const listeners = [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting, createdAt }];
    const responseId = newId();
    const [first, second] = [encode({ responseId }), encode({ responseId, submittedAtMs: startMs + 200_000_000 })];
    const keysOf = async (lines: string[]) => (await run(lines, listeners)).added.map(({ eventKey }) => eventKey);
    assert.equal(new Set(await keysOf([first, second])).size, 4);
    assert.deepEqual(
      await keysOf([encode({ responseId, outcome: 'PARTIAL' }), encode({ responseId, version: 2 })]),
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
      'ids of the service are used once',
    );
  });

  it('marks deletions, and gives each endpoint only the events that it listens to', async () => {
    const gone = newId();
    const listeners = [
      { webhookId, surveyId, events: ['response.completed'], isBatch: false, maxWaiting, createdAt },
      {
        webhookId: batchHookId,
        surveyId,
        events: ['response.submitted'],
        isBatch: true,
        maxWaiting,
        createdAt,
      },
    ];
    const { added, deleted } = await run([encode({}), encodeTombstone(surveyId, gone, startMs)], listeners);
    assert.ok(
      deleted[0]?.includes(`submitted:${gone}`) && deleted[0].includes(`completed:${gone}`),
      'under the keys of a former version',
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

  it('marks deletions for an endpoint that listens to responses no longer, as what it listened to may wait', async () => {
    const gone = newId();
    const listeners = [{ webhookId, surveyId, events: ['survey.published'], isBatch: false, maxWaiting, createdAt }];
    const { added, deleted } = await run([encode({}), encodeTombstone(surveyId, gone, startMs)], listeners);
    assert.ok(deleted[0]?.includes(`completed:${gone}`));
    assert.deepEqual(added, []);
  });

  /** Publishes rows and records in which order it happens. */
  const publishRows = async (rows: ResponseEvents[]) => {
    const steps: string[] = [];
    const added: NewDelivery[] = [];
    const fanOut = createFanOut({
      webhooks: {
        findSubscriptions: async () => assert.fail('the endpoints are known'),
        findEndpoints: async (ids) =>
          ids.map((id) => ({ webhookId: id, events: both, isBatch: false, maxWaiting, createdAt })),
      },
      deliveries: {
        add: async (deliveries) => {
          steps.push('write');
          added.push(...deliveries);
        },
        markDeleted: async () => void steps.push('mark'),
        countPending: async () => new Map(),
      },
      metrics: { webhookOverflowed: () => assert.fail('there is room') },
      enqueueDelivery: () => void steps.push('wake'),
      now: () => startMs,
      newId,
    });
    await fanOut.publishResponses(rows);
    return { steps, added };
  };
  const completed = (...ids: string[]): ResponseEventGroup => ({
    event: 'response.completed',
    outcome: 'COMPLETED',
    collectorId: null,
    responses: ids.map((id) => [id, startMs, startMs]),
  });

  it('says of responses that a later row deletes that they are deleted, before an endpoint can send them', async () => {
    const ids = [newResponseId(), newResponseId(), newResponseId()] as const;
    const row = { surveyId, webhookIds: [webhookId], groups: [] as ResponseEventGroup[], deletedKeys: [] as string[] };
    const rows = withLaterDeletions([
      { ...row, groups: [completed(ids[0], ids[1])] },
      { ...row, surveyId: otherId, deletedKeys: [`completed:${ids[1]}`] },
      { ...row, deletedKeys: [`completed:${ids[0]}`, `completed:${ids[2]}`] },
      { ...row, groups: [completed(ids[2])] },
    ]);
    const isDeletedOf = (added: NewDelivery[]) =>
      added.map(({ data }) => [ids.indexOf(String(data['responseId'])), data['deleted'] ?? false]);
    const { steps, added } = await publishRows(rows);
    assert.deepEqual(isDeletedOf(added), [
      [0, true],
      [1, false],
      [2, false],
    ]);
    assert.deepEqual(steps, ['write', 'mark', 'mark', 'wake']);
    assert.deepEqual(isDeletedOf((await publishRows(rows.slice(0, 1))).added), [
      [0, true],
      [1, false],
    ]);
  });

  it('gives the events of each row to the endpoints that the row names, once, in the order of the rows', async () => {
    const ids = [newResponseId(), newResponseId(), newResponseId()];
    const hooks = [[webhookId], [webhookId, batchHookId], [webhookId]];
    const { added } = await publishRows(
      ids.map((id, n) => ({ surveyId, webhookIds: hooks[n] ?? [], groups: [completed(id)], deletedKeys: [] })),
    );
    assert.deepEqual(
      added.map((delivery) => [delivery.webhookId, ids.indexOf(String(delivery.data['responseId']))]),
      [
        [webhookId, 0],
        [webhookId, 1],
        [batchHookId, 1],
        [webhookId, 2],
      ],
    );
  });

  it('does not count deliveries that could not be written', async () => {
    const written: NewDelivery[] = [];
    let tries = 0;
    const fanOut = createFanOut({
      webhooks: {
        findSubscriptions: async () => assert.fail('the endpoints are known'),
        findEndpoints: async () => [{ webhookId, events: both, isBatch: false, maxWaiting: 12_000, createdAt }],
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
    });
    const events: ResponseEvents = {
      surveyId,
      webhookIds: [webhookId],
      groups: [
        {
          event: 'response.completed',
          outcome: 'COMPLETED',
          collectorId: null,
          responses: Array.from({ length: 6000 }, () => [newId(), startMs, startMs]),
        },
      ],
      deletedKeys: [],
    };
    for (let attempt = 0; attempt < 3; attempt += 1) await assert.rejects(fanOut.publishResponses([events]), /disk/);
    await fanOut.publishResponses([events]);
    assert.deepEqual([written.length, written.filter((row) => row.overflowLimit !== undefined).length], [6000, 0]);
  });

  it('marks deliveries beyond the backlog limit as overflow, and wakes no endpoint for them', async () => {
    const listeners = [{ webhookId, surveyId, events: both, isBatch: false, maxWaiting: 10, createdAt }];
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
