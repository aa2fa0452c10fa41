import { z } from 'zod';
import { maxIssuesShown } from '../errors.ts';

/**
 * A list with at most `maxItems` items. Its length is checked before any item, and what lies behind as many bad items as
 * a refusal shows is not looked at, since issues of the thousands that fit a body would hold the event loop.
 */
export function boundedArray<Item extends z.ZodType>(item: Item, maxItems: number) {
  return z
    .preprocess((given, context) => {
      if (!Array.isArray(given)) return given;
      const items: readonly unknown[] = given;
      if (items.length <= maxItems) return upToShownFaults(item, items);
      context.addIssue({ code: 'custom', message: `must have at most ${maxItems} items` });
      return z.NEVER;
    }, z.array(item))
    .meta({ maxItems });
}

function upToShownFaults(item: z.ZodType, items: readonly unknown[]): readonly unknown[] {
  let faults = 0;
  for (const [at, value] of items.entries()) {
    if (!item.safeParse(value).success) faults += 1;
    if (faults === maxIssuesShown) return items.slice(0, at + 1);
  }
  return items;
}
