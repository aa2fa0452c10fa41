import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface LateRepliesProxy {
  /** The store's URL with the proxy's address instead of its own. */
  url: string;
  /** From now on each reply is passed on this long after it came. */
  delayReplies(ms: number): void;
  close(): Promise<void>;
}

/** An address of loopback in front of a store whose replies come late, as those of a Redis that syncs a slow disk. */
export async function openLateRepliesProxy(storeUrl: string): Promise<LateRepliesProxy> {
  const target = new URL(storeUrl);
  const sockets = new Set<Socket>();
  let delayMs = 0;
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
    client.pipe(store);
    store.on('data', (reply) => void setTimeout(() => client.write(reply), delayMs));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(storeUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    delayReplies(ms) {
      delayMs = ms;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
