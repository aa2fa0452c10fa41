const maxLines = 10;

/** Tells how far it is: in place on a terminal, else a line for every tenth. */
export function createProgressPrinter(output: { isTTY?: boolean; write(text: string): unknown }) {
  let pausedUntil = 0;
  const isLive = output.isTTY === true;
  return {
    count(done: number, total: number): void {
      if (isLive && (done % 25 === 0 || done === total))
        output.write(`\r${done} of ${total} rows${done === total ? '\n' : ''}`);
      const step = Math.ceil(total / maxLines);
      if (!isLive && (done % step === 0 || done === total)) output.write(`${done} of ${total} rows\n`);
    },
    /** Said once, although many calls wait at the same time. */
    pause(seconds: number, why: string): void {
      const now = Date.now();
      if (now >= pausedUntil) output.write(`${isLive ? '\r' : ''}waiting ${seconds} s: ${why}\n`);
      pausedUntil = Math.max(pausedUntil, now + seconds * 1000);
    },
  };
}
