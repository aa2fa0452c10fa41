import { type AddressInfo, createServer } from 'node:net';
import { StartError } from '../platform/start-error.ts';

/**
 * The port, once it is known that nobody listens there; for 0 a free one. Processes that share a port bind it in a way that the kernel
 * allows to others as well, so a second service would join unnoticed and take half of the connections.
 */
export function freePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', () =>
      reject(
        new StartError(
          `cannot listen on ${host}:${port}: the port (PORT) is in use or not allowed, or the address (HOST) is none of this machine`,
        ),
      ),
    );
    probe.listen({ host, port, exclusive: true }, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}
