import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { StartError } from '../../../platform/start-error.ts';

/**
 * Below the ephemeral ports: while a store restarts, its clients keep connecting to its port. A client whose own
 * ephemeral port is the same would connect to itself and keep the store from binding.
 */
const lowestPort = 20_000;
const highestPort = 32_000;
const maxPortAttempts = 200;

/** A store ended at its start because another program has its port. */
export class PortInUseError extends StartError {}

export interface Ports {
  /**
   * Runs `start` with a loopback port: that of the store's last start (`<dir>/port`) if free, otherwise a new one. If
   * another program takes the port before the store binds it, `start` runs again with another port.
   */
  withPort<T>(dir: string, start: (port: number) => Promise<T>): Promise<T>;
}

const maxStartAttempts = 3;

/** Assigns different ports to the stores of one start, even before they listen. */
export function createPorts(): Ports {
  const taken = new Set<number>();
  const isUsable = async (port: number) => !taken.has(port) && (await isFree(port));
  const keep = async (dir: string) => {
    const kept = readPort(dir);
    const port = kept !== undefined && (await isUsable(kept)) ? kept : await newPort(isUsable);
    taken.add(port);
    writeFileSync(join(dir, 'port'), `${port}\n`);
    return port;
  };
  return {
    async withPort(dir, start) {
      for (let attempt = 1; ; attempt++) {
        const port = await keep(dir);
        try {
          return await start(port);
        } catch (error) {
          // The other program may have it no longer.
          const isLost = error instanceof PortInUseError || !(await isFree(port));
          if (attempt === maxStartAttempts || !isLost) throw error;
        }
      }
    },
  };
}

async function newPort(isUsable: (port: number) => Promise<boolean>): Promise<number> {
  for (let attempt = 0; attempt < maxPortAttempts; attempt++) {
    const port = randomInt(lowestPort, highestPort);
    if (await isUsable(port)) return port;
  }
  throw new StartError(`no free loopback port between ${lowestPort} and ${highestPort}`);
}

function readPort(dir: string): number | undefined {
  const file = join(dir, 'port');
  if (!existsSync(file)) return undefined;
  const port = Number(readFileSync(file, 'utf8'));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
