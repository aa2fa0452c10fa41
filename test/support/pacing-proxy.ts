import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface PacingProxy {
  /** The store's URL with the proxy's address instead of its own. */
  url: string;
  /** From now on each connection carries so many bytes of replies a second at most. */
  slowDown(bytesPerSecond: number): void;
  /** Carries replies as fast as they come. */
  speedUp(): void;
  close(): Promise<void>;
}

/** An address of loopback in front of a store whose replies can be slow, so that work lasts until a test has seen it. */
export async function openPacingProxy(storeUrl: string): Promise<PacingProxy> {
  const target = new URL(storeUrl);
  const sockets = new Set<Socket>();
  let bytesPerSecond = Number.POSITIVE_INFINITY;
  const keep = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const server = createServer((client) => {
    const store = connect({ host: target.hostname, port: Number(target.port) });
    keep(client, store);
    keep(store, client);
    const paced = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const waitMs = (chunk.length * 1000) / bytesPerSecond;
        if (waitMs === 0) done(null, chunk);
        else setTimeout(() => done(null, chunk), waitMs);
      },
    });
    client.pipe(store).pipe(paced).pipe(client);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(storeUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    slowDown(rate) {
      bytesPerSecond = rate;
    },
    speedUp() {
      bytesPerSecond = Number.POSITIVE_INFINITY;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
