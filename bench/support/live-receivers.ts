import { connect, type Socket } from 'node:net';

export interface ReceiverOptions {
  port: number;
  /** Path with query. */
  path: string;
  /** Text to send once it is open. */
  hello?: string;
  /** Gets the payload of every message; without it messages are only counted. */
  onMessage?(payload: Buffer): void;
}

/** A WebSocket client that costs as little as possible: it takes frames apart by their length and counts them. */
export interface Receiver {
  received(): number;
  isClosed(): boolean;
  close(): void;
}

const headEnd = Buffer.from('\r\n\r\n');
/** All sockets read into the same memory: what arrives is counted before the next one reads. */
const arrivals = Buffer.alloc(256 * 1024);

export function openReceiver({ port, path, hello, onMessage }: ReceiverOptions): Promise<Receiver> {
  return new Promise((resolve, reject) => {
    let isOpen = false;
    let isClosed = false;
    const counter = createCounter(onMessage);
    let head = Buffer.alloc(0);
    const socket: Socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: { buffer: arrivals, callback: (bytes) => take(arrivals.subarray(0, bytes)) },
    });
    socket.on('connect', () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: survey.v1\r\n\r\n`,
      ),
    );
    const take = (chunk: Buffer): boolean => {
      if (isOpen) counter.take(chunk);
      else open(chunk);
      return true;
    };
    const open = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(headEnd);
      if (end < 0) return;
      if (!head.toString('latin1', 0, 12).endsWith('101')) {
        reject(new Error(head.toString('latin1').slice(0, 300)));
        return;
      }
      isOpen = true;
      counter.take(head.subarray(end + 4));
      if (hello !== undefined) socket.write(textFrame(hello));
      resolve({ received: counter.count, isClosed: () => isClosed, close: () => socket.destroy() });
    };
    socket.on('error', reject);
    socket.on('close', () => {
      isClosed = true;
      reject(new Error('closed before it was open'));
    });
  });
}

function createCounter(onMessage: ReceiverOptions['onMessage']) {
  let count = 0;
  /** Bytes of the present message still to come, when they need not be kept. */
  let skip = 0;
  let kept: Buffer = Buffer.alloc(0);
  const take = (chunk: Buffer): void => {
    const bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    kept = Buffer.alloc(0);
    let at = Math.min(skip, bytes.length);
    skip -= at;
    while (at < bytes.length) {
      const short = (bytes[at + 1] ?? 0) & 0x7f;
      const headLength = short === 127 ? 10 : short === 126 ? 4 : 2;
      if (at + headLength > bytes.length) break;
      const length =
        short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short === 126 ? bytes.readUInt16BE(at + 2) : short;
      const end = at + headLength + length;
      if (onMessage && end > bytes.length) break;
      const isText = ((bytes[at] ?? 0) & 0x0f) === 1;
      if (isText) count += 1;
      if (isText) onMessage?.(bytes.subarray(at + headLength, end));
      skip = Math.max(0, end - bytes.length);
      at = Math.min(end, bytes.length);
    }
    if (at < bytes.length) kept = Buffer.from(bytes.subarray(at));
  };
  return { take, count: () => count };
}

/** A masked text frame; the mask is zero, so the text stays as it is. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head =
    payload.length < 126
      ? Buffer.from([0x81, 0x80 | payload.length])
      : Buffer.from([0x81, 0xfe, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}
