import { verdictOn } from '../../../ai/failures.ts';

/** Neighbouring items that were judged together, or one that cannot be judged. */
export interface Judged<Value> {
  from: number;
  to: number;
  value: Value | undefined;
}

/** Refusals before anything was judged, after which it is the provider that is at fault: a single bad answer among a hundred costs eight. */
const mostInVain = 12;

/**
 * Asks about items together; where the provider refuses them, or has no fitting reply, about each half by itself, down to single items: one
 * answer that it will not look at must not keep all others from being judged. Throws what is no matter of content, and refusals where
 * nothing can be judged and there is no end of them, or where none was told outright.
 */
export async function judge<Item, Value>(items: readonly Item[], ask: (items: readonly Item[]) => Promise<Value>): Promise<Judged<Value>[]> {
  const judged: Judged<Value>[] = [];
  let [refusals, isAnyJudged] = [0, false];
  let unfit: unknown;
  const askAbout = async (from: number, to: number): Promise<void> => {
    try {
      const value = await ask(items.slice(from, to));
      isAnyJudged = true;
      judged.push({ from, to, value });
      return;
    } catch (error) {
      const verdict = verdictOn(error);
      refusals += 1;
      if (!verdict || (!isAnyJudged && refusals > mostInVain)) throw error;
      if (verdict === 'unfit') unfit = error;
    }
    if (to - from === 1) return void judged.push({ from, to, value: undefined });
    const middle = (from + to) >> 1;
    await askAbout(from, middle);
    await askAbout(middle, to);
  };
  await askAbout(0, items.length);
  // A provider that replies anything at all to everything says nothing of these answers.
  if (!isAnyJudged && unfit !== undefined) throw unfit;
  return judged;
}
