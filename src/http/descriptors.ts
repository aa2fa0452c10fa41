import { closeSync, openSync } from 'node:fs';

export interface DescriptorWatch {
  stop(): void;
}

export interface DescriptorWatchOptions {
  /** Hardly any file descriptor is left: no more connections may be taken. */
  onTight(): void;
  /** There is room again. Gives whether that could be made use of; if not, it is told again. */
  onRoom(): Promise<boolean>;
  /** Opens something small and gives its descriptor; throws when there is none left. */
  open?(): number;
  everyMs?: number;
}

/** Kept open so that it can be given back: for stores that must be connected to again, files, and the log. */
const reserve = 32;
/** Fewer than these left means tight. */
const margin = 16;

/**
 * Watches how many file descriptors are left. A server that has none cannot take a connection, and is told about the waiting one again
 * and again: all its time goes there, and nothing else can open a file or a connection either. So some are held in reserve.
 */
export function watchDescriptors({ onTight, onRoom, open = () => openSync('/dev/null', 'r'), everyMs = 100 }: DescriptorWatchOptions): DescriptorWatch {
  let held = take(open, reserve) ?? [];
  let isTight = false;
  let isBusy = false;

  const release = (): void => {
    for (const descriptor of held) closeSync(descriptor);
    held = [];
  };

  const look = async (): Promise<void> => {
    const needed = isTight ? reserve + 2 * margin : margin;
    const found = take(open, needed);
    if (found === undefined) {
      if (isTight) return;
      isTight = true;
      release();
      return onTight();
    }
    if (isTight) held = found.splice(0, reserve);
    for (const descriptor of found) closeSync(descriptor);
    if (!isTight) return;
    isTight = !(await onRoom());
    if (isTight) release();
  };

  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void look().finally(() => (isBusy = false));
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
function take(open: () => number, count: number): number[] | undefined {
  const taken: number[] = [];
  try {
    while (taken.length < count) taken.push(open());
    return taken;
  } catch (error) {
    if (!isLack(error)) return taken;
    for (const descriptor of taken) closeSync(descriptor);
    return undefined;
  }
}

const isLack = (error: unknown): boolean => error instanceof Error && 'code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE');
