import { closeSync, openSync } from 'node:fs';

export interface DescriptorWatch {
  stop(): void;
}

export interface DescriptorWatchOptions {
  /** Hardly any file descriptor is left: the server must take no more connections. */
  onExhausted(): void;
  /** There is room again. Returns whether the server listens again; if not, it is called again. */
  onAvailable(): Promise<boolean>;
  /** Opens a file and returns its descriptor; throws if none is left. */
  open?(): number;
  everyMs?: number;
}

/** Descriptors in reserve, released for reconnects to stores, files and the log. */
const reserveSize = 32;
/** Below this many free descriptors the server stops accepting. */
const minFree = 16;

/**
 * Watches how many file descriptors are left. A server without any cannot accept a waiting connection but is notified
 * of it again and again, which takes all its time, and nothing else can open a file or connection. So some descriptors
 * are held in reserve.
 */
export function watchDescriptors({
  onExhausted,
  onAvailable,
  open = () => openSync('/dev/null', 'r'),
  everyMs = 100,
}: DescriptorWatchOptions): DescriptorWatch {
  let reserved = openMany(open, reserveSize) ?? [];
  let isExhausted = false;
  let isBusy = false;

  const release = (): void => {
    for (const descriptor of reserved) closeSync(descriptor);
    reserved = [];
  };

  const checkFree = async (): Promise<void> => {
    const needed = isExhausted ? reserveSize + 2 * minFree : minFree;
    const found = openMany(open, needed);
    if (found === undefined) {
      if (isExhausted) return;
      isExhausted = true;
      release();
      return onExhausted();
    }
    if (isExhausted) reserved = found.splice(0, reserveSize);
    for (const descriptor of found) closeSync(descriptor);
    if (!isExhausted) return;
    isExhausted = !(await onAvailable());
    if (isExhausted) release();
  };

  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void checkFree().finally(() => (isBusy = false));
  }, everyMs);
  timer.unref();
  return {
    stop(): void {
      clearInterval(timer);
      release();
    },
  };
}

/** Opens this many descriptors; undefined, with none left open, if there are not so many. */
function openMany(open: () => number, count: number): number[] | undefined {
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(open());
    return opened;
  } catch (error) {
    if (!isOutOfDescriptors(error)) return opened;
    for (const descriptor of opened) closeSync(descriptor);
    return undefined;
  }
}

const isOutOfDescriptors = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
