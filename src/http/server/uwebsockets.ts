import type { us_listen_socket } from 'uWebSockets.js';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Log } from '../../log.ts';

/**
 * The HTTP engine, uWebSockets.js. Everything that uses it takes it from here, because this file alone knows which
 * build is loaded, and because two builds must not be loaded into one process.
 *
 * The package's binary takes bytes of 0x80 and above at both ends of a header value for blanks and drops them, so that
 * the keys `caf` and `café` are one, and sends no reply to a client that has closed its sending half. The build makes a
 * corrected copy (scripts/correct-engine.mjs); where there is none, the package's own is used.
 */
const load = createRequire(import.meta.url);
const binaryName = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
const correctedCopy = fileURLToPath(new URL(`../../../native/${binaryName}`, import.meta.url));

export const uWS = load(
  existsSync(correctedCopy) ? correctedCopy : 'uWebSockets.js',
) as typeof import('uWebSockets.js');

// Without this the engine names itself in a header of every reply. The types do not know the function.
(uWS as { _cfg?: (option: string) => void })._cfg?.('silent');

/** Refuses to run on the JavaScript imitation that the package falls back to on a Node version it has no binary for. */
export function assertNativeServer(): void {
  if (typeof uWS.SSLApp !== 'function')
    throw new Error(
      `uWebSockets.js has no native binary for Node ${process.versions.node} on ${process.platform}-${process.arch}; use Node 20`,
    );
}

/** Logs a warning if the loaded build drops bytes of header values. Measured, not derived from names and versions. */
export async function warnOfTrimmedHeaders(log: Pick<Log, 'warn'>): Promise<void> {
  try {
    if (await keepsHeaderBytes()) return;
    log.warn(
      { engine: binaryName },
      'header values with bytes above 0x7f at their ends cannot be told apart by this build of the HTTP engine: Idempotency-Key "caf" and "café" are one key',
    );
  } catch (error) {
    log.warn(
      { err: error, engine: binaryName },
      'checking whether this build of the HTTP engine preserves all bytes of header values failed',
    );
  }
}

const probeTimeoutMs = 2_000;
const probeHeader = 'x-probe';

/**
 * True if bytes above 0x7f at the ends of header values reach the service. Sends one request over loopback: some 2 ms.
 */
export async function keepsHeaderBytes(): Promise<boolean> {
  let listening: us_listen_socket | undefined;
  let socket: Socket | undefined;
  let timer: NodeJS.Timeout | undefined;
  try {
    const seen = await new Promise<string>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error('the HTTP engine did not get its own request')), probeTimeoutMs);
      const app = uWS.App().get('/', (res, req) => {
        resolve(req.getHeader(probeHeader));
        res.end();
      });
      app.listen('127.0.0.1', 0, (opened) => {
        if (!opened) return reject(new Error('the HTTP engine cannot listen on 127.0.0.1'));
        listening = opened;
        socket = connect(uWS.us_socket_local_port(opened), '127.0.0.1').on('error', reject);
        socket.write(`GET / HTTP/1.1\r\nhost: a\r\n${probeHeader}: \xe9a\xe9\r\n\r\n`, 'latin1');
      });
    });
    return seen !== 'a';
  } finally {
    clearTimeout(timer);
    if (listening) uWS.us_listen_socket_close(listening);
    socket?.destroy();
  }
}
