import { setImmediate as turn } from 'node:timers/promises';

/**
 * The same items in the same order, of which the next `count` are made while somebody is busy with one. A failure comes in its turn, after
 * what was made before it.
 */
export async function* prefetch<T>(items: AsyncGenerator<T, void>, count: number): AsyncGenerator<T, void> {
  const pending: Promise<IteratorResult<T, void>>[] = [];
  const requestNext = (): void => {
    // Who takes what is ready goes first.
    const next = turn().then(() => items.next());
    // It is told to who takes it, which may be nobody.
    next.catch(() => undefined);
    pending.push(next);
  };
  try {
    for (let isOver = false; !isOver; ) {
      while (pending.length <= count) requestNext();
      const next = await pending.shift();
      if (next && !next.done) yield next.value;
      else isOver = true;
    }
  } finally {
    await items.return();
  }
}
