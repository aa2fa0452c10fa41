import type { Log } from '../../log.ts';

export interface ServerHealthOptions {
  /** Puts a question that costs the server nothing; settles, however, as soon as anybody answers. */
  ping(signal: AbortSignal): Promise<unknown>;
  /** A call that has waited so long makes the server be asked whether it is there. */
  pingAfterMs?: number;
  /** A server that answers nothing for so long is silent. */
  unresponsiveAfterMs?: number;
  log: Log;
}

/** The server takes connections, or swallows them, and says nothing. */
export class ServerUnresponsive extends Error {
  constructor() {
    super('the server does not respond');
    this.name = 'ServerUnresponsive';
  }
}

/** Together with the second before it this is what a caller waits for a refusal at most. */
const defaultUnresponsiveAfterMs = 3000;
const defaultPingAfterMs = 1000;
const probeEveryMs = 250;
/** A timer that is late by so much of its time was kept waiting by this process itself. */
const lateShare = 0.25;

/**
 * Tells a server that is busy from one that says nothing: a stopped process, a dead host behind a live address. A call
 * may wait for a busy one; all that wait for a silent one are refused together, and those that come after at once,
 * until it answers again.
 */
export function createServerHealth({
  ping,
  pingAfterMs = defaultPingAfterMs,
  unresponsiveAfterMs = defaultUnresponsiveAfterMs,
  log,
}: ServerHealthOptions) {
  const waiting = new Set<(error: ServerUnresponsive) => void>();
  let pinging: Promise<boolean> | undefined;
  let probe: NodeJS.Timeout | undefined;
  let isUnresponsive = false;
  let isStopped = false;

  const isResponding = (): Promise<boolean> =>
    (pinging ??= respondsInTime(ping, unresponsiveAfterMs).finally(() => (pinging = undefined)));

  const markUnresponsive = (): void => {
    for (const refuse of waiting) refuse(new ServerUnresponsive());
    if (isUnresponsive || isStopped) return;
    isUnresponsive = true;
    log.warn('ClickHouse does not respond: reads are refused until it does');
    probeLater();
  };

  const probeLater = (): void => {
    probe = setTimeout(() => {
      void isResponding().then((isThere) => {
        if (isStopped) return;
        if (!isThere) return probeLater();
        isUnresponsive = false;
        log.info('ClickHouse responds again');
      });
    }, probeEveryMs);
    probe.unref();
  };

  return {
    /**
     * Does the work, unless the server is silent or falls silent meanwhile: then it rejects with Silent, and the work
     * is told to end.
     */
    async runWhileResponsive<T>(work: () => Promise<T>, end: () => void = () => undefined): Promise<T> {
      if (isUnresponsive) throw new ServerUnresponsive();
      let timer: NodeJS.Timeout | undefined;
      let refuse: (error: ServerUnresponsive) => void = () => undefined;
      const refused = new Promise<never>((_, reject) => (refuse = reject));
      waiting.add(refuse);
      const lookLater = () => {
        timer = setTimeout(
          () =>
            void isResponding().then((isThere) => (isThere ? waiting.has(refuse) && lookLater() : markUnresponsive())),
          pingAfterMs,
        );
      };
      lookLater();
      try {
        return await Promise.race([work(), refused]);
      } catch (error) {
        if (error instanceof ServerUnresponsive) end();
        throw error;
      } finally {
        waiting.delete(refuse);
        clearTimeout(timer);
      }
    },
    stop(): void {
      isStopped = true;
      clearTimeout(probe);
    },
  };
}

export type ServerHealth = ReturnType<typeof createServerHealth>;

/**
 * Whether an answer of any kind comes in time. Where this process stood still meanwhile, an answer may lie unread: that
 * says nothing, so it is asked once more.
 */
async function respondsInTime(ping: ServerHealthOptions['ping'], timeoutMs: number): Promise<boolean> {
  for (;;) {
    const outcome = await pingOnce(ping, timeoutMs);
    if (outcome !== 'stood still') return outcome === 'came';
  }
}

async function pingOnce(
  ping: ServerHealthOptions['ping'],
  timeoutMs: number,
): Promise<'came' | 'none' | 'stood still'> {
  const controller = new AbortController();
  const dueAt = performance.now() + timeoutMs;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'none' | 'stood still'>((resolve) => {
    timer = setTimeout(() => {
      const isLate = performance.now() - dueAt > timeoutMs * lateShare;
      // Timers come before what has arrived is read.
      setImmediate(() => {
        resolve(isLate ? 'stood still' : 'none');
        controller.abort();
      });
    }, timeoutMs);
  });
  const reply = ping(controller.signal).then(
    () => 'came' as const,
    () => 'came' as const,
  );
  return Promise.race([reply, timeout]).finally(() => clearTimeout(timer));
}
