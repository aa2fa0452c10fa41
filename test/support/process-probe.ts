import { existsSync, openSync, readFileSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHistogram } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import { temporaryDataDir } from './data-dir.ts';
import { eventually } from './eventually.ts';
import { extraMsPerPageFault } from './machine-speed.ts';

export interface ProcessState {
  /**
   * How long the event loop was held between two ticks of a timer of 5 ms, in milliseconds of processor time, page faults
   * counted as on the machine at rest.
   */
  p99Ms: number;
  maxMs: number;
  rssBytes: number;
  /** JavaScript objects, collected or not. */
  heapBytes: number;
}

const fileVariable = 'PROCESS_STATE_FILE';
const extraVariable = 'EXTRA_MS_PER_PAGE_FAULT';
const tickMs = 5;

/**
 * Measures a service from inside: `env` loads this module into its process. There SIGCONT begins to measure anew, and
 * SIGUSR2 writes what was measured since to a file.
 */
export function createProcessProbe() {
  const file = join(temporaryDataDir(), 'process-state.json');
  return {
    env: {
      NODE_OPTIONS: `--import ${import.meta.url}`,
      [fileVariable]: file,
      [extraVariable]: String(extraMsPerPageFault()),
    },
    begin: (pid: number): boolean => process.kill(pid, 'SIGCONT'),
    async read(pid: number): Promise<ProcessState> {
      process.kill(pid, 'SIGUSR2');
      return eventually(() => {
        if (!existsSync(file)) throw new Error(`process ${pid} did not write its state`);
        const state: ProcessState = JSON.parse(readFileSync(file, 'utf8'));
        rmSync(file);
        return state;
      });
    },
  };
}

/**
 * Nanoseconds that the main thread was on a processor, where the system tells it: a busy machine does not count as a
 * held loop, nor does one that is slow to give memory.
 */
function createThreadClock(): () => number {
  const thread = `/proc/self/task/${process.pid}`;
  if (!existsSync(`${thread}/schedstat`)) return () => performance.now() * 1e6;
  const [schedule, state, buffer] = [
    openSync(`${thread}/schedstat`, 'r'),
    openSync(`${thread}/stat`, 'r'),
    Buffer.alloc(512),
  ];
  const read = (handle: number): string => buffer.toString('latin1', 0, readSync(handle, buffer, 0, buffer.length, 0));
  const extraNs = Number(process.env[extraVariable]) * 1e6;
  return () => {
    const ns = Number(read(schedule).split(' ')[0]);
    const text = read(state);
    const minorFaults = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[7]);
    return ns - minorFaults * extraNs;
  };
}

const file = process.env[fileVariable];
if (file !== undefined && isMainThread) {
  // Processes that this one starts are not measured.
  delete process.env[fileVariable];
  const now = createThreadClock();
  let held = createHistogram();
  let before = now();
  setInterval(() => {
    const at = now();
    held.record(Math.max(1, Math.round(at - before)));
    before = at;
  }, tickMs).unref();
  process.on('SIGCONT', () => {
    held = createHistogram();
  });
  process.on('SIGUSR2', () => {
    const { rss, heapUsed } = process.memoryUsage();
    const state: ProcessState = {
      p99Ms: held.percentile(99) / 1e6,
      maxMs: held.max / 1e6,
      rssBytes: rss,
      heapBytes: heapUsed,
    };
    writeFileSync(`${file}.new`, JSON.stringify(state));
    renameSync(`${file}.new`, file);
  });
}
