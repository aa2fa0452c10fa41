/** Pairs answers that come as messages with the questions they belong to. */
export function createAnswers<T>(patienceMs: number) {
  const waiting = new Map<number, (answer: T | undefined) => void>();
  let last = 0;
  return {
    /** Puts the question; undefined when no answer comes in time. */
    ask(put: (ask: number) => void): Promise<T | undefined> {
      const ask = (last += 1);
      return new Promise((resolve) => {
        const settle = (answer: T | undefined) => {
          clearTimeout(timer);
          waiting.delete(ask);
          resolve(answer);
        };
        const timer = setTimeout(() => settle(undefined), patienceMs);
        waiting.set(ask, settle);
        put(ask);
      });
    },
    came: (ask: number, answer: T): void => waiting.get(ask)?.(answer),
  };
}
