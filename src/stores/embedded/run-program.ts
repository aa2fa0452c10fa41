import { spawn } from 'node:child_process';
import { withParentDeathSignal } from './host/parent-death-signal.ts';
import { tellingLineOf } from './store-log.ts';

export interface ProgramRun {
  args: readonly string[];
  cwd: string;
  env: Record<string, string | undefined>;
  /** The user of the operating system that runs it, if not the current one. */
  user?: { uid: number; gid: number } | undefined;
  /** The text that it reads from its standard input. */
  input?: string;
  /** Kills it, with all that it has started. */
  signal: AbortSignal;
}

/**
 * Runs a program to its end, in a process group of its own. Rejects with the line that tells most about a failure, and
 * after an abort once nothing of the group holds its output any more. A kill of this process kills the program too.
 */
export async function runProgram(command: string, { args, cwd, env, user, input, signal }: ProgramRun): Promise<void> {
  signal.throwIfAborted();
  const child = spawn(...withParentDeathSignal(command, args, 'SIGKILL'), { cwd, env, detached: true, ...user });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // A program that has ended reads nothing.
  child.stdin.on('error', () => undefined).end(input);
  const killGroup = (): void => {
    try {
      // A negative number names the group.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  };
  signal.addEventListener('abort', killGroup, { once: true });
  try {
    const how = await new Promise<string>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, killedBy) => resolve(killedBy ?? `exit code ${code}`));
    });
    signal.throwIfAborted();
    if (how !== 'exit code 0') throw new Error(`it ended with ${how}: ${tellingLineOf(output)}`);
  } finally {
    signal.removeEventListener('abort', killGroup);
  }
}
