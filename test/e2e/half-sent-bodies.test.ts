import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

/** The largest body that is taken, and what an attacker sends of it. */
const [declaredBytes, sentBytes] = [262_144, 250_000];
const connections = 300;

interface HalfSent {
  socket: Socket;
  /** What the service replied, before the end of the body. */
  reply: string;
}

describe('bodies that are never sent to their end', () => {
  let service: RunningService;
  let admin: Client;
  const opened: HalfSent[] = [];
  useService((served) => ({ service, admin } = served));
  afterEach(() => {
    for (const { socket } of opened.splice(0)) socket.destroy();
  });

  const head = (surveyId: string, bytes: number): string =>
    `POST /api/v1/responses/surveys/${surveyId}/submit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;

  const send = (surveyId: string, localAddress: string, text: string, bytes: number): HalfSent => {
    const sent: HalfSent = { socket: connect({ port: service.port, host: '127.0.0.1', localAddress }), reply: '' };
    opened.push(sent);
    sent.socket.on('error', () => undefined);
    sent.socket.on('data', (chunk) => (sent.reply += chunk.toString()));
    sent.socket.write(head(surveyId, bytes) + text);
    return sent;
  };
  const sendHalves = (surveyId: string): HalfSent[] =>
    Array.from({ length: connections }, () => send(surveyId, '127.0.0.1', ' '.repeat(sentBytes), declaredBytes));
  const statusOf = ({ reply }: HalfSent): string => reply.slice(9, 12);
  /** A whole submission in two pieces. */
  const submitInPieces = async (surveyId: string, localAddress: string): Promise<string> => {
    const sent = send(surveyId, localAddress, '{"answers"', 14);
    await new Promise((resolve) => sent.socket.once('connect', resolve));
    sent.socket.write(':[]}');
    await eventually(() => assert.notEqual(sent.reply, ''));
    return statusOf(sent);
  };
  const residentBytes = (): number =>
    1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]);

  it('are refused past a bound for each address, harm no other, and are forgotten with their connection', async () => {
    const { id } = await admin.create('/surveys', { title: 'Attacked', status: 'ACTIVE' });
    const before = residentBytes();
    const halves = sendHalves(id);
    const refused = () => halves.filter((half) => statusOf(half) === '429');
    // A body takes at most twice its bytes of the 32 MiB.
    await eventually(() => assert.ok(refused().length >= connections - 134, String(refused().length)));
    assert.match(refused()[0]?.reply ?? '', /retry-after: 10\r\n/i);
    assert.equal(halves.filter((half) => half.reply !== '').length, refused().length);
    assert.ok(residentBytes() - before < 128 * 1024 * 1024, `${residentBytes() - before} bytes more`);
    assert.equal(await submitInPieces(id, '127.0.0.2'), '201');
    for (const { socket } of halves) socket.destroy();
    await eventually(async () => assert.equal(await submitInPieces(id, '127.0.0.1'), '201'));
  });

  it('are not kept once the request was refused', async () => {
    const halves = sendHalves('no-id');
    await eventually(() => assert.ok(halves.every((half) => statusOf(half) === '404')));
  });
});
