/** Pairs answers that come as messages with the questions they belong to. */
export function createPendingRequests<T>(timeoutMs: number) {
  const waiting = new Map<number, (answer: T | undefined) => void>();
  let last = 0;
  return {
    /** Puts the question; undefined when no answer comes in time. */
    request(send: (requestId: number) => void): Promise<T | undefined> {
      const requestId = (last += 1);
      return new Promise((resolve) => {
        const settle = (answer: T | undefined) => {
          clearTimeout(timer);
          waiting.delete(requestId);
          resolve(answer);
        };
        const timer = setTimeout(() => settle(undefined), timeoutMs);
        waiting.set(requestId, settle);
        send(requestId);
      });
    },
    resolve: (requestId: number, answer: T): void => waiting.get(requestId)?.(answer),
  };
}
