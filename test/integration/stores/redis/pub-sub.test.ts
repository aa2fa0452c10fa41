import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createWaitingRedis } from '../../../../src/stores/redis/clients.ts';
import { createPubSub, type PubSub } from '../../../../src/stores/redis/pub-sub.ts';
import { eventually } from '../../../support/eventually.ts';
import { connectPatiently, openPatientRedis } from '../../../support/patient-redis.ts';
import { sharedStores } from '../../../support/stores.ts';

/** Runs a test with messages of a Redis user with these rights; `allow` changes them. */
async function withUser(
  rights: readonly string[],
  test: (given: {
    messages: PubSub;
    warnings: readonly unknown[];
    allow(...rules: readonly string[]): Promise<unknown>;
  }) => Promise<void>,
): Promise<void> {
  const { redisUrl } = await sharedStores();
  const publisher = await openPatientRedis(redisUrl);
  const user = randomUUID();
  const allow = (...rules: readonly string[]) => publisher.call('ACL', 'SETUSER', user, ...rules);
  await allow('on', '>secret', '~*', '+@all', ...rights);
  const url = new URL(redisUrl);
  [url.username, url.password] = [user, 'secret'];
  const subscriber = createWaitingRedis(url.href, createLog('silent'));
  const warnings: unknown[] = [];
  const log = createLog('silent');
  log.warn = (fields: unknown) => void warnings.push(fields);
  try {
    await connectPatiently(subscriber);
    await test({ messages: createPubSub({ publisher, subscriber, log, retryMs: 20 }), warnings, allow });
  } finally {
    subscriber.disconnect();
    await publisher.call('ACL', 'DELUSER', user);
    await publisher.quit();
  }
}

describe('messages between processes', () => {
  it('arrive again on every channel once Redis grants those that it has taken away', () =>
    withUser(['&*'], async ({ messages, warnings, allow }) => {
      const channels = [randomUUID(), randomUUID()];
      const heard: string[] = [];
      for (const channel of channels) await messages.subscribe(channel, () => void heard.push(channel));
      let reconnections = 0;
      messages.onReconnect(() => {
        reconnections += 1;
      });
      // Redis closes the connection of a subscriber that loses a channel.
      await allow('resetchannels');
      await eventually(() => assert.ok(warnings.length > 0));
      assert.equal(reconnections, 0, 'nothing is heard yet');
      await allow('&*');
      await eventually(() => assert.ok(reconnections > 0));
      for (const channel of channels) messages.publish(channel, {});
      await eventually(() => assert.deepEqual(heard.toSorted(), channels.toSorted()));
    }));

  it('arrive once Redis grants the channel that it refused, to all who asked for them meanwhile', () =>
    withUser(['resetchannels'], async ({ messages, warnings, allow }) => {
      const channel = randomUUID();
      const heard: string[] = [];
      let subscribed = 0;
      const both = Promise.all(
        ['first', 'second'].map(async (name) => {
          await messages.subscribe(channel, ({ revision }) => void heard.push(`${name} ${revision}`));
          subscribed += 1;
        }),
      );
      await Promise.race([both, eventually(() => assert.ok(warnings.length >= 2))]);
      assert.equal(subscribed, 0, 'a refused subscription is none');
      await allow(`&${channel}`);
      await both;
      messages.publish(channel, { revision: 7 });
      await eventually(() => assert.deepEqual(heard, ['first 7', 'second 7']));
      // Three lines in ten seconds, of which the pauses may touch two.
      assert.ok(warnings.length <= 6, 'the log is not filled');
    }));
});
