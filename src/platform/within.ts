/** The result of `work`, or `late` if it takes longer than `ms`. */
export function within<T, Late>(ms: number, work: Promise<T>, late: Late): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<Late>((resolve) => (timer = setTimeout(resolve, ms, late)));
  return Promise.race([work, over]).finally(() => clearTimeout(timer));
}
