/** Leave to be out, of which there is a number. */
export interface CallSlot {
  /** Resolves when there is leave, at once where it was given before; rejects where all is to end. */
  begin(): Promise<void>;
  /** Gives it back, or gives up waiting for others: to be called once, however it went. */
  end(): void;
}

/** Gives turns, of which `atOnce` are had at a time, first come, first served. Once the signal is aborted none begins. */
export function createCallSlots(atOnce: number, signal: AbortSignal): () => CallSlot {
  let out = 0;
  const waiting: (() => void)[] = [];
  return () => {
    let isOut = false;
    return {
      async begin() {
        if (isOut) return;
        while (out >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
        signal.throwIfAborted();
        [out, isOut] = [out + 1, true];
      },
      end() {
        if (isOut) [out, isOut] = [out - 1, false];
        waiting.shift()?.();
      },
    };
  };
}
