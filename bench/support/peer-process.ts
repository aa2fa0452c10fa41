import type { ChildProcess } from 'node:child_process';

/** The port that a forked peer reports when it listens. Rejects if it ends before. */
export function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('message', (message: { port: number }) => resolve(message.port));
    child.once('exit', (code) => reject(new Error(`the peer ended with code ${code ?? 'none'}`)));
  });
}
