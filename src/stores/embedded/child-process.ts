import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { errorMessage, StartError } from '../../platform/start-error.ts';
import { endProcess, findOrphan, removePidFile, writePidFile } from './host/pid-file.ts';

/** How one store's server is run. */
export interface ServerProcessPlan {
  name: string;
  /** The store's directory: working directory, and home of `pid` and `log`. */
  dir: string;
  command: string;
  args: readonly string[];
  env: Record<string, string | undefined>;
  /** The operating system's user that runs it, where that is not ours. */
  user?: { uid: number; gid: number };
  /** True opens a channel whose end tells the child that we are gone. */
  hasChannel?: boolean;
  isReady(): Promise<boolean>;
  readyTimeoutMs: number;
  /** Questions that a server which works answers: one that leaves any of them unanswered for its time is killed, and started again. */
  healthChecks?: readonly { isResponding(): Promise<boolean>; timeoutMs: number }[];
  stopSignal: NodeJS.Signals;
  /** After this long, SIGKILL. */
  stopTimeoutMs: number;
}

export interface SupervisedChild {
  /** The process now serving; undefined while it is between two lives. */
  pid(): number | undefined;
  /** Ends it for good. Resolves when the process is gone. */
  stop(): Promise<void>;
}

const readyPollMs = 20;
const healthCheckMs = 2000;
const firstBackoffMs = 100;
const maxBackoffMs = 2_000;
const maxLogBytes = 10 * 1024 * 1024;

/**
 * Starts a store's server, waits until it is ready and keeps it alive: when the process dies by itself it is started again (same
 * arguments, so the same port and URL) after 0.1 s, doubling up to 2 s, without ever giving up: a full disk is freed one day.
 * Throws a StartError if the first start does not become ready.
 */
export async function superviseChild(plan: ServerProcessPlan, log: Log): Promise<SupervisedChild> {
  let current = launch(plan);
  let isStopping = false;
  let backoffMs = firstBackoffMs;
  try {
    await untilReady(plan, current);
  } catch (error) {
    await endChild(plan, current);
    throw error;
  }

  const keepAlive = async () => {
    while (!isStopping) {
      const how = await waitForExit(plan, current, log);
      if (isStopping) return;
      log.warn(
        { store: plan.name, how, restartInMs: backoffMs, lastLine: lastLogLine(plan.dir) },
        'an embedded store exited and is restarted',
      );
      await delay(backoffMs);
      backoffMs = Math.min(backoffMs * 2, maxBackoffMs);
      if (isStopping) return;
      current = tryLaunch(plan);
      await untilReady(plan, current).then(
        () => {
          backoffMs = firstBackoffMs;
          log.info({ store: plan.name, pid: current.process?.pid }, 'the embedded store serves again');
        },
        (error: unknown) =>
          log.error({ store: plan.name, reason: errorMessage(error) }, 'the embedded store does not become ready'),
      );
    }
  };
  const watching = keepAlive();

  return {
    pid: () => (current.isAlive() ? current.process?.pid : undefined),
    async stop() {
      isStopping = true;
      await endChild(plan, current);
      await watching;
      removePidFile(plan.dir);
    },
  };
}

/** Resolves with how the process ended, also when it has to be killed because it answers nothing any more. */
async function waitForExit(plan: ServerProcessPlan, running: RunningProcess, log: Log): Promise<string> {
  const silentSinceMs = new Map<NonNullable<ServerProcessPlan['healthChecks']>[number], number>();
  const runHealthCheck = async (check: NonNullable<ServerProcessPlan['healthChecks']>[number]): Promise<void> => {
    const askedAtMs = performance.now();
    if (await check.isResponding().catch(() => false)) return void silentSinceMs.delete(check);
    const sinceMs = silentSinceMs.get(check) ?? askedAtMs;
    silentSinceMs.set(check, sinceMs);
    if (performance.now() - sinceMs < check.timeoutMs || !running.isAlive()) return;
    log.error(
      { store: plan.name, pid: running.process?.pid, seconds: Math.round((performance.now() - sinceMs) / 1000) },
      'an embedded store does not respond: it is killed and restarted',
    );
    running.process?.kill('SIGKILL');
  };
  const timers = (plan.healthChecks ?? []).map((check) => {
    let isChecking = false;
    return setInterval(() => {
      if (isChecking) return;
      isChecking = true;
      void runHealthCheck(check).finally(() => (isChecking = false));
    }, healthCheckMs).unref();
  });
  try {
    return await running.ended;
  } finally {
    for (const timer of timers) clearInterval(timer);
  }
}

