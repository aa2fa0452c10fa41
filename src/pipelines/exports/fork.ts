import { fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

/** What the process that makes a file is told. */
export interface ExportOrder {
  exportId: string;
  urls: { postgres: string; clickhouse: readonly string[] };
  dataDir: string;
  cluster: string | undefined;
  logLevel: string;
}

/** What it says at its end. `trouble`: worth another attempt. */
export type ExportReport = { kind: 'completed' } | { kind: 'not wanted' } | { kind: 'failed'; reason: string } | { kind: 'trouble'; reason: string };

/** On the way there: how far it has come, 0–1. */
export type ExportStep = { kind: 'progress'; progress: number };

/** What it is told meanwhile. */
export type ExportPace = { kind: 'pace'; isRush: boolean };

const belowNormal = 10;
const lookEveryMs = 250;
const mostHeapMegabytes = 512;
/** Rows die young: with room for a span of them the collector has little to move. */
const youngHeapMegabytes = 16;

export interface MakeOptions {
  /** Ends the process. */
  signal: AbortSignal;
  onProgress(progress: number): void;
}

export interface ProcessOptions extends MakeOptions {
  /** Whether respondents need the machine: then the file is made at a slower pace. */
  isRush(): Promise<boolean>;
}

/** Makes the file in a process of its own. */
export function makeInProcess(order: ExportOrder, { signal, onProgress, isRush }: ProcessOptions): Promise<ExportReport> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(new URL('./process.js', import.meta.url)), {
      execArgv: [`--max-old-space-size=${mostHeapMegabytes}`, `--max-semi-space-size=${youngHeapMegabytes}`], env: { PATH: process.env['PATH'], TZ: 'UTC' }, serialization: 'json',
    });
    // From its first moment: loading the libraries is work, too.
    if (child.pid !== undefined) setPriority(child.pid, belowNormal);
    const end = () => child.kill('SIGKILL');
    const tellPace = (rush: boolean) => child.connected && child.send({ kind: 'pace', isRush: rush } satisfies ExportPace);
    const looking = setInterval(() => void isRush().then(tellPace, () => tellPace(false)), lookEveryMs);
    let report: ExportReport | undefined;
    child.on('message', (message: ExportReport | ExportStep) => {
      if (message.kind === 'progress') onProgress(message.progress);
      else report = message;
    });
    child.once('error', (error) => (report ??= { kind: 'trouble', reason: error.message }));
    child.once('close', (code, killedBy) => {
      clearInterval(looking);
      signal.removeEventListener('abort', end);
      resolve(report ?? { kind: 'trouble', reason: `the process that made the file ended with ${code ?? killedBy ?? 'no code'}` });
    });
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
    child.send(order);
  });
}
