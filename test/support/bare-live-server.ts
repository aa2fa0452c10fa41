/**
 * Live streams with nothing behind them, for a test that needs a process: `node bare-live-server.js ADDRESS PORT`.
 * Prints a line for each who comes and goes.
 */

import { openEventStream } from '../../src/http/live/event-stream.ts';
import type { LiveConnection } from '../../src/http/live/hub.ts';
import { addLiveWebSocket } from '../../src/http/live/websocket.ts';
import { openReply } from '../../src/http/server/reply.ts';
import { uWS } from '../../src/http/server/uwebsockets.ts';
import { bareLive, listener, unused } from './bare-live.ts';

const [address = '', port = '0'] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const deps = bareLive(new Set<LiveConnection>(), (transport, change) => say(`${transport} ${change}`));
const app = uWS.App();
addLiveWebSocket(app, '/live', {
  ...deps,
  idleTimeoutSeconds: 8,
  origins: [],
  publicUrl: undefined,
  isDraining: () => false,
  addressOf: (given) => given,
  tickets: { issue: unused, redeem: async () => listener },
  authentication: { current: async (principal) => principal },
  limits: { consume: unused },
});
app.get('/events', (res) => {
  const body = openReply(res).open(200, [['content-type', 'text/event-stream']]);
  if (body) openEventStream(deps, listener, body);
});
app.listen(address, Number(port), () => say('listening'));
