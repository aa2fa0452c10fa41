import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { createLog } from '../../../../src/log.ts';
import { createServerHealth, ServerUnresponsive } from '../../../../src/stores/clickhouse/server-health.ts';

const patience = { pingAfterMs: 5, unresponsiveAfterMs: 50, log: createLog('silent') };

/** Blocks this process without using the processor. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('a server that answered while this process was blocked is not silent', async () => {
  const server = createServer((socket) => void socket.on('error', () => {}).end('here'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  let isAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  let hasStood = false;
  const ping = async (): Promise<void> => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const answered = once(socket, 'data');
    if (!hasStood) {
      hasStood = true;
      setImmediate(() => standStill(150));
      void answered.then(() => isAsked());
    }
    await answered;
    socket.destroy();
  };
  const pulse = createServerHealth({ ...patience, ping });
  assert.equal(await pulse.runWhileResponsive(() => asked.then(() => 'done')), 'done');
  pulse.stop();
  await new Promise((resolve) => server.close(resolve));
});

test('a server is not silent because this process was held up again and again while it answered', async () => {
  let isAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const ping = async (): Promise<void> => {
    // Each step of the answer is read after a hold-up; together they take longer than a silent server has.
    for (let step = 0; step < 8; step++) {
      await new Promise((resolve) => setImmediate(resolve));
      standStill(110);
    }
    isAsked();
  };
  const pulse = createServerHealth({ ...patience, unresponsiveAfterMs: 600, ping });
  assert.equal(await pulse.runWhileResponsive(() => asked.then(() => 'done')), 'done');
  pulse.stop();
});

test('a server without an answer is silent even if this process was blocked', async () => {
  const pulse = createServerHealth({
    ...patience,
    ping: () => {
      setImmediate(() => standStill(150));
      return new Promise(() => {});
    },
  });
  await assert.rejects(
    pulse.runWhileResponsive(() => new Promise(() => {})),
    ServerUnresponsive,
  );
  pulse.stop();
});
