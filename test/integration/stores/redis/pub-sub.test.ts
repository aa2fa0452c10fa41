import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createWaitingRedis } from '../../../../src/stores/redis/clients.ts';
import { createPubSub } from '../../../../src/stores/redis/pub-sub.ts';
import { eventually } from '../../../support/eventually.ts';
import { connectPatiently, openPatientRedis } from '../../../support/patient-redis.ts';
import { sharedStores } from '../../../support/stores.ts';

describe('messages between processes', () => {
  it('arrive again on every channel once Redis grants those that it has taken away', async () => {
    const { redisUrl } = await sharedStores();
    const publisher = await openPatientRedis(redisUrl);
    const user = `loses-channels-${process.pid}`;
    await publisher.call('ACL', 'SETUSER', user, 'on', '>secret', '~*', '&*', '+@all');
    const url = new URL(redisUrl);
    [url.username, url.password] = [user, 'secret'];
    const subscriber = createWaitingRedis(url.href, createLog('silent'));
    const warnings: unknown[] = [];
    const log = createLog('silent');
    log.warn = (fields: unknown) => void warnings.push(fields);
    try {
      await connectPatiently(subscriber);
      const messages = createPubSub({ publisher, subscriber, log, retryMs: 20 });
      const channels = ['first', 'second'].map((name) => `${name}-${process.pid}`);
      const heard: string[] = [];
      for (const channel of channels) await messages.subscribe(channel, () => void heard.push(channel));
      let reconnections = 0;
      messages.onReconnect(() => {
        reconnections += 1;
      });
      // Redis closes the connection of a subscriber that loses a channel.
      await publisher.call('ACL', 'SETUSER', user, 'resetchannels');
      await eventually(() => assert.ok(warnings.length > 0));
      assert.equal(reconnections, 0, 'nothing is heard yet');
      await publisher.call('ACL', 'SETUSER', user, '&*');
      await eventually(() => assert.ok(reconnections > 0));
      for (const channel of channels) messages.publish(channel, {});
      await eventually(() => assert.deepEqual(heard.toSorted(), channels.toSorted()));
    } finally {
      subscriber.disconnect();
      await publisher.call('ACL', 'DELUSER', user);
      await publisher.quit();
    }
  });

  it('arrive once Redis grants the channel that it refused, to all who asked for them meanwhile', async () => {
    const { redisUrl } = await sharedStores();
    const publisher = await openPatientRedis(redisUrl);
    const user = `without-channels-${process.pid}`;
    await publisher.call('ACL', 'SETUSER', user, 'on', '>secret', '~*', 'resetchannels', '+@all');
    const url = new URL(redisUrl);
    [url.username, url.password] = [user, 'secret'];
    const subscriber = createWaitingRedis(url.href, createLog('silent'));
    const warnings: unknown[] = [];
    const log = createLog('silent');
    log.warn = (fields: unknown) => void warnings.push(fields);
    try {
      await connectPatiently(subscriber);
      const messages = createPubSub({ publisher, subscriber, log, retryMs: 20 });
      const channel = `granted-later-${process.pid}`;
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
      await publisher.call('ACL', 'SETUSER', user, `&${channel}`);
      await both;
      messages.publish(channel, { revision: 7 });
      await eventually(() => assert.deepEqual(heard, ['first 7', 'second 7']));
      // Three lines in ten seconds, of which the pauses may touch two.
      assert.ok(warnings.length <= 6, 'the log is not filled');
    } finally {
      subscriber.disconnect();
      await publisher.call('ACL', 'DELUSER', user);
      await publisher.quit();
    }
  });
});
