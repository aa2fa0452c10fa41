/** At most one line in this time: what strangers cause must not fill the disk. */
const logIntervalMs = 1_000;

/**
 * From now on an error that nobody has caught is logged, and the process goes on. That is safe for a server whose requests share
 * nothing but the engine: what one request left undone concerns its own connection, and a place that it held in a lane is given back
 * by `finally`. Ending the process instead would end the requests of everybody else.
 */
export function logUncaughtErrors(log: (line: string) => void = console.error): void {
  let loggedAtMs = -Infinity;
  let unlogged = 0;
  const note = (kind: string) => (error: unknown) => {
    const nowMs = performance.now();
    if (nowMs - loggedAtMs < logIntervalMs) return void (unlogged += 1);
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
