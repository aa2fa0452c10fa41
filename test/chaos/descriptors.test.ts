import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningService, startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';

const openFiles = 256;

/**
 * More clients than the process has file descriptors: the system's own way is to ask it to take the next connection for
 * ever.
 */
describe('a service without free file descriptors', () => {
  let service: RunningService;
  let admin: Client;
  let surveyId: string;
  const sockets: Socket[] = [];
  before(async () => {
    await sharedStores();
    service = await startService({ openFiles });
    admin = await adminClient(service);
    surveyId = (await admin.create('/surveys', { title: 'Crowded', status: 'ACTIVE' })).id;
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    assert.equal(await service.stop(), 0);
  });

  interface Connection {
    socket: Socket;
    said: string;
    error: string;
    isClosed: boolean;
  }

  const open = () =>
    new Promise<Connection>((resolve) => {
      const socket = connect(service.port, '127.0.0.1');
      const connection: Connection = { socket, said: '', error: '', isClosed: false };
      sockets.push(socket);
      socket.on('data', (piece) => {
        connection.said += piece.toString('latin1');
      });
      socket.on('error', (error) => {
        connection.error = 'code' in error ? String(error.code) : error.message;
      });
      socket.on('close', () => {
        connection.isClosed = true;
        resolve(connection);
      });
      socket.on('connect', () => resolve(connection));
    });

  /** Processor time of the process, in hundredths of a second. */
  const ticks = (): number => {
    const fields = readFileSync(`/proc/${service.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };

  it('refuses new connections without using the processor, serves open ones, stores what it accepts, and recovers by itself', async (test) => {
    if (process.platform !== 'linux') return test.skip('needs Linux: the limit and the figures are read from /proc');
    const connections: Connection[] = [];
    // As fast as the system lets them in, a few at a time, until the service shuts the door.
    await eventually(async () => {
      connections.push(...(await Promise.all(Array.from({ length: 25 }, open))));
      assert.ok(connections.some(({ error }) => error === 'ECONNREFUSED'));
    }, 20_000);
    const [body, path] = ['{"answers":[]}', `/api/v1/responses/surveys/${surveyId}/submit`];
    const held = connections.filter(({ isClosed }) => !isClosed);
    assert.ok(held.length > 50, `${held.length} were taken`);
    for (const { socket } of held)
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    await eventually(() => assert.ok(held.every(({ said, isClosed }) => isClosed || said.startsWith('HTTP/1.1 201 '))));
    const accepted = held.filter(({ said }) => said.startsWith('HTTP/1.1 201 ')).length;
    assert.ok(accepted > 50, `${accepted} were accepted`);

    // What was accepted may be being stored yet. Connections that are served are closed some twelve seconds later.
    await eventually(async () => {
      const before = ticks();
      await new Promise((resolve) => setTimeout(resolve, 1000));
      assert.ok(ticks() - before < 50, `${ticks() - before} hundredths of a second of processor time in one second`);
    }, 6000);
    assert.equal((await open()).error, 'ECONNREFUSED');

    for (const { socket } of connections) socket.destroy();
    await eventually(async () => assert.equal((await admin.get(`/surveys/${surveyId}`)).responseCount, accepted));
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, accepted),
    );
    // The door may be shut for a moment yet.
    await eventually(async () => assert.equal((await admin.submit(surveyId, { answers: [] })).status, 201));
    assert.ok(!service.logs().includes('a handler failed'));
  });
});
