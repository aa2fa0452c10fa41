import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, describe, it } from 'node:test';
import { newId } from '../../../src/platform/ids.ts';
import { startSender } from '../../../src/webhooks/sender.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';

const requestTo = (url: string) => ({ endpointId: newId(), url, headers: { 'webhook-id': 'x' }, body: '{"n":1}' });

describe('sending on a thread of its own', () => {
  const closers: (() => Promise<unknown>)[] = [];
  after(async () => void (await Promise.all(closers.map((close) => close()))));
  const listener = async () => {
    const receiver = await startReceiver();
    closers.push(receiver.close);
    return receiver;
  };

  it('gives what the endpoint replied', async () => {
    const receiver = await listener();
    const sent = await startSender({ isPrivateAllowed: true }).send(requestTo(receiver.url));
    assert.deepEqual([sent.kind, sent.kind === 'replied' && sent.status], ['replied', 200]);
    const [received] = receiver.received;
    assert.deepEqual([received?.headers['webhook-id'], received?.body], ['x', '{"n":1}']);
  });

  it('sends nothing to private addresses unless they are allowed', async () => {
    const receiver = await listener();
    const sent = await startSender({ isPrivateAllowed: false }).send(requestTo(receiver.url));
    assert.deepEqual([sent.kind, sent.kind === 'failed' && sent.cause], ['failed', 'blocked']);
    assert.equal(receiver.received.length + receiver.sockets.most, 0);
  });

  it('cuts attempts under way when it is told to', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    closers.push(() => new Promise((resolve) => silent.close(resolve)));
    const { send, cutConnections } = startSender({ isPrivateAllowed: true });
    const [connected, sending] = [
      once(silent, 'connection'),
      send(requestTo(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`)),
    ];
    const [accepted] = await connected;
    cutConnections();
    const sent = await sending;
    // It reads nothing, so it does not notice the end.
    accepted.destroy();
    assert.deepEqual([sent.kind, sent.kind === 'failed' && sent.cause], ['failed', 'connection']);
  });

  it('cuts an attempt on a kept connection too, and does not send it again', async () => {
    const receiver = await listener();
    const { send, cutConnections } = startSender({ isPrivateAllowed: true });
    const request = requestTo(receiver.url);
    assert.equal((await send(request)).kind, 'replied');
    const hangs = new Promise<void>((resolve) => {
      receiver.answer = () => {
        resolve();
        return undefined;
      };
    });
    const sending = send(request);
    await hangs;
    cutConnections();
    const sent = await sending;
    assert.deepEqual(
      [sent.kind === 'failed' && sent.cause, receiver.received.length, receiver.sockets.most],
      ['connection', 2, 1],
    );
  });
});
