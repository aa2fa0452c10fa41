import { request } from 'node:http';

export interface OneReply {
  /** 0: the connection was refused or cut before a reply. */
  status: number;
  headers: Record<string, string | string[] | undefined>;
  // A test reads what it expects.
  body: any;
}

export interface OneCall {
  body?: unknown;
  headers?: Record<string, string>;
  /** The address that the call comes from: any of 127.0.0.0/8. */
  from?: string;
}

/**
 * Calls over a connection of its own, so that the kernel may give each call to another process that shares the port.
 */
export function callOnce(
  base: string,
  method: string,
  path: string,
  { body, headers = {}, from = '127.0.0.1' }: OneCall = {},
): Promise<OneReply> {
  return new Promise((resolve) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const json =
      text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
    const call = request(
      base + path,
      { method, agent: false, localAddress: from, headers: { ...json, ...headers } },
      (reply) => {
        const pieces: Buffer[] = [];
        reply.on('data', (piece: Buffer) => pieces.push(piece));
        reply.on('error', () => resolve({ status: 0, headers: {}, body: undefined }));
        reply.on('end', () => {
          const whole = Buffer.concat(pieces).toString();
          resolve({
            status: reply.statusCode ?? 0,
            headers: reply.headers,
            body: whole.startsWith('{') ? JSON.parse(whole) : whole,
          });
        });
      },
    );
    call.on('error', () => resolve({ status: 0, headers: {}, body: undefined }));
    call.end(text);
  });
}

/** The same call `times` times at once, each over a connection of its own. */
export function callAtOnce(times: number, call: (n: number) => Promise<OneReply>): Promise<OneReply[]> {
  return Promise.all(Array.from({ length: times }, (_, n) => call(n)));
}
