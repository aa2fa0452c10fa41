import type { us_listen_socket } from 'uWebSockets.js';
import { uWS } from '../../src/http/server/uwebsockets.ts';

/** The ceiling: bare uWebSockets.js that reads a body, parses it and gives a constant reply. Prints its port. */
const reply = JSON.stringify({
  success: true,
  data: {
    responseId: '00000000-0000-7000-8000-000000000000',
    isComplete: true,
    submittedAt: '2026-01-01T00:00:00.000Z',
  },
});

const app = uWS.App();
app.post('/*', (res) => {
  let isAborted = false;
  let chunks: Buffer = Buffer.alloc(0);
  res.onAborted(() => {
    isAborted = true;
  });
  res.onData((chunk, isLast) => {
    chunks = chunks.length === 0 && isLast ? Buffer.from(chunk) : Buffer.concat([chunks, Buffer.from(chunk)]);
    if (!isLast || isAborted) return;
    const body = JSON.parse(chunks.toString('utf8')) as { answers?: unknown[] };
    res.cork(() =>
      res
        .writeStatus(Array.isArray(body.answers) ? '201 Created' : '400 Bad Request')
        .writeHeader('content-type', 'application/json')
        .end(reply),
    );
  });
});
app.listen('127.0.0.1', 0, (socket: us_listen_socket) => {
  process.send?.({ port: uWS.us_socket_local_port(socket) });
});
process.on('disconnect', () => process.exit(0));
