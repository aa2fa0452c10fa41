import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export interface Received {
  id: string;
  timestamp: number;
  signature: string;
  body: string;
  headers: Record<string, string>;
  atMs: number;
}

/** Answers a request; what it returns is the status, unless it has answered already. */
export type Answer = (received: Received, reply: ServerResponse, request: IncomingMessage) => number | undefined;

export interface Receiver {
  url: string;
  received: Received[];
  /** Connections open now, and the most that were open at once. */
  sockets: { now: number; most: number };
  answer: Answer;
  /** The verified content of each request, by the independent library; throws if a signature does not fit. */
  verified(secret: string): { id: string; content: any }[];
  close(): Promise<void>;
}

/** A client's server on a free loopback port, that remembers everything. */
export async function startReceiver(answer: Answer = () => 200): Promise<Receiver> {
  const receiver: Omit<Receiver, 'url' | 'close'> = {
    received: [],
    sockets: { now: 0, most: 0 },
    answer,
    verified: (secret) =>
      receiver.received.map((request) => ({
        id: request.id,
        content: new Webhook(secret).verify(request.body, request.headers),
      })),
  };
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const received = {
        id: headers['webhook-id'] ?? '',
        timestamp: Number(headers['webhook-timestamp']),
        signature: headers['webhook-signature'] ?? '',
        body: Buffer.concat(chunks).toString(),
        headers,
        atMs: Date.now(),
      };
      receiver.received.push(received);
      const status = receiver.answer(received, reply, request);
      if (typeof status === 'number') reply.writeHead(status).end('thanks');
    });
    request.on('error', () => undefined);
  });
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    receiver.sockets.now += 1;
    // At the end of the turn, since a connection may be heard of before the end of the one whose place it takes.
    setImmediate(() => {
      receiver.sockets.most = Math.max(receiver.sockets.most, receiver.sockets.now);
    });
    socket.on('error', () => undefined);
    let isOpen = true;
    const ended = () => {
      if (isOpen) receiver.sockets.now -= 1;
      isOpen = false;
    };
    socket.on('end', ended);
    socket.on('close', ended);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}/hook`, close });
}
