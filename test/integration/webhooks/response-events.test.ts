import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blankSurvey } from '../../../src/domain/blank-survey.ts';
import type { ResponseEventGroup, ResponseEvents } from '../../../src/domain/events.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createSurveyStore } from '../../../src/stores/postgres/surveys.ts';
import {
  createResponseEventStore,
  type ResponseEventStore,
} from '../../../src/stores/postgres/webhook-response-events.ts';
import { createFanOut } from '../../../src/webhooks/fan-out.ts';
import { type DeliveryDatabase, deliveryDatabase, deliveryTools, startMs } from '../../support/deliveries.ts';

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
  const publish = (events: ResponseEvents & { keptAt?: Date }) =>
    createFanOut({
      webhooks,
      deliveries,
      metrics: { webhookOverflowed: () => assert.fail('there is room') },
      enqueueDelivery: () => undefined,
      now: () => startMs,
      newId,
    }).publishResponses([events]);

  it('are read as they were added, the oldest of each survey, from survey to survey', async () => {
    const [one, other] = [newId(), newId()].sort() as [string, string];
    const listening = [(await endpoint()).id, (await endpoint()).id];
    const [first, second] = [{ ...eventsOf(one, listening), deletedKeys: ['completed:a'] }, eventsOf(one, [])];
    const third = eventsOf(other, [...listening.slice(1), newId()], [newId(), newId()]);
    await responseEvents.add([first, second]);
    await responseEvents.add([third]);
    assert.equal(await responseEvents.count(), 5);
    const rows = await responseEvents.oldest(10);
    assert.deepEqual(
      rows.map(({ id, keptAt, deliveries, ...content }) => [content, deliveries]),
      [
        [first, 4],
        [third, 2],
      ],
    );
    assert.deepEqual(
      [await responseEvents.oldest(1), await responseEvents.oldest(10, one), await responseEvents.oldest(10, other)],
      [rows.slice(0, 1), rows.slice(1), []],
    );
    await responseEvents.remove([rows[0]?.id ?? 0]);
    await responseEvents.setBack(rows[1]?.id ?? 0);
    const left = await responseEvents.oldest(10);
    assert.deepEqual(
      left.map(({ groups }) => groups),
      [second.groups],
    );
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

  it('say that their survey was deleted while they waited, and its endpoint gets them before it is switched off', async () => {
    const surveyId = await survey();
    const { id } = await endpoint({ surveyId, events: ['response.completed'] });
    await responseEvents.add([eventsOf(surveyId, [id])]);
    await database.sql`UPDATE surveys SET deleted_at = ${new Date(startMs)} WHERE id = ${surveyId}`;
    const later = new Date(startMs + 3_600_000);
    await webhooks.disableOrphans(later);
    assert.equal((await webhooks.find(id))?.isActive, true);
    const [waiting] = await responseEvents.oldest(1);
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
