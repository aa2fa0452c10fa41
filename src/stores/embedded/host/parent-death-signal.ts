import { spawnSync } from 'node:child_process';

let hasSetpriv: boolean | undefined;

/**
 * The command that runs a program so that, on Linux, the kernel signals it when the service is killed: no orphan then
 * keeps ports and files.
 */
export function withParentDeathSignal(
  command: string,
  args: readonly string[],
  signal: NodeJS.Signals,
): [string, string[]] {
  hasSetpriv ??=
    process.platform === 'linux' &&
    spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true'], { stdio: 'ignore' }).status === 0;
  if (!hasSetpriv) return [command, [...args]];
  return ['setpriv', ['--pdeathsig', signal.replace('SIG', ''), '--', command, ...args]];
}
