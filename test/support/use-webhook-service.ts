import assert from 'node:assert/strict';
import { after } from 'node:test';
import { webhookBodySchema } from '../../src/http/schemas/webhooks.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import type { RunningService } from './service.ts';
import { type ServiceFixture, useService } from './use-service.ts';
import { type Answer, type Receiver, startReceiver } from './webhook-receiver.ts';

/**
 * A service for the tests of a suite, with what its webhooks are tried by: it sends to this machine, and tries again
 * after a second, three times. What the receivers got must fit the documented shape.
 */
export function useWebhookService(take: (served: ServiceFixture) => void) {
  const receivers: Receiver[] = [];
  let service: RunningService;
  let admin: Client;
  after(async () => {
    for (const receiver of receivers)
      for (const { body } of receiver.received) webhookBodySchema.parse(JSON.parse(body));
    await Promise.all(receivers.map((receiver) => receiver.close()));
  });
  useService(
    (served) => {
      ({ service, admin } = served);
      take(served);
    },
    { env: { WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_RETRY_SCHEDULE_SECONDS: '1,1,1' } },
  );

  const receiverOf = async (answer?: Answer): Promise<Receiver> => {
    const receiver = await startReceiver(answer);
    receivers.push(receiver);
    return receiver;
  };
  const deliveriesOf = async (webhookId: string, query = '') =>
    (await admin.get(`/webhooks/${webhookId}/deliveries?limit=100${query}`)) as any[];
  return {
    receiverOf,
    /** A receiver whose first reply waits for the test, and is then a failure: the next attempt comes after that. */
    async failingOnce() {
      let failFirst = (): void => assert.fail('nothing was received');
      const receiver = await receiverOf((_received, reply) => {
        if (receiver.received.length > 1) return 200;
        failFirst = () => void reply.writeHead(500).end();
        return undefined;
      });
      return { receiver, failFirst: () => failFirst() };
    },
    /** A survey with one question, a NUMBER; `submit` answers it. */
    async openSurvey(fields: object = {}) {
      const survey = await admin.create('/surveys', { title: 'Told of', ...fields });
      const question = await admin.create(`/surveys/${survey.id}/questions`, { type: 'NUMBER', text: 'n' });
      const answers = [{ questionId: question.id, numberValue: 1 }];
      return {
        id: survey.id as string,
        answers,
        submit: async (body: object = {}) => (await admin.submit(survey.id, { answers, ...body })).body.data,
      };
    },
    deliveriesOf,
    /** Waits until so many deliveries have succeeded; gives them. */
    delivered: (webhookId: string, count: number) =>
      eventually(async () => {
        const found = await deliveriesOf(webhookId, '&status=DELIVERED');
        assert.equal(found.length, count);
        return found;
      }),
    figures: async () => (await fetch(`${service.origin}/metrics`)).text(),
  };
}
