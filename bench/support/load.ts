import { connect, type Socket } from 'node:net';

export interface LoadOptions {
  host: string;
  port: number;
  connections: number;
  seconds: number;
  /** The whole request, head and body, for the n-th call. */
  request(n: number): Buffer;
  /** Stops sending earlier than `seconds`. */
  isEnough?(sent: number): boolean;
}

export interface LoadResult {
  replies: number;
  /** Replies by status; connection failures under 0. */
  statuses: Record<string, number>;
  seconds: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/**
 * Keeps a number of keep-alive connections busy, one request at a time each, and times every reply. Reads replies with
 * a Content-Length only, which is what all servers compared here send.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const startedAt = performance.now();
  const until = startedAt + options.seconds * 1000;
  let sent = 0;
  const mayGoOn = () => performance.now() < until && !(options.isEnough?.(sent) ?? false);
  const note = (status: number, ms: number) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status !== 0) times.push(ms);
  };
  await Promise.all(
    Array.from({ length: options.connections }, () =>
      keepBusy(options, { mayGoOn, next: () => options.request(sent++), note }),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    Math.round((times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0) * 100) / 100;
  return {
    replies: times.length,
    statuses,
    seconds,
    perSecond: Math.round(times.length / seconds),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

interface Traffic {
  mayGoOn(): boolean;
  next(): Buffer;
  note(status: number, ms: number): void;
}

/** More than any reply that is compared here. */
const readAtOnceBytes = 16_384;

function keepBusy({ host, port }: LoadOptions, traffic: Traffic): Promise<void> {
  return new Promise((resolve) => {
    let sentAt = 0;
    let pending: Buffer | undefined;
    const receive = (chunk: Buffer): void => {
      const bytes = pending ? Buffer.concat([pending, chunk]) : chunk;
      const status = wholeReply(bytes);
      // The buffer belongs to the socket, which fills it again.
      pending = status === undefined ? Buffer.from(bytes) : undefined;
      if (status === undefined) return;
      traffic.note(status, performance.now() - sentAt);
      send();
    };
    // Reading into one buffer costs less than a stream: what the load costs is taken from whom it measures.
    const onread = {
      buffer: Buffer.allocUnsafe(readAtOnceBytes),
      callback: (size: number, buffer: Uint8Array) => {
        receive(Buffer.from(buffer.buffer, buffer.byteOffset, size));
        return true;
      },
    };
    const socket: Socket = connect({ host, port, noDelay: true, onread });
    const send = (): void => {
      if (!traffic.mayGoOn()) return void socket.end();
      sentAt = performance.now();
      socket.write(traffic.next());
    };
    socket.on('connect', send);
    socket.on('error', () => traffic.note(0, 0));
    socket.on('close', () => resolve());
  });
}

const headEnd = Buffer.from('\r\n\r\n');
const statusAt = 'HTTP/1.1 '.length;

/** The status of a reply that has arrived whole; undefined while parts are missing. */
function wholeReply(bytes: Buffer): number | undefined {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const length = /content-length: *(\d+)/i.exec(head)?.[1];
  return bytes.length >= end + headEnd.length + Number(length ?? 0)
    ? Number(head.slice(statusAt, statusAt + 3))
    : undefined;
}

/** A POST with a JSON body as bytes on the wire; `headers`: further ones, each ended by a line break. */
export function postBytes(path: string, body: string, headers = ''): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
