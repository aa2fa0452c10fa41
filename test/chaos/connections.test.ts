import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { type RunningService, startService } from '../support/service.ts';
import { assertWithin } from '../support/time-bars.ts';

/**
 * The server's own timeout is ten seconds, which a trickle of bytes does not extend. The rest is for a busy machine.
 */
const closedWithinMs = 20_000;

describe('idle, slow and malformed connections', () => {
  let service: RunningService;
  let admin: Client;
  let surveyId: string;
  before(async () => {
    service = await startService();
    admin = await adminClient(service);
    surveyId = (await admin.create('/surveys', { title: 'Slow', status: 'ACTIVE' })).id;
  });
  after(() => service.stop());

  interface Held {
    heldMs: number;
    said: string;
  }

  /**
   * Connects and writes what it is given, then what `every` gives twice a second; the promise inside says how long the
   * server kept the connection and what it said.
   */
  function connectAnd(first: string | Buffer, every?: (n: number) => string): Promise<{ closed: Promise<Held> }> {
    return new Promise((resolve, reject) => {
      const socket: Socket = connect(service.port, '127.0.0.1', () => {
        socket.write(first);
        resolve({ closed: untilClosed(socket, every) });
      });
      socket.once('error', reject);
    });
  }

  function untilClosed(socket: Socket, every?: (n: number) => string): Promise<Held> {
    return new Promise((resolve) => {
      const startedAt = performance.now();
      let [said, n] = ['', 0];
      const timer = every && setInterval(() => socket.write(every(++n)), 500);
      const limit = setTimeout(() => socket.destroy(), closedWithinMs + 5000);
      socket.removeAllListeners('error');
      socket.on('error', () => undefined);
      socket.on('data', (piece) => {
        said += piece.toString('latin1');
      });
      socket.on('close', () => {
        clearInterval(timer);
        clearTimeout(limit);
        resolve({ heldMs: performance.now() - startedAt, said });
      });
    });
  }

  const hold = async (first: string | Buffer): Promise<Held> => (await connectAnd(first)).closed;

  /** So many connections, a few at a time: the system itself drops those that come faster than they are taken. */
  async function holdMany(count: number, first: string, every?: (n: number) => string): Promise<Promise<Held>[]> {
    const held: Promise<Held>[] = [];
    while (held.length < count)
      for (const { closed } of await Promise.all(Array.from({ length: 50 }, () => connectAnd(first, every))))
        held.push(closed);
    return held;
  }

  /** Milliseconds of a submission, the slowest but five per cent. */
  async function slowestButFew(): Promise<number> {
    const times: number[] = [];
    for (let n = 0; n < 200; n += 1) {
      const startedAt = performance.now();
      assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201);
      times.push(performance.now() - startedAt);
    }
    return times.sort((a, b) => a - b)[190] ?? Infinity;
  }

  const path = () => `/api/v1/responses/surveys/${surveyId}/submit`;
  const head = (length: number) =>
    `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

  it('two thousand idle and slow ones delay no other client, and are closed in time', async () => {
    const undisturbedMs = await slowestButFew();
    const idle = await holdMany(1700, '');
    const slowHeads = await holdMany(150, `POST ${path()} HTTP/1.1\r\nHost: x\r\n`, (n) => `X-Slow-${n}: 1\r\n`);
    const slowBodies = await holdMany(150, head(10_000), () => ' ');
    const crowdedMs = await slowestButFew();
    assertWithin(500 + 5 * undisturbedMs, crowdedMs, 'the 95th of 100 submissions');
    for (const [kind, connections] of Object.entries({ idle, slowHeads, slowBodies })) {
      const held = await Promise.all(connections);
      const longestMs = Math.max(...held.map(({ heldMs }) => heldMs));
      assertWithin(closedWithinMs, longestMs, `closing the last of ${kind}`);
      assert.ok(
        held.every(({ said }) => !said.includes(' 201 ')),
        kind,
      );
    }
    assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201);
  });

  it('wait while the process is suspended, and get replies when it resumes', async () => {
    const before = (await admin.get(`/surveys/${surveyId}`)).responseCount;
    process.kill(service.pid, 'SIGSTOP');
    const replies = Promise.all(Array.from({ length: 50 }, () => admin.submit(surveyId, { answers: [] })));
    setTimeout(() => process.kill(service.pid, 'SIGCONT'), 2500);
    const statuses = (await replies).map(({ status }) => status);
    assert.ok(
      statuses.every((status) => status === 201 || status === 503),
      String(statuses),
    );
    assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201);
    const stored = (await admin.get(`/surveys/${surveyId}`)).responseCount - before;
    assert.ok(stored >= statuses.filter((status) => status === 201).length + 1, `${stored} were stored`);
  });

  it('without valid HTTP/1.1 are refused, and nothing is stored', async () => {
    const before = (await admin.get(`/surveys/${surveyId}`)).responseCount;
    const body = '{"answers":[]}';
    const tries: [string, string | Buffer, RegExp][] = [
      [
        'HTTP/1.0',
        `POST ${path()} HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        /^(HTTP\/1\.1 (400|505) |$)/,
      ],
      [
        'a bad chunk',
        `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n${body}\r\n0\r\n\r\n`,
        /^(HTTP\/1\.1 400 |$)/,
      ],
      ['TLS', Buffer.from('1603010200010001fc0303', 'hex'), /^(HTTP\/1\.1 400 |$)/],
      [
        'two lengths',
        `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nContent-Length: 2\r\n\r\n${body}`,
        /^HTTP\/1\.1 400 /,
      ],
      [
        'length and chunks',
        `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
        /^(HTTP\/1\.1 400 |$)/,
      ],
      [
        'a negative length',
        `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: -5\r\n\r\n${body}`,
        /^(HTTP\/1\.1 400 |$)/,
      ],
      ['a body that never ends', head(500) + body, /^$/],
    ];
    const said = await Promise.all(tries.map(([, bytes]) => hold(bytes)));
    for (const [index, [name, , expected]] of tries.entries()) {
      assert.match(said[index]?.said ?? '', expected, name);
      assertWithin(closedWithinMs, said[index]?.heldMs ?? Infinity, `closing ${name}`);
    }
    assert.equal((await admin.get(`/surveys/${surveyId}`)).responseCount, before);
    assert.ok(!service.logs().includes('"level":"error"'));
  });
});
