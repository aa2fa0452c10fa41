import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type WebhookDeliveryRoutesDeps,
  webhookDeliveryRoutes,
} from '../../../../src/http/routes/webhook-deliveries.ts';
import { newId } from '../../../../src/platform/ids.ts';

describe('the list of deliveries', () => {
  it('is sent piece by piece, each read once the one before is on its way', async () => {
    const webhook = { id: newId(), ownerId: newId(), pausedUntil: null };
    let read = 0;
    async function* pieces() {
      while (read < 3) {
        read += 1;
        yield [{ id: `${read}`, attempts: [], nextAttemptAt: null, createdAt: new Date(0) }];
      }
    }
    const routes = webhookDeliveryRoutes({
      webhooks: { find: async () => webhook },
      deliveries: { list: async () => ({ pieces: pieces(), total: 7 }) },
    } as unknown as WebhookDeliveryRoutesDeps);
    const outcome = await routes
      .find(({ method }) => method === 'GET')
      ?.handle({
        params: { id: webhook.id },
        query: { page: 1, limit: 3 },
        principal: { role: 'EDITOR', userId: webhook.ownerId },
      } as never);
    assert.ok(outcome?.kind === 'stream', outcome?.kind);
    let text = '';
    const readByThen: number[] = [];
    for await (const chunk of outcome.source) {
      text += Buffer.from(chunk).toString();
      readByThen.push(read);
    }
    assert.deepEqual(readByThen, [0, 1, 2, 3, 3]);
    const { data, pagination } = JSON.parse(text);
    assert.deepEqual([data.map(({ id }: { id: string }) => id), pagination.total], [['1', '2', '3'], 7]);
  });
});
