import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';

/** Two networks joined by a cable that can be cut, as only Linux can make them, and only for root. */
export interface CuttableNetwork {
  /** Puts a command into the server's network, or into the client's. */
  atServer(command: readonly string[]): string[];
  atClient(command: readonly string[]): string[];
  serverAddress: string;
  /** Drops all packets silently. */
  cut(): void;
  remove(): void;
}

/**
 * Undefined where such networks cannot be made. `retries`: how often the server's system sends again what nobody
 * acknowledges.
 */
export function createCuttableNetwork(retries: number): CuttableNetwork | undefined {
  const id = randomBytes(3).toString('hex');
  const [server, client] = [`survey-${id}s`, `survey-${id}c`];
  const run = (...args: string[]) => spawnSync('ip', args).status === 0;
  const remove = () => {
    for (const name of [server, client]) run('netns', 'del', name);
  };
  const isLaid =
    run('netns', 'add', server) &&
    run('netns', 'add', client) &&
    run('link', 'add', 'wire', 'netns', server, 'type', 'veth', 'peer', 'name', 'wire', 'netns', client) &&
    [server, client].every(
      (name, index) =>
        run('-n', name, 'addr', 'add', `10.99.0.${index + 1}/24`, 'dev', 'wire') &&
        run('-n', name, 'link', 'set', 'wire', 'up'),
    ) &&
    spawnSync('ip', ['netns', 'exec', server, 'sh', '-c', `echo ${retries} > /proc/sys/net/ipv4/tcp_retries2`])
      .status === 0;
  if (!isLaid) {
    remove();
    return undefined;
  }
  const within = (name: string) => (command: readonly string[]) => ['ip', 'netns', 'exec', name, ...command];
  return {
    atServer: within(server),
    atClient: within(client),
    serverAddress: '10.99.0.1',
    cut: () => void run('-n', client, 'link', 'set', 'wire', 'down'),
    remove,
  };
}
