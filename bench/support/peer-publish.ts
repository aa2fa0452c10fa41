import type { us_listen_socket } from 'uWebSockets.js';
import { uWS } from '../../src/http/server/uwebsockets.ts';

/**
 * The ceiling: bare uWebSockets.js that publishes a ready message to all subscribers, in bursts, as fast as they take
 * it.
 */
interface Order {
  bytes: number;
  burst: number;
}

const app = uWS.App();
app.ws('/*', {
  maxBackpressure: 64 * 1024 * 1024,
  upgrade: (res, req, context) =>
    res.upgrade(
      {},
      req.getHeader('sec-websocket-key'),
      req.getHeader('sec-websocket-protocol'),
      req.getHeader('sec-websocket-extensions'),
      context,
    ),
  open: (ws) => void ws.subscribe('all'),
});
app.listen(0, (socket: us_listen_socket | false) => {
  if (socket) process.send?.({ port: uWS.us_socket_local_port(socket) });
});
// One burst a message from the bench, which waits until all have it.
process.on('message', ({ bytes, burst }: Order) => {
  const text = Buffer.alloc(bytes, 'x');
  for (let n = 0; n < burst; n += 1) app.publish('all', text, false);
});
process.on('disconnect', () => process.exit(0));
