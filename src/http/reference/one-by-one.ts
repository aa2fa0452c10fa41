import { setImmediate as afterOthers } from 'node:timers/promises';

/** Makes something of each item; calls that have arrived are served in between. */
export async function oneByOne<Item, Made>(
  items: readonly Item[],
  make: (item: Item) => Made,
): Promise<Map<Item, Made>> {
  const made = new Map<Item, Made>();
  for (const item of items) {
    made.set(item, make(item));
    await afterOthers();
  }
  return made;
}
