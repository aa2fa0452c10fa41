/** The most items that a page of the API holds. */
export const mostInPage = 100;

/** The calls that reading all of so many items takes. */
export const callsForAll = (items: number): number => Math.max(1, Math.ceil(items / mostInPage));

/** All items of a list of the API, whose pages are read one after the other. */
export async function allOf<Item>(
  readPage: (query: { page: number; limit: number }) => Promise<{ items: Item[]; total: number }>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let page = 1; ; page += 1) {
    const { items, total } = await readPage({ page, limit: mostInPage });
    all.push(...items);
    if (all.length >= total || items.length === 0) return all;
  }
}
