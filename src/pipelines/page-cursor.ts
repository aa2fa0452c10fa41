/** So many of what is due, those that follow `after` in some order of their own. */
type FetchPage<Item> = (after: string | undefined, most: number) => Promise<Item[]>;

interface PageCursorOptions<Item> {
  /** In a turn. */
  limit: number;
  /** An item's place in the order. */
  cursorOf(item: Item): string;
}

/** Goes round what is due, from where it last stopped: what stays due whatever is done about it keeps nothing else waiting. */
export function createPageCursor<Item>(due: FetchPage<Item>, { limit, cursorOf }: PageCursorOptions<Item>) {
  let after: string | undefined;
  return async (): Promise<Item[]> => {
    const found = await due(after, limit);
    const last = found.at(-1);
    after = found.length < limit || last === undefined ? undefined : cursorOf(last);
    return found;
  };
}
