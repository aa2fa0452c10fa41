/** So many of what is due, those that follow `after` in some order of their own. */
type Due = (after: string | undefined, most: number) => Promise<string[]>;

/** Goes round what is due, at most so many a turn, from where it last stopped: what stays due whatever is done about it keeps nothing else waiting. */
export function createRounds(due: Due, most: number) {
  let after: string | undefined;
  return async (): Promise<string[]> => {
    const found = await due(after, most);
    after = found.length < most ? undefined : found.at(-1);
    return found;
  };
}
