import { contentVerdictOf } from '../../../ai/providers/provider-errors.ts';

/** Neighbouring items that were judged together, or one item that the provider refuses (`value` is undefined). */
export interface Judged<Value> {
  from: number;
  to: number;
  value: Value | undefined;
}

/**
 * Maximum failures before anything was judged; then the provider is at fault. Fewer for invalid replies than for
 * explicit refusals.
 */
const maxFailures = { unfit: 16, refused: 40 };

/**
 * Asks about items together. Where the provider refuses them or has no valid reply, asks about each half, down to
 * single items, so that one offending answer does not keep all others from being judged. Larger parts are asked about
 * first. Throws errors that do not concern the content, and the refusal itself after `maxFailures`, or where no item
 * could be judged and none was refused explicitly.
 */
export async function askWithBisection<Item, Value>(
  items: readonly Item[],
  ask: (items: readonly Item[], place: { from: number; to: number }) => Promise<Value>,
): Promise<Judged<Value>[]> {
  const judged: Judged<Value>[] = [];
  const parts: { from: number; to: number }[] = [{ from: 0, to: items.length }];
  let [failures, isAnyJudged] = [0, false];
  let unfit: unknown;
  // Halves are appended, so that both halves of a batch are asked about before the quarters.
  for (const { from, to } of parts) {
    try {
      const value = await ask(items.slice(from, to), { from, to });
      isAnyJudged = true;
      judged.push({ from, to, value });
    } catch (error) {
      const verdict = contentVerdictOf(error);
      failures += 1;
      if (!verdict || (!isAnyJudged && failures > maxFailures[verdict])) throw error;
      if (verdict === 'unfit') unfit = error;
      const middle = (from + to + 1) >> 1;
      if (to - from === 1) judged.push({ from, to, value: undefined });
      else parts.push({ from, to: middle }, { from: middle, to });
    }
  }
  // A provider that replies to nothing with what was asked for does not judge these answers.
  if (!isAnyJudged && unfit !== undefined) throw unfit;
  return judged.sort((one, other) => one.from - other.from);
}
