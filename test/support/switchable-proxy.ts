import { connect, createServer, type Server, type Socket } from 'node:net';

export interface SwitchableProxy {
  /** The store's URL with the proxy's address instead of its own. */
  url: string;
  /** Closes the port and breaks connections. */
  refuse(): Promise<void>;
  /** Accepts connections and never replies, neither on new ones nor on earlier ones. */
  hang(): Promise<void>;
  /** Forwards new connections to the store. Those that hang continue to hang. */
  forward(): Promise<void>;
  close(): Promise<void>;
}

/** An address of loopback in front of a store, at which the store can be away. It begins by refusing connections. */
export async function openSwitchableProxy(storeUrl: string): Promise<SwitchableProxy> {
  const target = new URL(storeUrl);
  const port = await quietPort();
  const sockets = new Set<Socket>();
  const freezes = new Set<() => void>();
  let server: Server | undefined;
  let isForwarding = false;

  const take = (socket: Socket): void => {
    keep(socket);
    if (!isForwarding) return void socket.resume();
    const store = connect({ host: target.hostname, port: Number(target.port) });
    keep(store);
    socket.pipe(store).pipe(socket);
    const freeze = (): void => {
      socket.unpipe(store).resume();
      store.unpipe(socket).destroy();
    };
    freezes.add(freeze);
    socket.once('close', () => {
      freezes.delete(freeze);
      store.destroy();
    });
    store.once('close', () => void (freezes.has(freeze) && socket.destroy()));
  };
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };
  const listen = async (): Promise<void> => {
    if (server) return;
    const opened = createServer(take);
    server = opened;
    await new Promise<void>((resolve, reject) => {
      opened.once('error', reject).listen({ host: '127.0.0.1', port, exclusive: true }, resolve);
    });
  };
  const refuse = async (): Promise<void> => {
    const closed = server;
    server = undefined;
    for (const socket of sockets) socket.destroy();
    if (closed) await new Promise<void>((resolve) => closed.close(() => resolve()));
  };

  const url = new URL(storeUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    refuse,
    close: refuse,
    hang: async () => {
      isForwarding = false;
      const frozen = [...freezes];
      freezes.clear();
      for (const freeze of frozen) freeze();
      await listen();
    },
    forward: async () => {
      isForwarding = true;
      await listen();
    },
  };
}

/** A free port outside the ranges of the system and of embedded stores, so that no other program takes it meanwhile. */
export async function quietPort(): Promise<number> {
  for (;;) {
    const port = 11_000 + Math.floor(Math.random() * 9000);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise<void>((resolve) => probe.close(() => resolve()));
    return port;
  }
}
