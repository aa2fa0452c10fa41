import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blankSurvey } from '../../../src/domain/blank-survey.ts';
import type { ResponseEventGroup, ResponseEvents } from '../../../src/domain/events.ts';
import { encodeTombstone } from '../../../src/domain/response-row.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { Sql } from '../../../src/stores/postgres/client.ts';
import { createSurveyStore } from '../../../src/stores/postgres/surveys.ts';
import {
  createResponseEventStore,
  type ResponseEventStore,
} from '../../../src/stores/postgres/webhook-response-events.ts';
import { createWriteDeliveries } from '../../../src/webhooks/event-backlog.ts';
import { createFanOut } from '../../../src/webhooks/fan-out.ts';
import { createReadResponseEvents } from '../../../src/webhooks/response-events.ts';
import { type DeliveryDatabase, deliveryDatabase, deliveryTools, rowFor, startMs } from '../../support/deliveries.ts';

describe('events of responses in the database', () => {
  let database: DeliveryDatabase['database'];
  let webhooks: DeliveryDatabase['webhooks'];
  let deliveries: DeliveryDatabase['deliveries'];
  let responseEvents: ResponseEventStore;
  const ownerId = newId();
  before(async () => {
    ({ database, webhooks, deliveries } = await deliveryDatabase(ownerId));
    responseEvents = createResponseEventStore(database.sql);
  });
  after(() => database?.drop());

  const { endpoint, listOf } = deliveryTools(ownerId, () => ({ webhooks, deliveries }));

  const groupOf = (event: ResponseEventGroup['event'], responseIds: string[]): ResponseEventGroup => ({
    event,
    outcome: 'COMPLETED',
    collectorId: null,
    responses: responseIds.map((id, n) => [id, startMs + n, startMs]),
  });
  const eventsOf = (surveyId: string, webhookIds: string[], responseIds = [newId()]): ResponseEvents => ({
    surveyId,
    webhookIds,
    groups: [groupOf('response.completed', responseIds)],
    deletedKeys: [],
  });
  const survey = async () => {
    const id = newId();
    await createSurveyStore(database.sql).create(blankSurvey(id, ownerId, startMs));
    return id;
  };
  type EnqueueDelivery = Parameters<typeof createFanOut>[0]['enqueueDelivery'];
  const fanOutTo = (enqueueDelivery: EnqueueDelivery) =>
    createFanOut({
      webhooks,
      deliveries,
      metrics: { webhookOverflowed: () => assert.fail('there is room') },
      enqueueDelivery,
      now: () => startMs,
      newId,
    });
  const publish = (events: ResponseEvents & { keptAt?: Date }) => fanOutTo(() => undefined).publishResponses([events]);
  const readEvents = () =>
    createReadResponseEvents({
      findSubscriptions: (surveyIds) => webhooks.findSubscriptions(surveyIds, { withSilent: true }),
      collectorIdOf: async () => null,
      now: () => startMs,
      log: { warn: () => undefined },
    });
  /** Writes what waits without any pace. */
  const writeAtOnce = ({
    enqueueDelivery,
    isStopping = () => false,
  }: {
    enqueueDelivery: EnqueueDelivery;
    isStopping?: () => boolean;
  }) =>
    createWriteDeliveries({
      responseEvents,
      fanOut: fanOutTo(enqueueDelivery),
      pace: { perSecond: () => Number.POSITIVE_INFINITY, begin: () => undefined },
      isStopping,
      log: { warn: () => assert.fail('every row can be published') },
    });

  it('are read as they were added, the oldest of each survey, from survey to survey', async () => {
    const [one, other] = [newId(), newId()].sort() as [string, string];
    const listening = [(await endpoint()).id, (await endpoint()).id];
    const [first, second] = [{ ...eventsOf(one, listening), deletedKeys: ['completed:a'] }, eventsOf(one, [])];
    const third = eventsOf(other, [...listening.slice(1), newId()], [newId(), newId()]);
    await responseEvents.add([first, second]);
    await responseEvents.add([third]);
    assert.equal(await responseEvents.count(), 5);
    const rows = await responseEvents.nextTurn(10);
    assert.deepEqual(
      rows.map(({ id, keptAt, deliveries, ...content }) => [content, deliveries]),
      [
        [first, 4],
        [second, 0],
        [third, 2],
      ],
    );
    assert.deepEqual(
      [
        await responseEvents.nextTurn(4),
        await responseEvents.nextTurn(10, one),
        await responseEvents.nextTurn(10, other),
      ],
      [rows.slice(0, 1), rows.slice(2), []],
    );
    await responseEvents.remove([rows[0]?.id ?? 0]);
    await responseEvents.setBack(rows[2]?.id ?? 0);
    const left = await responseEvents.nextTurn(10);
    assert.deepEqual(
      left.map(({ groups }) => groups),
      [second.groups],
    );
    await database.sql`DELETE FROM webhook_response_events`;
  });

  it('are read in turns of about as many deliveries for each survey, at least one row', async () => {
    const surveys = [newId(), newId(), newId(), newId()].sort();
    const [small = '', large = '', setBack = '', last = ''] = surveys;
    const { id } = await endpoint();
    const ids = (count: number) => Array.from({ length: count }, () => newId());
    await responseEvents.add([
      ...ids(30).map(() => eventsOf(small, [id])),
      ...ids(3).map(() => eventsOf(large, [id], ids(25))),
      eventsOf(setBack, [id]),
      eventsOf(last, [id], ids(60)),
    ]);
    const [waiting] = await responseEvents.nextTurn(1, large);
    await responseEvents.setBack(waiting?.id ?? 0);
    const turnOf = async (limit: number, after?: string) =>
      (await responseEvents.nextTurn(limit, after)).map(({ surveyId, deliveries }) => [
        surveys.indexOf(surveyId),
        deliveries,
      ]);
    const smallRows = ids(30).map(() => [0, 1]);
    assert.deepEqual(await turnOf(20), smallRows.slice(0, 20));
    assert.deepEqual(await turnOf(20, small), [[1, 25]]);
    assert.deepEqual(await turnOf(50), [...smallRows, [1, 25], [1, 25]]);
    assert.deepEqual(await turnOf(50, large), [[3, 60]]);
    assert.equal((await turnOf(1000)).length, 34);
    await database.sql`DELETE FROM webhook_response_events`;
  });

  it('are needed by no survey whose endpoints all have their share of the requests to send already', async () => {
    const [pair, single, nobody] = [newId(), newId(), newId()];
    const [plain, batch, other] = [await endpoint(), await endpoint({ isBatch: true }), await endpoint()];
    await responseEvents.add([
      eventsOf(pair, [plain.id]),
      eventsOf(pair, [batch.id, newId()]),
      eventsOf(single, [other.id]),
      eventsOf(nobody, [newId()]),
    ]);
    const ids = (await responseEvents.nextTurn(1000)).map(({ id }) => id);
    const supplied = async (requests: number) => {
      const found = await responseEvents.supplyOf(ids, requests);
      assert.deepEqual(
        [pair, single, nobody].map((id) => found.get(id)?.hasBatches),
        [true, false, undefined],
      );
      return [pair, single, nobody].map((id) => found.get(id)?.isEnough ?? false);
    };
    const wait = (webhookId: string, count: number, nextAttemptAt = new Date(startMs)) =>
      deliveries.add(Array.from({ length: count }, () => rowFor(webhookId, startMs, { nextAttemptAt })));
    await wait(other.id, 1);
    await wait(other.id, 5, new Date(Date.now() + 3_600_000));
    assert.deepEqual(await supplied(1), [false, false, false]);
    await wait(other.id, 4);
    assert.deepEqual([await supplied(5), await supplied(5.1)].flat(), [false, true, false, false, false, false]);
    await wait(plain.id, 3);
    await wait(batch.id, 299);
    assert.deepEqual(await supplied(5), [false, true, false]);
    await wait(batch.id, 1);
    assert.deepEqual([await supplied(5), await supplied(7)].flat(), [true, true, false, false, false, false]);
    await database.sql`UPDATE webhooks SET is_active = false WHERE id = ANY(${[plain.id, other.id]}::uuid[])`;
    await database.sql`DELETE FROM webhook_deliveries WHERE webhook_id = ${plain.id}`;
    const found = await responseEvents.supplyOf(ids, 3);
    assert.deepEqual([found.get(pair)?.isEnough, found.has(single)], [true, false], 'those that are off need nothing');
    await database.sql`DELETE FROM webhook_response_events`;
  });

  it('are read at the cost of a turn, however many wait, whatever plan PostgreSQL caches', async () => {
    const [busy = '', quiet = '', other = ''] = [newId(), newId(), newId()].sort();
    const { id } = await endpoint();
    await responseEvents.add([busy, quiet, other].map((surveyId) => eventsOf(surveyId, [id])));
    await database.sql`
      INSERT INTO webhook_response_events (survey_id, events, webhook_ids, content)
      SELECT ${busy}, 1, ARRAY[${id}::uuid], '{"groups": [], "deletedKeys": []}' FROM generate_series(1, 20000)`;
    const rowsRead = async (tx: Sql) => {
      const [row] = await tx<{ read: number }[]>`
        SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS read FROM pg_stat_xact_user_tables
        WHERE relname = 'webhook_response_events'`;
      return row?.read ?? 0;
    };
    for (const mode of ['force_custom_plan', 'force_generic_plan'])
      for (const isAnalyzed of [false, true]) {
        if (isAnalyzed) await database.sql`ANALYZE webhook_response_events`;
        await database.sql.begin(async (transaction) => {
          const tx = transaction as unknown as Sql;
          await tx`SELECT set_config('plan_cache_mode', ${mode}, true)`;
          const store = createResponseEventStore(tx);
          const readBefore = await rowsRead(tx);
          const turns = [await store.nextTurn(200), await store.nextTurn(200, busy), await store.nextTurn(200, quiet)];
          const read = (await rowsRead(tx)) - readBefore;
          assert.deepEqual(
            turns.map((turn) => turn.length),
            [200, 2, 1],
          );
          assert.ok(read >= 203 && read < 1000, `${read} rows read, ${mode}, ${isAnalyzed}`);
        });
      }
    await database.sql`DELETE FROM webhook_response_events`;
  });

  it('are written as deleted, before their endpoint is woken, where a later row of the turn deletes the response', async () => {
    const surveyId = await survey();
    const { id } = await endpoint({ surveyId, events: ['response.completed'] });
    const responseIds = [newId(), newId()];
    const row = { surveyId, webhookIds: [id], groups: [], deletedKeys: [] };
    await responseEvents.add([
      ...responseIds.map((responseId) => ({ ...row, groups: [groupOf('response.completed', [responseId])] })),
      { ...row, deletedKeys: [`completed:${responseIds[0]}:${startMs}`] },
    ]);
    const atWaking: ReturnType<typeof listOf>[] = [];
    const write = writeAtOnce({ enqueueDelivery: (ids) => void atWaking.push(...ids.map(listOf)) });
    await write();
    assert.equal(atWaking.length, 1);
    assert.deepEqual(
      (await atWaking[0])?.map(({ data }) => [data['responseId'], data['deleted'] ?? false]),
      [
        [responseIds[0], true],
        [responseIds[1], false],
      ],
    );
    assert.equal(await responseEvents.count(), 0);
  });

  it('are written as deleted also where the row that deletes the response comes far after their turn', async () => {
    const surveyId = await survey();
    const { id } = await endpoint({ surveyId, events: ['response.completed'], maxWaiting: 10_000 });
    const responseIds = Array.from({ length: 1000 }, () => newId());
    const row = { surveyId, webhookIds: [id], groups: [], deletedKeys: [] };
    await responseEvents.add([
      { ...row, groups: [groupOf('response.completed', responseIds)] },
      { ...row, groups: [groupOf('response.completed', [newId()])] },
      ...Array.from({ length: 1000 }, () => ({ ...row, deletedKeys: [`completed:${newId()}:${startMs}`] })),
      { ...row, deletedKeys: [`completed:${responseIds[3]}:${startMs}`] },
    ]);
    const deletedAtWaking: Promise<string[]>[] = [];
    const listDeleted = async () =>
      (
        await database.sql<{ responseId: string }[]>`
          SELECT data ->> 'responseId' AS "responseId" FROM webhook_deliveries
          WHERE webhook_id = ${id} AND data @> '{"deleted": true}'`
      ).map(({ responseId }) => responseId);
    let isStopping = false;
    const write = writeAtOnce({
      enqueueDelivery: () => {
        deletedAtWaking.push(listDeleted());
        isStopping = true;
      },
      isStopping: () => isStopping,
    });
    await write();
    assert.deepEqual(await Promise.all(deletedAtWaking), [[responseIds[3]]]);
    assert.equal(await responseEvents.count(), 1002, 'the deletion is not read yet');
    await database.sql`DELETE FROM webhook_response_events`;
  });

  it('become deliveries in the order in which they happened, once, and those of deleted responses say so', async () => {
    const surveyId = await survey();
    const { id } = await endpoint({ surveyId, events: ['response.submitted', 'response.completed'] });
    const responseIds = [newId(), newId()];
    const events: ResponseEvents = {
      surveyId,
      webhookIds: [id],
      groups: [groupOf('response.completed', responseIds), groupOf('response.submitted', responseIds)],
      deletedKeys: [`completed:${responseIds[1]}:${startMs}`],
    };
    await publish(events);
    await publish(events);
    assert.deepEqual(
      (await listOf(id)).map(({ event, data }) => [event, data['responseId'], data['deleted'] ?? false]),
      [
        ['response.submitted', responseIds[0], false],
        ['response.completed', responseIds[0], false],
        ['response.submitted', responseIds[1], false],
        ['response.completed', responseIds[1], true],
      ],
    );
  });

  it('reach the endpoints that listened when they happened, though switched off or moved meanwhile, and no others', async () => {
    const [surveyId, elsewhere] = [await survey(), await survey()];
    const events = ['response.completed'];
    const [off, moved, late] = [
      await endpoint({ surveyId, events, isActive: false }),
      await endpoint({ surveyId: elsewhere, events }),
      await endpoint({ surveyId, events }),
    ];
    await publish({ ...eventsOf(surveyId, [off.id, moved.id, newId()]), keptAt: new Date(startMs - 1000) });
    for (const { id } of [off, moved])
      assert.deepEqual(
        (await listOf(id)).map(({ status, pendingSince }) => [status, pendingSince.getTime()]),
        [['PENDING', startMs - 1000]],
        'their age counts from then',
      );
    assert.deepEqual(await listOf(late.id), []);
  });

  it('say that their response was deleted while their endpoint was off, and that it or the survey was before a replay', async () => {
    const [surveyId, gone, goneSurveyId] = [await survey(), newId(), await survey()];
    const events = ['response.completed'];
    const off = await endpoint({ surveyId, events, isActive: false });
    const sent = [await endpoint({ surveyId, events }), await endpoint({ surveyId: goneSurveyId, events })];
    await publish(eventsOf(surveyId, [off.id, sent[0]?.id ?? ''], [gone]));
    await publish(eventsOf(goneSurveyId, [sent[1]?.id ?? '']));
    const read = readEvents();
    const attempt = { at: new Date(startMs).toISOString(), httpStatus: 200, latencyMs: 1, response: '', error: null };
    for (const { id, updatedAt } of sent)
      for (const row of await listOf(id))
        await deliveries.saveResults(
          [{ id: row.id, pendingSince: row.pendingSince, status: 'DELIVERED', tries: 0, nextAttemptAt: null, attempt }],
          updatedAt,
        );
    const rows = Buffer.from(encodeTombstone(surveyId, gone, startMs));
    for (const deleted of await read([{ id: `${startMs + 7}-0`, surveyIds: [surveyId], rows }])) await publish(deleted);
    await database.sql`UPDATE surveys SET deleted_at = ${new Date(startMs)} WHERE id = ${goneSurveyId}`;
    for (const { id } of sent)
      await deliveries.replay(id, {
        since: new Date(startMs),
        until: new Date(startMs + 1),
        now: new Date(startMs + 1000),
      });
    for (const { id } of [off, ...sent])
      assert.deepEqual(
        (await listOf(id)).map(({ status, data }) => [status, data['deleted']]),
        [['PENDING', true]],
      );
  });

  it('say that their response was deleted while the owner of their endpoint was blocked', async () => {
    const [surveyId, gone] = [await survey(), newId()];
    const owners = ['disabled', 'viewer', 'removed'].map((name) => ({ id: newId(), name }));
    for (const { id, name } of owners) {
      await database.sql`INSERT INTO users (id, email, email_key, password_hash, role) VALUES (${id}, ${name}, ${name}, 'x', 'EDITOR')`;
      await database.sql`INSERT INTO survey_members (survey_id, user_id, role) VALUES (${surveyId}, ${id}, 'EDITOR')`;
    }
    const [disabled, viewer, removed] = owners.map((owner) => owner.id);
    const scopes = [
      { ownerId: disabled, surveyId },
      { ownerId: disabled, surveyId: null },
      { ownerId: viewer, surveyId },
      { ownerId: removed, surveyId },
    ];
    const ids: string[] = [];
    for (const { ownerId = '', surveyId } of scopes)
      ids.push((await endpoint({ ownerId, scopeRole: 'EDITOR', surveyId, events: ['response.completed'] })).id);
    await publish(eventsOf(surveyId, ids, [gone]));
    await database.sql`UPDATE users SET is_disabled = true WHERE id = ${disabled ?? ''}`;
    await database.sql`UPDATE users SET role = 'VIEWER' WHERE id = ${viewer ?? ''}`;
    await database.sql`DELETE FROM survey_members WHERE user_id = ${removed ?? ''}`;
    const rows = Buffer.from(encodeTombstone(surveyId, gone, startMs));
    for (const deleted of await readEvents()([{ id: `${startMs + 7}-0`, surveyIds: [surveyId], rows }]))
      await publish(deleted);
    for (const id of ids)
      assert.deepEqual(
        (await listOf(id)).map(({ status, data }) => [status, data['deleted']]),
        [['PENDING', true]],
      );
  });

  it('say that their survey was deleted while they waited, and its endpoint gets them before it is switched off', async () => {
    const surveyId = await survey();
    const { id } = await endpoint({ surveyId, events: ['response.completed'] });
    await responseEvents.add([eventsOf(surveyId, [id])]);
    await database.sql`UPDATE surveys SET deleted_at = ${new Date(startMs)} WHERE id = ${surveyId}`;
    const later = new Date(startMs + 3_600_000);
    await webhooks.disableOrphans(later);
    assert.equal((await webhooks.find(id))?.isActive, true);
    const [waiting] = await responseEvents.nextTurn(1);
    assert.ok(waiting);
    const { oldestPending } = await webhooks.stats();
    assert.ok(oldestPending && oldestPending <= waiting.keptAt);
    await publish(waiting);
    await responseEvents.remove([waiting.id]);
    assert.deepEqual(
      (await listOf(id)).map(({ status, data }) => [status, data['deleted']]),
      [['PENDING', true]],
    );
    await database.sql`UPDATE webhook_deliveries SET status = 'DELIVERED' WHERE webhook_id = ${id}`;
    await webhooks.disableOrphans(later);
    assert.equal((await webhooks.find(id))?.isActive, false);
  });
});
