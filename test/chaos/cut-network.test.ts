import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CuttableNetwork, createCuttableNetwork } from '../support/cuttable-network.ts';
import { eventually } from '../support/eventually.ts';

const server = fileURLToPath(new URL('../support/bare-live-server.js', import.meta.url));
const port = '4000';

/** Listens in both ways, for good. */
const listen = (address: string): string => `
  const net = require('node:net');
  const open = (text) => net.connect(${port}, '${address}').on('error', () => undefined).on('data', () => undefined).write(text);
  open('GET /events HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');
  open('GET /live?ticket=t HTTP/1.1\\r\\nHost: x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Protocol: survey.v1\\r\\n\\r\\n');`;

describe('a live client whose network is cut without closing its connection', () => {
  const children: ChildProcess[] = [];
  let cable: CuttableNetwork | undefined;
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
    cable?.remove();
  });

  const begin = ([command = '', ...args]: readonly string[]): (() => string[]) => {
    let said = '';
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout.on('data', (piece) => {
      said += String(piece);
    });
    children.push(child);
    return () => said.trim().split('\n');
  };

  it('is released by the WebSocket after missed pings, and by a quiet event stream when the kernel gives up the connection', async (test) => {
    cable = createCuttableNetwork(3);
    if (!cable) return test.skip('needs root on Linux, with ip netns');
    const { serverAddress } = cable;
    const said = begin(cable.atServer([process.execPath, server, serverAddress, port]));
    await eventually(() => assert.ok(said().includes('listening')));
    begin(cable.atClient([process.execPath, '-e', listen(serverAddress)]));
    await eventually(() => assert.deepEqual(said().slice(1).sort(), ['sse 1', 'websocket 1']));
    cable.cut();
    await eventually(() => assert.deepEqual(said().slice(3).sort(), ['sse -1', 'websocket -1']), 60_000, 100);
  });
});
