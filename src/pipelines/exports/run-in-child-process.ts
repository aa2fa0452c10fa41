import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

/** What the process that makes a file is told. */
export interface ExportTask {
  exportId: string;
  urls: { postgres: string; clickhouse: readonly string[] };
  dataDir: string;
  cluster: string | undefined;
  logLevel: string;
}

/** What it says at its end. `trouble`: worth another attempt. */
export type ExportResult =
  | { kind: 'completed' }
  | { kind: 'cancelled' }
  | { kind: 'failed'; reason: string }
  | { kind: 'retryable'; reason: string };

/** On the way there: how far it has come, 0–1. */
export type ExportProgress = { kind: 'progress'; progress: number };

/** What it is told meanwhile. */
export type ThrottleMessage = { kind: 'throttle'; isUnderLoad: boolean };

const lowPriority = 10;
const loadCheckMs = 250;
const maxHeapMegabytes = 512;
/** Rows die young: with room for a span of them the collector has little to move. */
const youngHeapMegabytes = 16;

export interface MakeFileOptions {
  /** Ends the process. */
  signal: AbortSignal;
  onProgress(progress: number): void;
}

export interface ChildProcessOptions extends MakeFileOptions {
  /** Whether respondents need the machine: then the file is made at a slower pace. */
  isUnderLoad(): Promise<boolean>;
}

/** Makes the file in a process of its own. */
export function runInChildProcess(
  order: ExportTask,
  { signal, onProgress, isUnderLoad }: ChildProcessOptions,
): Promise<ExportResult> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(new URL('./child-process.js', import.meta.url)), {
      execArgv: [`--max-old-space-size=${maxHeapMegabytes}`, `--max-semi-space-size=${youngHeapMegabytes}`],
      env: { PATH: process.env['PATH'], TZ: 'UTC' },
      serialization: 'json',
    });
    // From its first moment: loading the libraries is work, too.
    if (child.pid !== undefined) setPriority(child.pid, lowPriority);
    const end = () => child.kill('SIGKILL');
    const sendThrottle = (rush: boolean) =>
      child.connected && child.send({ kind: 'throttle', isUnderLoad: rush } satisfies ThrottleMessage);
    const loadCheck = setInterval(() => void isUnderLoad().then(sendThrottle, () => sendThrottle(false)), loadCheckMs);
    let report: ExportResult | undefined;
    child.on('message', (message: ExportResult | ExportProgress) => {
      if (message.kind === 'progress') onProgress(message.progress);
      else report = message;
    });
    child.once('error', (error) => (report ??= { kind: 'retryable', reason: error.message }));
    child.once('close', (code, killedBy) => {
      clearInterval(loadCheck);
      signal.removeEventListener('abort', end);
      resolve(
        report ?? {
          kind: 'retryable',
          reason: `the process that made the file ended with ${code ?? killedBy ?? 'no code'}`,
        },
      );
    });
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
    child.send(order);
  });
}
