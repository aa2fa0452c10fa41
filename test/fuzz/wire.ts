import { connect, type Socket } from 'node:net';
import { type FuzzRequest, isBeyondParser } from './requests.ts';

export interface WireReply {
  status: number;
  headers: Headers;
  body: Buffer;
}

/** `closed`: the server ended the connection without a whole reply. `silent`: nothing whole came in time. */
export type WireOutcome = WireReply | 'closed' | 'silent';

/** Work by an AI provider may take 20 seconds before the reply says that it goes on. */
const patienceMs = 25_000;
/** What is no whole request may be left waiting for its rest. */
const brokenPatienceMs = 60;

/** One connection that is kept as long as the server keeps it, for requests that no client library would send. */
export function createWire(port: number) {
  let socket: Socket | undefined;
  const drop = () => {
    socket?.destroy();
    socket = undefined;
  };
  return {
    async send(request: FuzzRequest): Promise<WireOutcome> {
      // The server lets go of connections that were idle for long, perhaps at this very moment.
      if (request.isBroken || socket?.readyState !== 'open') drop();
      const isKept = socket !== undefined;
      socket ??= await open(port);
      let outcome = await exchange(socket, request);
      if (outcome === 'closed' && isKept) {
        drop();
        socket = await open(port);
        outcome = await exchange(socket, request);
      }
      if (request.isBroken || typeof outcome === 'string' || mustDrop(outcome)) drop();
      return outcome;
    },
    close: drop,
  };
}

export type Wire = ReturnType<typeof createWire>;

const mustDrop = ({ headers, status }: WireReply) =>
  /close/i.test(headers.get('connection') ?? '') ||
  status < 200 ||
  (headers.get('content-type') ?? '').startsWith('text/event-stream');

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

function exchange(socket: Socket, request: FuzzRequest): Promise<WireOutcome> {
  return new Promise((resolve) => {
    let received: Buffer = Buffer.alloc(0);
    const end = (outcome: WireOutcome) => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      resolve(outcome);
    };
    // In two steps: after a stall of this very process timers come first, and the reply that has long been there only
    // then.
    let timer = setTimeout(
      () => {
        timer = setTimeout(() => end('silent'), brokenPatienceMs);
      },
      request.isBroken || isBeyondParser(request) ? 1 : patienceMs,
    );
    socket.removeAllListeners();
    socket.on('error', () => undefined);
    socket.on('close', () => end('closed'));
    socket.on('data', (piece: Buffer) => {
      received = received.length === 0 ? piece : Buffer.concat([received, piece]);
      const reply = readReply(received, request.method === 'HEAD');
      if (reply) end(reply);
    });
    socket.write(bytesOf(request));
  });
}

/** The request as it goes over the wire; header values and path as they are. */
export function bytesOf({ method, path, headers, body }: FuzzRequest): Buffer {
  const head = `${method} ${path} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return body ? Buffer.concat([Buffer.from(head, 'latin1'), body]) : Buffer.from(head, 'latin1');
}

const headEnd = Buffer.from('\r\n\r\n');

/** The reply once it is there as a whole; of a stream of events, its head. */
function readReply(bytes: Buffer, isHead: boolean): WireReply | undefined {
  const at = bytes.indexOf(headEnd);
  if (at < 0) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, at).split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const status = Number(first.split(' ')[1]);
  const rest = bytes.subarray(at + headEnd.length);
  const reply = (body: Buffer) => ({ status, headers, body });
  if (
    isHead ||
    status === 204 ||
    status === 304 ||
    status < 200 ||
    (headers.get('content-type') ?? '').startsWith('text/event-stream')
  )
    return reply(Buffer.alloc(0));
  if (headers.get('transfer-encoding') === 'chunked') {
    const body = readChunks(rest);
    return body && reply(body);
  }
  const length = Number(headers.get('content-length') ?? 0);
  return rest.length >= length ? reply(rest.subarray(0, length)) : undefined;
}

function readChunks(bytes: Buffer): Buffer | undefined {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (size === 0) return bytes.length >= line + 4 ? Buffer.concat(pieces) : undefined;
    at = line + 2 + size + 2;
    if (bytes.length < at) return undefined;
    pieces.push(bytes.subarray(line + 2, at - 2));
  }
}
