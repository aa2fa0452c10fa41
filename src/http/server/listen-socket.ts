import type { us_listen_socket } from 'uWebSockets.js';
import type { Log } from '../../log.ts';
import { cannotListen } from '../../platform/start-error.ts';
import { type DescriptorWatch, watchDescriptors } from './file-descriptors.ts';
import { uWS } from './uwebsockets.ts';

export interface ListenSocketOptions {
  app: { listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void };
  /** Several processes listen on one port: the kernel spreads connections. */
  isPortShared: boolean;
  /** Setting of the port, which errors name. */
  portSetting?: 'PORT' | 'METRICS_PORT';
  log: Log;
}

const exclusivePort = 1;

/**
 * The listening socket. While hardly any descriptors are left it is closed, so that the system refuses new connections
 * at once or gives them to other processes of the port; open connections are served on.
 */
export function createListenSocket({ app, isPortShared, portSetting = 'PORT', log }: ListenSocketOptions) {
  let socket: us_listen_socket | undefined;
  let watch: DescriptorWatch | undefined;

  const open = (host: string, port: number) =>
    new Promise<boolean>((resolve) =>
      app.listen(host, port, isPortShared ? 0 : exclusivePort, (opened) => {
        socket = opened || undefined;
        resolve(socket !== undefined);
      }),
    );

  const closeSocket = (): void => {
    if (socket) uWS.us_listen_socket_close(socket);
    socket = undefined;
  };

  return {
    /** Returns the port. */
    async listen(host: string, requestedPort: number): Promise<number> {
      if (!(await open(host, requestedPort)) || !socket) throw cannotListen(host, requestedPort, portSetting);
      const port = uWS.us_socket_local_port(socket);
      watch = watchDescriptors({
        onExhausted: () => {
          closeSocket();
          log.error('file descriptors are nearly exhausted: no new connections are accepted for now');
        },
        onAvailable: async () => {
          const isOpen = await open(host, port);
          if (isOpen) log.info('new connections are accepted again');
          return isOpen;
        },
      });
      return port;
    },
    close(): void {
      watch?.stop();
      closeSocket();
    },
  };
}
