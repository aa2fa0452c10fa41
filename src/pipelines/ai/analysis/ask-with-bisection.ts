import { contentVerdictOf } from '../../../ai/providers/provider-errors.ts';

/** Neighbouring items that were judged together, or one that cannot be judged. */
export interface Judged<Value> {
  from: number;
  to: number;
  value: Value | undefined;
}

/** Asks in vain before anything was judged, after which it is the provider that is at fault: sooner where it talks nonsense than where it refuses outright. */
const maxFailedAsks = { unfit: 16, refused: 40 };

/**
 * Asks about items together; where the provider refuses them, or has no fitting reply, about each half by itself, down to single items: one
 * answer that it will not look at must not keep all others from being judged. Largest parts come first. Throws what is no matter of content,
 * and refusals of one after the other without end, or of a batch of which nothing can be judged where none was told outright.
 */
export async function askWithBisection<Item, Value>(
  items: readonly Item[],
  ask: (items: readonly Item[], place: { from: number; to: number }) => Promise<Value>,
): Promise<Judged<Value>[]> {
  const judged: Judged<Value>[] = [];
  const parts: { from: number; to: number }[] = [{ from: 0, to: items.length }];
  let [refusals, isAnyJudged] = [0, false];
  let unfit: unknown;
  // Part by part, the halves of each behind all others: both ends of a batch are heard before the middle of one half is searched.
  for (const { from, to } of parts) {
    try {
      const value = await ask(items.slice(from, to), { from, to });
      isAnyJudged = true;
      judged.push({ from, to, value });
    } catch (error) {
      const verdict = contentVerdictOf(error);
      refusals += 1;
      if (!verdict || (!isAnyJudged && refusals > maxFailedAsks[verdict])) throw error;
      if (verdict === 'unfit') unfit = error;
      const middle = (from + to + 1) >> 1;
      if (to - from === 1) judged.push({ from, to, value: undefined });
      else parts.push({ from, to: middle }, { from: middle, to });
    }
  }
  // A provider that replies anything at all to everything says nothing of these answers.
  if (!isAnyJudged && unfit !== undefined) throw unfit;
  return judged.sort((one, other) => one.from - other.from);
}
