import type { Log } from '../../log.ts';

export interface PulseOptions {
  /** Puts a question that costs the server nothing; settles, however, as soon as anybody answers. */
  ask(signal: AbortSignal): Promise<unknown>;
  /** A call that has waited so long makes the server be asked whether it is there. */
  askedAfterMs?: number;
  /** A server that answers nothing for so long is silent. */
  patienceMs?: number;
  log: Log;
}

/** The server takes connections, or swallows them, and says nothing. */
export class Silent extends Error {
  constructor() {
    super('the server answers nothing');
    this.name = 'Silent';
  }
}

/** Together with the second before it this is what a caller waits for a refusal at most. */
const usualPatienceMs = 3000;
const usualAskedAfterMs = 1000;
const probeEveryMs = 250;
/** A timer that is late by so much of its time was kept waiting by this process itself. */
const lateShare = 0.25;

/**
 * Tells a server that is busy from one that says nothing: a stopped process, a dead host behind a live address. A call may wait for a
 * busy one; all that wait for a silent one are refused together, and those that come after at once, until it answers again.
 */
export function createPulse({ ask, askedAfterMs = usualAskedAfterMs, patienceMs = usualPatienceMs, log }: PulseOptions) {
  const waiting = new Set<(error: Silent) => void>();
  let asking: Promise<boolean> | undefined;
  let probe: NodeJS.Timeout | undefined;
  let isSilent = false;
  let isStopped = false;

  const isAnswering = (): Promise<boolean> => (asking ??= answers(ask, patienceMs).finally(() => (asking = undefined)));

  const fallSilent = (): void => {
    for (const refuse of waiting) refuse(new Silent());
    if (isSilent || isStopped) return;
    isSilent = true;
    log.warn('ClickHouse answers nothing: reads are refused until it does');
    probeLater();
  };

  const probeLater = (): void => {
    probe = setTimeout(() => {
      void isAnswering().then((isThere) => {
        if (isStopped) return;
        if (!isThere) return probeLater();
        isSilent = false;
        log.info('ClickHouse answers again');
      });
    }, probeEveryMs);
    probe.unref();
  };

  return {
    /** Does the work, unless the server is silent or falls silent meanwhile: then it rejects with Silent, and the work is told to end. */
    async during<T>(work: () => Promise<T>, end: () => void = () => undefined): Promise<T> {
      if (isSilent) throw new Silent();
      let timer: NodeJS.Timeout | undefined;
      let refuse: (error: Silent) => void = () => undefined;
      const refused = new Promise<never>((_, reject) => (refuse = reject));
      waiting.add(refuse);
      const lookLater = () => {
        timer = setTimeout(() => void isAnswering().then((isThere) => (isThere ? waiting.has(refuse) && lookLater() : fallSilent())), askedAfterMs);
      };
      lookLater();
      try {
        return await Promise.race([work(), refused]);
      } catch (error) {
        if (error instanceof Silent) end();
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

export type Pulse = ReturnType<typeof createPulse>;

/** Whether an answer of any kind comes in time. Where this process stood still meanwhile, an answer may lie unread: that says nothing, so it is asked once more. */
async function answers(ask: PulseOptions['ask'], patienceMs: number): Promise<boolean> {
  for (;;) {
    const outcome = await answer(ask, patienceMs);
    if (outcome !== 'stood still') return outcome === 'came';
  }
}

async function answer(ask: PulseOptions['ask'], patienceMs: number): Promise<'came' | 'none' | 'stood still'> {
  const controller = new AbortController();
  const dueAt = performance.now() + patienceMs;
  let timer: NodeJS.Timeout | undefined;
  const nothing = new Promise<'none' | 'stood still'>((resolve) => {
    timer = setTimeout(() => {
      const isLate = performance.now() - dueAt > patienceMs * lateShare;
      // Timers come before what has arrived is read.
      setImmediate(() => {
        resolve(isLate ? 'stood still' : 'none');
        controller.abort();
      });
    }, patienceMs);
  });
  const something = ask(controller.signal).then(() => 'came' as const, () => 'came' as const);
  return Promise.race([something, nothing]).finally(() => clearTimeout(timer));
}
