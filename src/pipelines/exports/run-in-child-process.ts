import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../../platform/child-environment.ts';

/** The task of the child process. */
export interface ExportTask {
  exportId: string;
  urls: { postgres: string; clickhouse: readonly string[] };
  dataDir: string;
  /** Share of the disk that files leave to the stores. */
  diskReservePercent: number;
  cluster: string | undefined;
  logLevel: string;
}

/**
 * The report of the child process at its end. Failures that are `retryable`, or `unavailable` because a store is away,
 * get another attempt.
 */
export type ExportResult =
  | { kind: 'completed' }
  | { kind: 'cancelled' }
  | { kind: 'failed'; reason: string }
  | { kind: 'retryable' | 'unavailable'; reason: string };

/** Sent by the child process; `progress` from 0 to 1. */
export type ExportProgress = { kind: 'progress'; progress: number };

/** Sent to the child process while it works. */
export type ThrottleMessage = { kind: 'throttle'; isUnderLoad: boolean };

const lowPriority = 10;
const loadCheckMs = 250;
const maxHeapMegabytes = 512;
/** Rows are short-lived: a larger young generation leaves the garbage collector little to copy. */
const youngHeapMegabytes = 16;

export interface MakeFileOptions {
  /** Aborting kills the process. */
  signal: AbortSignal;
  onProgress(progress: number): void;
}

export interface ChildProcessOptions extends MakeFileOptions {
  /** Whether respondents need the machine: then the process works more slowly. */
  isUnderLoad(): Promise<boolean>;
}

/** Makes the file in a child process. */
export function runInChildProcess(
  task: ExportTask,
  { signal, onProgress, isUnderLoad }: ChildProcessOptions,
): Promise<ExportResult> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(new URL('./child-process.js', import.meta.url)), {
      execArgv: [`--max-old-space-size=${maxHeapMegabytes}`, `--max-semi-space-size=${youngHeapMegabytes}`],
      env: { ...childEnvironment(process.env, 'node'), TZ: 'UTC' },
      serialization: 'json',
    });
    // From its start, because loading the libraries is work, too.
    if (child.pid !== undefined) setPriority(child.pid, lowPriority);
    const end = () => child.kill('SIGKILL');
    const sendThrottle = (isLoaded: boolean) =>
      child.connected && child.send({ kind: 'throttle', isUnderLoad: isLoaded } satisfies ThrottleMessage);
    const loadCheck = setInterval(() => void isUnderLoad().then(sendThrottle, () => sendThrottle(false)), loadCheckMs);
    let result: ExportResult | undefined;
    child.on('message', (message: ExportResult | ExportProgress) => {
      if (message.kind === 'progress') onProgress(message.progress);
      else result = message;
    });
    // More than once: each message to a process that has just ended may fail.
    child.on('error', (error) => {
      result ??= { kind: 'retryable', reason: error.message };
    });
    child.once('close', (code, killedBy) => {
      clearInterval(loadCheck);
      signal.removeEventListener('abort', end);
      resolve(
        result ?? {
          kind: 'retryable',
          reason: `the process that made the file ended with ${code ?? killedBy ?? 'no code'}`,
        },
      );
    });
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
    child.send(task);
  });
}
