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

  const groupOf = (
    surveyId: string,
    event: ResponseEventGroup['event'],
    responseIds: string[],
  ): ResponseEventGroup => ({
    event,
    surveyId,
    outcome: 'COMPLETED',
    collectorId: null,
    responses: responseIds.map((id, n) => [id, startMs + n, startMs]),
  });
  const batchOf = (surveyId: string, responseIds: string[], deletedKeys: string[] = []): ResponseEvents => ({
    surveyIds: [surveyId],
    groups: [groupOf(surveyId, 'response.completed', responseIds)],
    deletedKeys,
  });
  const survey = async () => {
    const id = newId();
    await createSurveyStore(database.sql).create(blankSurvey(id, ownerId, startMs));
    return id;
  };
  const publish = async (batch: ResponseEvents) => {
    const fanOut = createFanOut({
      webhooks,
      deliveries,
      metrics: { webhookOverflowed: () => assert.fail('there is room') },
      enqueueDelivery: () => undefined,
      now: () => startMs,
      newId,
    });
    assert.equal(await fanOut.publishResponses(batch), true);
  };

  it('are read as they were added, the oldest first, and a few batches as one', async () => {
    const [one, other] = [newId(), newId()];
    const batches = [
      batchOf(one, [newId(), newId()], ['completed:a']),
      batchOf(other, [newId()]),
      batchOf(one, [newId()]),
    ];
    for (const batch of batches) await responseEvents.add(batch);
    assert.equal(await responseEvents.count(), 4);
    const first = await responseEvents.oldest(1);
    assert.deepEqual({ ...first, ids: undefined }, { ...batches[0], ids: undefined });
    const both = await responseEvents.oldest(3);
    assert.deepEqual(both?.groups, [...(batches[0]?.groups ?? []), ...(batches[1]?.groups ?? [])]);
    assert.deepEqual([both?.surveyIds, both?.deletedKeys], [[one, other], ['completed:a']]);
    await responseEvents.remove(both?.ids ?? []);
    assert.deepEqual((await responseEvents.oldest(100))?.groups, batches[2]?.groups);
    await responseEvents.remove((await responseEvents.oldest(100))?.ids ?? []);
    assert.equal(await responseEvents.oldest(100), undefined);
  });

  it('become deliveries in the order in which they happened, once, and those of deleted responses say so', async () => {
    const surveyId = await survey();
    const { id } = await endpoint({ surveyId, events: ['response.submitted', 'response.completed'] });
    const responseIds = [newId(), newId()];
    const batch = {
      surveyIds: [surveyId],
      groups: [
        groupOf(surveyId, 'response.completed', responseIds),
        groupOf(surveyId, 'response.submitted', responseIds),
      ],
      deletedKeys: [`completed:${responseIds[1]}:${startMs}`],
    };
    await publish(batch);
    await publish(batch);
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

  it('say that their survey was deleted while they waited, and its endpoint gets them before it is switched off', async () => {
    const surveyId = await survey();
    const { id } = await endpoint({ surveyId, events: ['response.completed'] });
    await responseEvents.add(batchOf(surveyId, [newId()]));
    await database.sql`UPDATE surveys SET deleted_at = ${new Date(startMs)} WHERE id = ${surveyId}`;
    const later = new Date(startMs + 3_600_000);
    await webhooks.disableOrphans(later);
    assert.equal((await webhooks.find(id))?.isActive, true);
    assert.equal((await webhooks.stats()).oldestPending === null, false);
    const waiting = await responseEvents.oldest(1);
    assert.ok(waiting);
    await publish(waiting);
    await responseEvents.remove(waiting.ids);
    assert.deepEqual(
      (await listOf(id)).map(({ status, data }) => [status, data['deleted']]),
      [['PENDING', true]],
    );
    await database.sql`UPDATE webhook_deliveries SET status = 'DELIVERED' WHERE webhook_id = ${id}`;
    await webhooks.disableOrphans(later);
    assert.equal((await webhooks.find(id))?.isActive, false);
  });
});
