import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface FreezingProxy {
  /** The given URL with the address of the proxy. */
  url: string;
  /**
   * From now on open connections carry nothing and are not closed: what is sent is dropped in silence. New ones are
   * served.
   */
  freezeOpen(): void;
  /** As `freezeOpen`, and new connections are taken and carry nothing either. */
  freezeAll(): void;
  /** Closes open connections and refuses new ones. */
  refuse(): Promise<void>;
  /** Serves new connections again; frozen ones stay as they are. */
  serve(): Promise<void>;
  /** Connections of clients that are open now. */
  open(): number;
  /** Connections that clients have made so far. */
  made(): number;
  stop(): Promise<void>;
}

interface Pair {
  client: Socket;
  server: Socket | undefined;
}

/** A proxy on loopback in front of the server of a URL, whose connections can die without being closed. */
export async function startFreezingProxy(target: string): Promise<FreezingProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<Pair>();
  let [made, isFreezing] = [0, false];

  const take = (client: Socket): void => {
    made += 1;
    const pair: Pair = { client, server: isFreezing ? undefined : connect(Number(port), hostname) };
    pairs.add(pair);
    client.on('error', () => undefined);
    client.on('close', () => {
      pairs.delete(pair);
      pair.server?.destroy();
    });
    if (!pair.server) return void client.resume();
    pair.server.on('error', () => undefined);
    pair.server.on('close', () => client.destroy());
    client.pipe(pair.server, { end: false });
    client.on('end', () => pair.server?.end());
    pair.server.pipe(client);
  };

  /** The server must not notice: its side is closed with the client's own end. */
  const freeze = ({ client, server }: Pair): void => {
    if (!server) return;
    client.unpipe(server);
    server.unpipe(client);
    server.removeAllListeners('close');
    client.removeAllListeners('end');
    client.resume();
    server.resume();
  };

  const server = createServer({ allowHalfOpen: true }, take);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
  const closeAll = () => {
    for (const pair of pairs) pair.client.destroy();
  };
  const refuse = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    closeAll();
    await closed;
  };

  return {
    url: url.href,
    freezeOpen: () => pairs.forEach(freeze),
    freezeAll() {
      isFreezing = true;
      pairs.forEach(freeze);
    },
    refuse,
    async serve() {
      isFreezing = false;
      if (server.listening) return;
      server.listen(address.port, '127.0.0.1');
      await once(server, 'listening');
    },
    open: () => pairs.size,
    made: () => made,
    stop: refuse,
  };
}
