import { closeSync, openSync } from 'node:fs';

export interface DescriptorWatch {
  stop(): void;
}

export interface DescriptorWatchOptions {
  /** Hardly any file descriptor is left: no more connections may be taken. */
  onExhausted(): void;
  /** There is room again. Gives whether that could be made use of; if not, it is told again. */
  onAvailable(): Promise<boolean>;
  /** Opens something small and gives its descriptor; throws when there is none left. */
  open?(): number;
  everyMs?: number;
}

/** Kept open so that it can be given back: for stores that must be connected to again, files, and the log. */
const reserveSize = 32;
/** Fewer than these left means tight. */
const minFree = 16;

/**
 * Watches how many file descriptors are left. A server that has none cannot take a connection, and is told about the waiting one again
 * and again: all its time goes there, and nothing else can open a file or a connection either. So some are held in reserve.
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

/** So many descriptors at once; undefined, and none of them kept, when there are not so many. */
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
