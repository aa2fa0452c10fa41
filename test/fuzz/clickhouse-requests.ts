import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from './chance.ts';

/** A reply to a request that is whole comes in milliseconds; others get none. */
const patienceMs = 40;

/** Targets that no URL can be made of, and others that are odd. */
const targets = [
  '//',
  'http://',
  '//[',
  'http://[',
  'http://:80',
  'http://a:99999/',
  'http://%/',
  '//%00',
  '///',
  '//a b',
  'https://',
  'ftp://',
  'javascript:',
  '\\\\',
  '*',
  '',
  ' ',
  'x',
  '%',
  '/%',
  '/%zz',
  '/?%',
  '/?%ff=%ff',
  '/?=',
  '/?&&&&',
  '/?query',
  '/??query=1',
  '/?password',
  '/?password=',
  '/?password=%ff',
  '/?query=SELECT%201&password=wrong',
  '/ping',
  '/ping/',
  '/ping?x',
  '//ping',
  '/../ping',
  '/replicas_status',
  '/play',
  '/\xff',
  '/\x7f',
  `/?${'a=b&'.repeat(3_000)}`,
  `/${'x'.repeat(30_000)}`,
  `/?query=${'%41'.repeat(9_000)}`,
  '/#',
  '/;',
  '/?session_id=1',
  '/?compress=1',
];
const methods = [
  'GET',
  'GET',
  'GET',
  'POST',
  'POST',
  'PUT',
  'HEAD',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'DELETE',
  'PRI',
  'get',
  'G\0T',
  '',
  'X'.repeat(300),
  'SOURCE',
  'M-SEARCH',
];
const versions = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'HTTP/9.9',
  'HTTP/1',
  'ICY',
  '',
];

export const closeOf = (socket: Socket): Promise<void> =>
  new Promise((resolve) => socket.once('close', () => resolve()));

/** A head that is mostly wrong in some way, and perhaps a body. */
export function spoiledRequest(
  chance: Chance,
  { password, credentials }: { password: string; credentials: string },
): Buffer {
  const lines: string[] = [];
  if (!chance.is(0.05)) lines.push('Host: a');
  for (let more = chance.below(3); more > 0; more -= 1) {
    lines.push(
      chance.weighted<() => string>([
        [4, () => credentials],
        [
          2,
          () =>
            `X-ClickHouse-Key: ${chance.pick([password, '', password.slice(1), 'é'.repeat(password.length), '\xff'.repeat(password.length), 'x'.repeat(100_000)])}`,
        ],
        [
          2,
          () =>
            `Authorization: ${chance.pick(['Basic', 'Basic %', `Basic ${Buffer.from('\xff'.repeat(chance.below(60))).toString('base64')}`, 'Bearer x', `Basic ${'='.repeat(50)}`, 'Digest a=b', '\0'])}`,
        ],
        [
          2,
          () =>
            `Content-Length: ${chance.pick(['0', '5', '100', '-1', '1e3', '18446744073709551616', '999999999', '5, 5', ''])}`,
        ],
        [
          2,
          () =>
            `Transfer-Encoding: ${chance.pick(['chunked', 'gzip, chunked', 'gzip', 'identity', 'chunked, chunked', 'xchunked'])}`,
        ],
        [2, () => `Expect: ${chance.pick(['100-continue', '200-ok', '', '100-continue, 100-continue'])}`],
        [2, () => `Connection: Upgrade\r\nUpgrade: ${chance.pick(['websocket', 'h2c', 'TLS/1.0', ''])}`],
        [1, () => `Content-Encoding: ${chance.pick(['gzip', 'br', 'identity', 'gzip, gzip', ''])}`],
        [
          1,
          () => `Content-Type: multipart/form-data; boundary=${chance.pick(['b', '', '"', 'x'.repeat(5_000), '\r\n'])}`,
        ],
        [
          1,
          () =>
            chance.pick([
              'x: 1\r\n'.repeat(2_500),
              ' folded: yes',
              'no colon',
              ': none',
              'a\0b: c',
              `y: ${'z'.repeat(60_000)}`,
              'HTTP2-Settings: AAMAAABkAAQAAP__',
            ]),
        ],
      ])(),
    );
  }
  const target = chance.is(0.7)
    ? chance.pick(targets)
    : `/?query=${encodeURIComponent(chance.pick(['SELECT 1', 'SELEC', '', ';;', "SELECT '", 'SELECT 1 FORMAT Nothing', 'SELECT 1; SELECT 2', '/*', 'INSERT INTO nothing FORMAT TSV', 'SELECT * FROM nothing']))}&${chance.pick(['', 'default_format=%0d%0a', 'query_id=%00%ff', 'nothing=1', 'param_=1', 'param_a%00=1', 'database=%60', 'wait_end_of_query=1', 'enable_http_compression=1', 'max_threads=x'])}`;
  const body = chance.pick([
    '',
    '',
    'SELECT 1',
    '5\r\nSELEC\r\n0\r\n\r\n',
    '5\r\nSELE',
    'zzz\r\n',
    '\x1f\x8b\x08\0nothing',
    '--b\r\n\r\n--b--',
    '\0'.repeat(200),
    'FFFFFFFFFFFFFFFFF\r\n',
  ]);
  return Buffer.from(
    `${chance.pick(methods)} ${target}${chance.is(0.97) ? ' ' : ''}${chance.pick(versions)}\r\n${lines.map((line) => `${line}\r\n`).join('')}${chance.is(0.95) ? '\r\n' : ''}${body}`,
    'latin1',
  );
}

/** Sends it whole, in pieces, cut off, or several times without waiting for a reply; gives what came back. */
export async function throwAt(port: number, chance: Chance, bytes: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let heard = '';
  socket.on('error', () => {});
  socket.on('data', (piece) => {
    heard += piece.toString('latin1').slice(0, 100);
  });
  const isClosed = closeOf(socket);
  await chance.weighted<() => Promise<void>>([
    [5, async () => void socket.write(bytes)],
    [2, () => inPieces(socket, chance, bytes)],
    [1, async () => void socket.write(bytes, () => socket.destroy())],
    [
      1,
      async () =>
        void socket.write(bytes.subarray(0, chance.below(bytes.length + 1)), () =>
          setImmediate(() => socket.resetAndDestroy()),
        ),
    ],
    [1, async () => void socket.end(Buffer.concat([bytes, bytes, bytes, bytes]))],
  ])();
  const waitedUntil = performance.now() + patienceMs;
  while (!socket.destroyed && heard === '' && performance.now() < waitedUntil) await Promise.race([isClosed, delay(2)]);
  socket.destroy();
  await isClosed;
  return heard;
}

async function inPieces(socket: Socket, chance: Chance, bytes: Buffer): Promise<void> {
  const cuts = [chance.below(bytes.length + 1), chance.below(bytes.length + 1)].sort((a, b) => a - b);
  for (const [from, to] of [
    [0, cuts[0]],
    [cuts[0], cuts[1]],
    [cuts[1], bytes.length],
  ] as const) {
    if (socket.destroyed) return;
    socket.write(bytes.subarray(from, to));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
