/** At most one log line in this time, so that requests cannot fill the disk. */
const logIntervalMs = 1_000;

/**
 * Logs uncaught errors instead of ending the process, which would end all other requests. This is safe, because
 * requests share only the engine: an error concerns its own connection, and `finally` releases its slot of a queue.
 */
export function logUncaughtErrors(log: (line: string) => void = console.error): void {
  let loggedAtMs = -Infinity;
  let unlogged = 0;
  const note = (kind: string) => (error: unknown) => {
    const nowMs = performance.now();
    if (nowMs - loggedAtMs < logIntervalMs) {
      unlogged += 1;
      return;
    }
    loggedAtMs = nowMs;
    const others = unlogged === 0 ? '' : ` (and ${unlogged} others before it)`;
    unlogged = 0;
    log(
      `${new Date().toISOString()} error: ${kind}${others}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  };
  process.on('uncaughtException', note('uncaught exception'));
  process.on('unhandledRejection', note('unhandled rejection'));
}
