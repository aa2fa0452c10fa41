/** So many of what is due, those that follow `after` in some order of their own. */
type FetchPage<Item> = (after: string | undefined, most: number) => Promise<Item[]>;

interface PageCursorOptions<Item> {
  /** In a turn. */
  limit: number;
  /** An item's place in the order. */
  cursorOf(item: Item): string;
}

/** Goes round what is due, from where it last stopped: what stays due whatever is done about it keeps nothing else waiting. */
export function createPageCursor<Item>(due: FetchPage<Item>, { limit: most, cursorOf: placeOf }: PageCursorOptions<Item>) {
  let after: string | undefined;
  return async (): Promise<Item[]> => {
    const found = await due(after, most);
    const last = found.at(-1);
    after = found.length < most || last === undefined ? undefined : placeOf(last);
    return found;
  };
}