/** Ends what an earlier, killed instance left running on the directory; before a port is picked, so that its port is free again. */
export async function endOrphan(
  plan: Pick<ServerProcessPlan, 'name' | 'dir' | 'stopSignal' | 'stopTimeoutMs'>,
  log: Log,
): Promise<void> {
  const orphan = findOrphan(plan.dir);
  if (orphan === undefined) return;
  log.warn({ store: plan.name, pid: orphan }, 'ending the store process that a killed instance left behind');
  await endProcess(orphan, { signal: plan.stopSignal, timeoutMs: plan.stopTimeoutMs });
}

interface RunningProcess {
  /** Undefined when it could not even be begun. */
  process: ChildProcess | undefined;
  isAlive(): boolean;
  /** Resolves with how it ended: an exit code, a signal, or why it could not be run. */
  ended: Promise<string>;
}

function launch(plan: ServerProcessPlan): RunningProcess {
  const logFile = openLog(plan.dir);
  // An own session: a Ctrl-C in the terminal goes to the whole foreground group, and the stores must outlive the service's own stop.
  const options = { cwd: plan.dir, env: plan.env, detached: true, ...plan.user };
  const [command, args] = withParentDeathSignal(plan);
  const child = spawnWithLog(logFile, () =>
    spawn(command, args, {
      ...options,
      stdio: plan.hasChannel ? ['ignore', logFile, logFile, 'ipc'] : ['ignore', logFile, logFile],
    }),
  );
  let isAlive = true;
  const ended = new Promise<string>((resolve) => {
    const end = (how: string) => {
      isAlive = false;
      resolve(how);
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
  });
  try {
    if (child.pid !== undefined) writePidFile(plan.dir, child.pid);
  } catch (error) {
    // What nobody could find again must not stay.
    child.kill('SIGKILL');
    throw error;
  }
  return { process: child, isAlive: () => isAlive, ended };
}

function spawnWithLog(logFile: number, begin: () => ChildProcess): ChildProcess {
  try {
    return begin();
  } finally {
    closeSync(logFile);
  }
}

/** A launch that fails for want of descriptors, memory or disk counts as a child that ended: it is tried again. */
function tryLaunch(plan: ServerProcessPlan): RunningProcess {
  try {
    return launch(plan);
  } catch (error) {
    return { process: undefined, isAlive: () => false, ended: Promise.resolve(errorMessage(error)) };
  }
}

let hasSetpriv: boolean | undefined;

/** On Linux the kernel itself ends the store when the service is killed outright, so that no orphan keeps ports and files. */
function withParentDeathSignal(plan: ServerProcessPlan): [string, string[]] {
  hasSetpriv ??=
    process.platform === 'linux' &&
    spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true'], { stdio: 'ignore' }).status === 0;
  if (!hasSetpriv) return [plan.command, [...plan.args]];
  return ['setpriv', ['--pdeathsig', plan.stopSignal.replace('SIG', ''), '--', plan.command, ...plan.args]];
}

async function untilReady(plan: ServerProcessPlan, running: RunningProcess): Promise<void> {
  const deadline = performance.now() + plan.readyTimeoutMs;
  while (performance.now() < deadline) {
    if (!running.isAlive())
      throw new StartError(`${plan.name} ended at its start (${await running.ended}): ${lastLogLine(plan.dir)}`);
    if (await plan.isReady().catch(() => false)) return;
    await delay(readyPollMs);
  }
  throw new StartError(`${plan.name} was not ready within ${plan.readyTimeoutMs} ms: ${lastLogLine(plan.dir)}`);
}

async function endChild(plan: ServerProcessPlan, running: RunningProcess): Promise<void> {
  const child = running.process;
  if (!running.isAlive() || child?.pid === undefined) return;
  child.kill(plan.stopSignal);
  const timer = setTimeout(() => child.kill('SIGKILL'), plan.stopTimeoutMs);
  await running.ended;
  clearTimeout(timer);
}

function openLog(dir: string): number {
  const file = join(dir, 'log');
  const fd = openSync(file, 'a', 0o600);
  if (statSync(file).size > maxLogBytes) truncateSync(file, 0);
  return fd;
}

/** What the store itself said last, for the one-line message of a failed start. */
function lastLogLine(dir: string): string {
  try {
    const lines = readFileSync(join(dir, 'log'), 'utf8').trim().split('\n');
    const telling = lines.findLast((line) => /error|fatal|fail|cannot|can't|could not|denied/i.test(line));
    return (telling ?? lines.at(-1) ?? '').trim().slice(0, 400) || 'it wrote nothing';
  } catch {
    return 'it wrote nothing';
  }
}
