/** So many of what is due, those that follow `after` in some order of their own. */
type Due<Item> = (after: string | undefined, most: number) => Promise<Item[]>;

interface RoundsRules<Item> {
  /** In a turn. */
  most: number;
  /** An item's place in the order. */
  placeOf(item: Item): string;
}

/** Goes round what is due, from where it last stopped: what stays due whatever is done about it keeps nothing else waiting. */
export function createRounds<Item>(due: Due<Item>, { most, placeOf }: RoundsRules<Item>) {
  let after: string | undefined;
  return async (): Promise<Item[]> => {
    const found = await due(after, most);
    const last = found.at(-1);
    after = found.length < most || last === undefined ? undefined : placeOf(last);
    return found;
  };
}
