import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { errorMessage, StartError } from '../../platform/start-error.ts';
import { withParentDeathSignal } from './host/parent-death-signal.ts';
import { endProcess, findOrphan, removePidFile, writePidFile } from './host/pid-file.ts';
import { PortInUseError } from './host/ports.ts';
import { openStoreLog, type StoreLog } from './store-log.ts';

/** How to run the server of a store. */
export interface ServerProcessPlan {
  name: string;
  /** The store's directory: working directory, with the files `pid` and `log`. */
  dir: string;
  command: string;
  args: readonly string[];
  env: Record<string, string | undefined>;
  /** The user of the operating system that runs it, if not the current one. */
  user?: { uid: number; gid: number };
  /** Opens an IPC channel; its end tells the child that this process has ended. */
  hasChannel?: boolean;
  /** Clears what a killed process of the store has left. */
  beforeLaunch?(): void;
  /**
   * Whether this very server is ready. One of another installation may answer on its port, and to its password where
   * that is a copy. A StartError ends the wait; any other error says that it is not ready yet.
   */
  isReady(): Promise<boolean>;
  readyTimeoutMs: number;
  /** A server that fails any of these checks for its time is killed and restarted. */
  healthChecks?: readonly { isResponding(): Promise<boolean>; timeoutMs: number }[];
  stopSignal: NodeJS.Signals;
  /** Then SIGKILL follows. */
  stopTimeoutMs: number;
}

export interface SupervisedChild {
  /** Id of the running process; undefined while it restarts. */
  pid(): number | undefined;
  /** Stops it without restart. Resolves when the process has ended. */
  stop(): Promise<void>;
}

const readyPollMs = 20;
const healthCheckMs = 2000;
const firstBackoffMs = 100;
const maxBackoffMs = 2_000;

/**
 * Starts a store's server, waits until it is ready and restarts it whenever it exits, with the same arguments and so
 * the same URL, after 0.1 s, doubling up to 2 s, without limit. Throws a StartError if it does not become ready at
 * first, a PortInUseError if another program has its port; `signal` ends the wait for that, and with it the server.
 */
export async function superviseChild(
  plan: ServerProcessPlan,
  log: Log,
  signal?: AbortSignal,
): Promise<SupervisedChild> {
  signal?.throwIfAborted();
  let current = launch(plan);
  let isStopping = false;
  let backoffMs = firstBackoffMs;
  try {
    await untilReady(plan, current, signal);
  } catch (error) {
    await endChild(plan, current);
    throw error;
  }

  const keepAlive = async () => {
    while (!isStopping) {
      const how = await waitForExit(plan, current, log);
      if (isStopping) return;
      log.warn(
        { store: plan.name, how, restartInMs: backoffMs, lastLine: current.tellingLine() },
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

/** Resolves with how the process ended. Kills it if a health check fails for too long, and bounds its log meanwhile. */
async function waitForExit(plan: ServerProcessPlan, running: RunningProcess, log: Log): Promise<string> {
  const silentSinceMs = new Map<NonNullable<ServerProcessPlan['healthChecks']>[number], number>();
  const runHealthCheck = async (check: NonNullable<ServerProcessPlan['healthChecks']>[number]): Promise<void> => {
    const checkedAtMs = performance.now();
    if (await check.isResponding().catch(() => false)) return void silentSinceMs.delete(check);
    const sinceMs = silentSinceMs.get(check) ?? checkedAtMs;
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
  timers.push(setInterval(running.shorten, healthCheckMs).unref());
  try {
    return await running.ended;
  } finally {
    for (const timer of timers) clearInterval(timer);
  }
}

/**
 * Ends the process that a killed instance left running on the directory. Called before choosing a port, so that its
 * port is free.
 */
export async function endOrphan(
  plan: Pick<ServerProcessPlan, 'name' | 'dir' | 'stopSignal' | 'stopTimeoutMs'>,
  log: Log,
): Promise<void> {
  const orphan = findOrphan(plan.dir);
  if (orphan === undefined) return;
  log.warn({ store: plan.name, pid: orphan }, 'ending the store process that a killed instance left behind');
  await endProcess(orphan, { signal: plan.stopSignal, timeoutMs: plan.stopTimeoutMs });
}

interface RunningProcess extends Omit<StoreLog, 'fd'> {
  /** Undefined if it could not be started. */
  process: ChildProcess | undefined;
  isAlive(): boolean;
  /** Resolves with how it ended: an exit code, a signal, or why it could not be run. */
  ended: Promise<string>;
}

function launch(plan: ServerProcessPlan): RunningProcess {
  plan.beforeLaunch?.();
  const { fd: logFile, ...written } = openStoreLog(plan.dir);
  // A session of its own: Ctrl-C signals the whole foreground process group, but the stores must outlive the stopping
  // service.
  const options = { cwd: plan.dir, env: plan.env, detached: true, ...plan.user };
  const [command, args] = withParentDeathSignal(plan.command, plan.args, plan.stopSignal);
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
    // Without a pid file, no later start could find the process.
    child.kill('SIGKILL');
    throw error;
  }
  return { process: child, isAlive: () => isAlive, ended, ...written };
}

function spawnWithLog(logFile: number, begin: () => ChildProcess): ChildProcess {
  try {
    return begin();
  } finally {
    closeSync(logFile);
  }
}

/**
 * Treats a failed launch, for example without file descriptors or memory, as a child that has ended, so that it is
 * retried.
 */
function tryLaunch(plan: ServerProcessPlan): RunningProcess {
  try {
    return launch(plan);
  } catch (error) {
    const reason = errorMessage(error);
    return {
      process: undefined,
      isAlive: () => false,
      ended: Promise.resolve(reason),
      tellingLine: () => reason,
      saysPortInUse: () => false,
      shorten: () => undefined,
    };
  }
}

async function untilReady(plan: ServerProcessPlan, running: RunningProcess, signal?: AbortSignal): Promise<void> {
  const deadline = performance.now() + plan.readyTimeoutMs;
  while (performance.now() < deadline) {
    signal?.throwIfAborted();
    if (!running.isAlive()) {
      const message = `${plan.name} ended at its start (${await running.ended}): ${running.tellingLine()}`;
      throw running.saysPortInUse() ? new PortInUseError(message) : new StartError(message);
    }
    if (await plan.isReady().catch(unlessRefused)) return;
    await delay(readyPollMs);
  }
  throw new StartError(`${plan.name} was not ready within ${plan.readyTimeoutMs} ms: ${running.tellingLine()}`);
}

function unlessRefused(error: unknown): false {
  if (error instanceof StartError) throw error;
  return false;
}

async function endChild(plan: ServerProcessPlan, running: RunningProcess): Promise<void> {
  const child = running.process;
  if (!running.isAlive() || child?.pid === undefined) return;
  child.kill(plan.stopSignal);
  const timer = setTimeout(() => child.kill('SIGKILL'), plan.stopTimeoutMs);
  await running.ended;
  clearTimeout(timer);
}
