import type { Log } from '../../log.ts';
import type { ErasureLog } from '../../stores/redis/append-only-file.ts';

export interface RewriteErasureLogDeps {
  erasureLog: Pick<ErasureLog, 'state' | 'awaitRewrite' | 'isInStreams' | 'rewrite'>;
  now(): number;
  log: Log;
  /** Aborted when the service stops: another process rewrites again. */
  stopping?: AbortSignal;
  /** Time between an erasure and its rewrite, for what is removed after the row itself; short in tests. */
  settleMs?: number;
  /** Minimum time between two rewrites; short in tests. */
  intervalMs?: number;
}

const minuteMs = 60_000;
const defaultSettleMs = 2 * minuteMs;
/** A rewrite costs a fork and writing the memory in use. */
const defaultIntervalMs = 15 * minuteMs;
const rewriteTimeoutMs = 5 * minuteMs;

/**
 * Rewrites Redis' append-only files after erasures, so that no erased answer stays on disk in clear text. A rewrite
 * covers what was erased before it began to wait; it waits until these rows have left the streams, which keep stored
 * entries for ten minutes, or a day where ClickHouse cannot be checked. At most one rewrite in 15 minutes, so an erasure
 * is usually covered within 45.
 */
export function createRewriteErasureLog(deps: RewriteErasureLogDeps) {
  const { erasureLog, now, log, stopping, settleMs = defaultSettleMs, intervalMs = defaultIntervalMs } = deps;
  /** Counts a clock that was set back as if the time had passed. */
  const hasPassed = (sinceMs: number, ms: number): boolean => now() < sinceMs || now() - sinceMs >= ms;

  return async (): Promise<void> => {
    const { erasures, covered, waiting, rewrittenAtMs } = await erasureLog.state();
    if (!waiting) {
      if (erasures !== covered) await erasureLog.awaitRewrite(erasures, now());
      return;
    }
    if (!hasPassed(waiting.sinceMs, settleMs) || !hasPassed(rewrittenAtMs, intervalMs)) return;
    if (await erasureLog.isInStreams(waiting.positions)) return;
    const logFailure = (error?: unknown) =>
      log.warn(
        { err: error },
        'the append-only file could not be rewritten after an erasure: erased answers stay in it for now',
      );
    await erasureLog
      .rewrite(now(), rewriteTimeoutMs, stopping)
      .then((isDone) => isDone || stopping?.aborted || logFailure(), logFailure);
  };
}
