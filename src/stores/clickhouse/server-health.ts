import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log.ts';

export interface ServerHealthOptions {
  /** Sends a request without cost for the server; settles, with success or failure, on any answer. */
  ping(signal: AbortSignal): Promise<unknown>;
  /** After a call has waited this long, the server is probed. */
  pingAfterMs?: number;
  /** A server without an answer for this long is silent. */
  unresponsiveAfterMs?: number;
  log: Log;
}

/** The server accepts or drops connections without answering. */
export class ServerUnresponsive extends Error {
  constructor() {
    super('the server does not respond');
    this.name = 'ServerUnresponsive';
  }
}

/** Together with the second before the probe, the longest wait for a refusal. */
const defaultUnresponsiveAfterMs = 3000;
const defaultPingAfterMs = 1000;
const probeEveryMs = 250;
const partsOfTimeout = 12;

/**
 * Distinguishes a busy server from a silent one, such as a stopped process or a dead host behind a live address. Calls
 * may wait for a busy server; all calls to a silent one are refused, further ones at once, until it answers again.
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
    /** Runs the work. If the server is or becomes silent, rejects with ServerUnresponsive and aborts the work. */
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

/**
 * Whether any answer comes in time. The time is counted in parts, each by a timer of its own: however long this process
 * or the whole machine was held up, that is one part, and answers that came meanwhile are read in the next.
 */
async function respondsInTime(ping: ServerHealthOptions['ping'], timeoutMs: number): Promise<boolean> {
  const ended = new AbortController();
  const reply = ping(ended.signal).then(
    () => true,
    () => true,
  );
  const timeout = async (): Promise<boolean> => {
    for (let part = 0; part < partsOfTimeout && !ended.signal.aborted; part++) await delay(timeoutMs / partsOfTimeout);
    return false;
  };
  return Promise.race([reply, timeout()]).finally(() => ended.abort());
}
