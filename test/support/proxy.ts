import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** `refuse`: all connections are cut, new ones too. `freeze`: they stay open, new ones too, and nothing passes. */
export type ProxyMode = 'pass' | 'refuse' | 'freeze';

/** A proxy on a loopback port before a server, which can be made to seem away. */
export async function startProxy(target: { host: string; port: number }) {
  const pairs = new Set<[Socket, Socket]>();
  let mode: ProxyMode = 'pass';
  const server = createServer((client) => {
    if (mode === 'refuse') return void client.resetAndDestroy();
    const upstream = connect(target);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from
        .on('data', (bytes) => void to.write(bytes))
        .on('error', end)
        .on('close', end);
      if (mode === 'freeze') from.pause();
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    set(next: ProxyMode): void {
      mode = next;
      for (const pair of pairs)
        for (const socket of pair)
          if (next === 'refuse') socket.resetAndDestroy();
          else if (next === 'freeze') socket.pause();
          else socket.resume();
    },
    stop(): void {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      server.close();
    },
  };
}

export type Proxy = Awaited<ReturnType<typeof startProxy>>;
