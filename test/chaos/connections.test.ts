import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { startService, type RunningService } from '../support/service.ts';

/** The server's own patience is ten seconds; a trickle of bytes does not extend it. */
const closedWithinMs = 13_000;

describe('clients that speak badly', () => {
  let service: RunningService;
  let admin: Client;
  let surveyId: string;
  before(async () => {
    service = await startService();
    admin = await adminClient(service);
    surveyId = (await admin.create('/surveys', { title: 'Slow', status: 'ACTIVE' })).id;
  });
  after(() => service.stop());

  /** Writes what it is given, then what `every` gives twice a second, and says how long the server kept the connection and what it said. */
  function hold(first: string | Buffer, every?: (n: number) => string): Promise<{ heldMs: number; said: string }> {
    return new Promise((resolve) => {
      const startedAt = performance.now();
      let [said, n] = ['', 0];
      const socket: Socket = connect(service.port, '127.0.0.1', () => void socket.write(first));
      const timer = every && setInterval(() => socket.write(every((n += 1))), 500);
      const limit = setTimeout(() => socket.destroy(), closedWithinMs + 5000);
      socket.on('data', (piece) => (said += piece.toString('latin1')));
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(timer);
        clearTimeout(limit);
        resolve({ heldMs: performance.now() - startedAt, said });
      });
    });
  }

  const path = () => `/api/v1/responses/surveys/${surveyId}/submit`;
  const head = (length: number) => `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

  it('by two thousand idle and slow connections keep nobody else waiting, and are let go in time', async () => {
    const idle = Array.from({ length: 1700 }, () => hold(''));
    const slowHeads = Array.from({ length: 150 }, () => hold(`POST ${path()} HTTP/1.1\r\nHost: x\r\n`, (n) => `X-Slow-${n}: 1\r\n`));
    const slowBodies = Array.from({ length: 150 }, () => hold(head(10_000), () => ' '));
    const times: number[] = [];
    for (let n = 0; n < 200; n += 1) {
      const startedAt = performance.now();
      assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201);
      times.push(performance.now() - startedAt);
    }
    assert.ok((times.sort((a, b) => a - b)[190] ?? Infinity) < 500, `the 95th of 100 submissions took ${times[190]} ms`);
    const held = await Promise.all([...idle, ...slowHeads, ...slowBodies]);
    assert.ok(held.every(({ heldMs }) => heldMs < closedWithinMs), `the longest was held ${Math.max(...held.map(({ heldMs }) => heldMs))} ms`);
    assert.ok(held.every(({ said }) => !said.includes(' 201 ')));
    assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201);
  });

  it('by what is no HTTP/1.1 are sent away, and nothing of it is stored', async () => {
    const before = (await admin.get(`/surveys/${surveyId}`)).responseCount;
    const body = '{"answers":[]}';
    const tries: [string, string | Buffer, RegExp][] = [
      ['HTTP/1.0', `POST ${path()} HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`, /^(HTTP\/1\.1 (400|505) |$)/],
      ['a bad chunk', `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n${body}\r\n0\r\n\r\n`, /^(HTTP\/1\.1 400 |$)/],
      ['TLS', Buffer.from('1603010200010001fc0303', 'hex'), /^(HTTP\/1\.1 400 |$)/],
      ['two lengths', `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nContent-Length: 2\r\n\r\n${body}`, /^HTTP\/1\.1 400 /],
      ['length and chunks', `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`, /^(HTTP\/1\.1 400 |$)/],
      ['a negative length', `POST ${path()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: -5\r\n\r\n${body}`, /^(HTTP\/1\.1 400 |$)/],
      ['a body that never ends', head(500) + body, /^$/],
    ];
    const said = await Promise.all(tries.map(([, bytes]) => hold(bytes)));
    for (const [index, [name, , expected]] of tries.entries()) {
      assert.match(said[index]?.said ?? '', expected, name);
      assert.ok((said[index]?.heldMs ?? Infinity) < closedWithinMs, `${name} was held ${said[index]?.heldMs} ms`);
    }
    assert.equal((await admin.get(`/surveys/${surveyId}`)).responseCount, before);
    assert.ok(!service.logs().includes('"level":"error"'));
  });
});
