import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blankSurvey } from '../../../src/domain/blank-survey.ts';
import type { ResponseEvents } from '../../../src/domain/events.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { Sql } from '../../../src/stores/postgres/client.ts';
import { createSurveyStore } from '../../../src/stores/postgres/surveys.ts';
import { createDeliveryStore } from '../../../src/stores/postgres/webhook-deliveries.ts';
import { createResponseEventStore } from '../../../src/stores/postgres/webhook-response-events.ts';
import { createKeepEvents, createWriteDeliveries } from '../../../src/webhooks/event-backlog.ts';
import { createFanOut } from '../../../src/webhooks/fan-out.ts';
import { type DeliveryDatabase, startMs, useDeliveries } from '../../support/deliveries.ts';

/** As many deliveries as an endpoint sends in four seconds at this pace are enough. */
const perSecond = 20;
const enough = 80;

describe('the deletion of a response under load', () => {
  let stores: DeliveryDatabase;
  const { ownerId, endpoint, listOf, world } = useDeliveries((opened) => {
    stores = opened;
  });
  const responseEvents = () => createResponseEventStore(stores.database.sql);
  const fanOut = (options: Partial<Parameters<typeof createFanOut>[0]> = {}) =>
    createFanOut({
      ...stores,
      metrics: { webhookOverflowed: () => assert.fail('there is room') },
      enqueueDelivery: () => undefined,
      now: () => startMs,
      newId,
      ...options,
    });
  const keep = (events: ResponseEvents) =>
    createKeepEvents({
      responseEvents: responseEvents(),
      fanOut: fanOut(),
      log: { warn: () => assert.fail('every deletion can be marked') },
    })([events]);
  /** A run of the writer, of two seconds on a clock of its own. */
  const write = (options: Partial<Parameters<typeof createWriteDeliveries>[0]> = {}) => {
    let nowMs = 0;
    return createWriteDeliveries({
      responseEvents: responseEvents(),
      fanOut: fanOut(),
      pace: { perSecond: () => perSecond, begin: () => undefined },
      isStopping: () => false,
      log: { warn: () => assert.fail('every row can be published') },
      clock: {
        nowMs: () => nowMs,
        wait: async (ms) => {
          nowMs += ms;
        },
      },
      ...options,
    })();
  };
  /** The same, ended after its first turn, during which something happens before the rows are published. */
  const writeOnce = (writing: ReturnType<typeof createFanOut>, meanwhile: () => Promise<void>) => {
    let isStopping = false;
    return write({
      isStopping: () => isStopping,
      fanOut: {
        ...writing,
        publishResponses: async (...published) => {
          isStopping = true;
          await meanwhile();
          await writing.publishResponses(...published);
        },
      },
    });
  };
  const ids = (count: number) => Array.from({ length: count }, () => newId());
  const keyOf = (responseId: string) => `completed:${responseId}:${startMs}`;
  /** A survey with an endpoint, of which nothing waits, and what may be kept of its responses. */
  const surveyWithEndpoint = async () => {
    await stores.database.sql`DELETE FROM webhook_response_events`;
    const surveyId = newId();
    await createSurveyStore(stores.database.sql).create(blankSurvey(surveyId, ownerId, startMs));
    const { id } = await endpoint({ surveyId, events: ['response.completed'], maxWaiting: 10_000 });
    const row = { surveyId, webhookIds: [id], groups: [], deletedKeys: [] };
    const completed = (responseIds: string[]): ResponseEvents => ({
      ...row,
      groups: [
        {
          event: 'response.completed',
          outcome: 'COMPLETED',
          collectorId: null,
          responses: responseIds.map((responseId, n) => [responseId, startMs + n, startMs]),
        },
      ],
    });
    const deletion = (responseIds: string[]): ResponseEvents => ({ ...row, deletedKeys: responseIds.map(keyOf) });
    const listDeleted = async () =>
      (
        await stores.database.sql<{ responseId: string }[]>`
          SELECT data ->> 'responseId' AS "responseId" FROM webhook_deliveries
          WHERE webhook_id = ${id} AND data @> '{"deleted": true}' ORDER BY id`
      ).map(({ responseId }) => responseId);
    return { id, completed, deletion, listDeleted };
  };

  it('is read although the endpoint has enough to send, or is off, and waits behind an event of the former only', async () => {
    for (const isOff of [false, true]) {
      const { id, completed, deletion, listDeleted } = await surveyWithEndpoint();
      const [responseIds, later] = [ids(enough), ids(1)];
      await fanOut().publishResponses([completed(responseIds)]);
      if (isOff) await stores.database.sql`UPDATE webhooks SET is_active = false WHERE id = ${id}`;
      await responseEvents().add([deletion(responseIds.slice(0, 1)), completed(later), deletion(later)]);
      await write();
      assert.deepEqual(await listDeleted(), [...responseIds.slice(0, 1), ...(isOff ? later : [])]);
      assert.equal(await responseEvents().count(), isOff ? 0 : 2);
    }
  });

  it('marks what is written at once, though it waits behind events, and these when they are written', async () => {
    const { completed, deletion, listDeleted } = await surveyWithEndpoint();
    const [written, waiting] = [ids(enough), ids(enough)];
    await fanOut().publishResponses([completed(written)]);
    await keep(completed(waiting));
    const deleted = [written[7] ?? '', waiting[7] ?? ''];
    await keep(deletion(deleted));
    assert.deepEqual([await listDeleted(), await responseEvents().count()], [deleted.slice(0, 1), enough + 2]);
    await stores.database.sql`UPDATE webhook_deliveries SET status = 'DELIVERED'`;
    await write();
    assert.deepEqual([await listDeleted(), await responseEvents().count()], [deleted, 0]);
  });

  it('marks what is written while it is kept, before its own turn', async () => {
    const { completed, deletion, listDeleted } = await surveyWithEndpoint();
    const responseIds = ids(3);
    await keep(completed(responseIds));
    await writeOnce(fanOut(), () => keep(deletion(responseIds.slice(1, 2))));
    assert.deepEqual([await listDeleted(), await responseEvents().count()], [responseIds.slice(1, 2), 1]);
  });

  it('marks of what is kept meanwhile that which is written, before an endpoint is woken', async () => {
    const { completed, deletion } = await surveyWithEndpoint();
    const responseIds = ids(3);
    await keep(completed(responseIds));
    const steps: (string | readonly string[])[] = [];
    const writing = fanOut({
      deliveries: { ...stores.deliveries, markDeleted: async (_webhookIds, keys) => void steps.push(keys) },
      enqueueDelivery: () => void steps.push('wake'),
    });
    await writeOnce(writing, () => keep(deletion([...ids(3), ...responseIds.slice(1, 2)])));
    assert.deepEqual(steps, [responseIds.slice(1, 2).map(keyOf), 'wake']);
  });

  it('reads a delivery for each that it may mark, however many the endpoint has, whatever PostgreSQL knows of them', async () => {
    const { id, completed, listDeleted } = await surveyWithEndpoint();
    const responseIds = ids(4);
    await fanOut().publishResponses([completed(responseIds)]);
    await stores.database.sql`
      INSERT INTO webhook_deliveries
        (id, webhook_id, event, event_key, occurred_at, data, status, pending_since, created_at)
      SELECT gen_random_uuid(), ${id}, 'response.completed', 'completed:' || n, now(), '{}', 'DELIVERED', now(), now()
      FROM generate_series(1, 20000) n`;
    const rowsRead = async (tx: Sql) => {
      const [row] = await tx<{ read: number }[]>`
        SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS read FROM pg_stat_xact_user_tables
        WHERE relname = 'webhook_deliveries'`;
      return row?.read ?? 0;
    };
    for (const [n, mode] of ['force_custom_plan', 'force_generic_plan'].entries())
      for (const isAnalyzed of [false, true]) {
        if (isAnalyzed) await stores.database.sql`ANALYZE webhook_deliveries`;
        await stores.database.sql.begin(async (transaction) => {
          const tx = transaction as unknown as Sql;
          await tx`SELECT set_config('plan_cache_mode', ${mode}, true)`;
          const readBefore = await rowsRead(tx);
          const deleted = responseIds[2 * n + Number(isAnalyzed)] ?? '';
          await createDeliveryStore(tx).markDeleted([newId(), id], [deleted, ...ids(99)].map(keyOf));
          const read = (await rowsRead(tx)) - readBefore;
          assert.ok(read < 300, `${read} rows read, ${mode}, ${isAnalyzed}`);
        });
      }
    assert.deepEqual(await listDeleted(), responseIds);
  });

  it('leaves the outcome of an attempt under way, and is told by the next one', async () => {
    const { id, completed, deletion } = await surveyWithEndpoint();
    const responseIds = ids(1);
    await fanOut().publishResponses([completed(responseIds)]);
    const { state, deliverer } = world();
    state.meanwhile = () => keep(deletion(responseIds));
    await deliverer.drain(id);
    const outcome = async () => (await listOf(id)).map(({ status, tries, data }) => [status, tries, data['deleted']]);
    assert.deepEqual(await outcome(), [['PENDING', 1, true]]);
    state.nowMs += 60_000;
    state.answer = { kind: 'replied', status: 200, response: '', retryAfter: undefined, latencyMs: 3 };
    await deliverer.drain(id);
    assert.deepEqual(await outcome(), [['DELIVERED', 0, true]]);
    assert.deepEqual(
      state.bodies.map((body) => body.includes('"deleted":true')),
      [false, true],
    );
  });
});
