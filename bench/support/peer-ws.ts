import { WebSocketServer } from 'ws';

/**
 * What most teams would write: the `ws` package, and a loop that sends each message to every client. The same orders as
 * bare publish.
 */
interface Order {
  bytes: number;
  burst: number;
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'survey.v1' });
server.on('listening', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' && address ? address.port : 0 });
});
process.on('message', ({ bytes, burst }: Order) => {
  const text = 'x'.repeat(bytes);
  for (let n = 0; n < burst; n += 1) for (const client of server.clients) client.send(text);
});
process.on('disconnect', () => process.exit(0));
