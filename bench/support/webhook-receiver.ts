import type { us_listen_socket } from 'uWebSockets.js';
import { uWS } from '../../src/http/server/uwebsockets.ts';

/**
 * A receiver that costs as little as possible, in a process of its own: reads a body, replies with 204 and counts.
 * Sends its port, and the count on request.
 */
let received = 0;

const app = uWS.App();
app.post('/*', (res) => {
  let isAborted = false;
  res.onAborted(() => {
    isAborted = true;
  });
  res.onData((_chunk, isLast) => {
    if (!isLast || isAborted) return;
    received += 1;
    res.cork(() => res.writeStatus('204 No Content').endWithoutBody());
  });
});
app.listen('127.0.0.1', 0, (socket: us_listen_socket) => {
  process.send?.({ port: uWS.us_socket_local_port(socket) });
});
process.on('message', () => process.send?.({ received }));
process.on('disconnect', () => process.exit(0));
