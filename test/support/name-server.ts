import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

export interface NameRecord {
  type: 'A' | 'AAAA' | 'CNAME';
  data: string;
  /** Where it is not that of the question: the target of an alias. */
  name?: string;
}

export interface NameServer {
  /** `127.0.0.1:PORT` */
  address: string;
  questions(): number;
  close(): Promise<void>;
}

const types = { A: 1, CNAME: 5, AAAA: 28 } as const;

/**
 * A name server (RFC 1035, over UDP) on a free loopback port, whose answers live for 0 seconds. Names that it does not
 * know do not exist.
 */
export async function startNameServer(zone: Record<string, () => readonly NameRecord[]>): Promise<NameServer> {
  const socket = createSocket('udp4');
  let questions = 0;
  socket.on('message', (message, from) => {
    questions += 1;
    const { name, type, end } = questionOf(message);
    const records = zone[name]?.().filter((record) => record.type === 'CNAME' || types[record.type] === type);
    const head = Buffer.from(message.subarray(0, 12));
    // An answer, recursion available; code 3: no such name.
    head.writeUInt16BE(records ? 0x8180 : 0x8183, 2);
    for (const [at, count] of [
      [4, 1],
      [6, records?.length ?? 0],
      [8, 0],
      [10, 0],
    ] as const)
      head.writeUInt16BE(count, at);
    socket.send(
      Buffer.concat([head, message.subarray(12, end), ...(records ?? []).map((record) => bytesOf(record, name))]),
      from.port,
      from.address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions: () => questions,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function questionOf(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.subarray(at + 1, at + 1 + length).toString('latin1'));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function bytesOf({ type, data, name }: NameRecord, asked: string): Buffer {
  const content = type === 'CNAME' ? nameBytes(data) : addressBytes(data);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(types[type], 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(content.length, 8);
  return Buffer.concat([nameBytes(name ?? asked), fixed, content]);
}

function nameBytes(name: string): Buffer {
  return Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);
}

function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  const [left = '', right = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (part: string) =>
    part
      .split(':')
      .filter((text) => text !== '')
      .map((text) => Number.parseInt(text, 16));
  const [start, rest] = [groups(left), groups(right)];
  const all = [...start, ...Array.from({ length: 8 - start.length - rest.length }, () => 0), ...rest];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
