import { type TypeAdapter, tally } from './adapter.ts';
import { filledCells, hasFilledCell, idOf, valueOf } from './cells.ts';

/** Items in order of preference: RANKING. Without an item it is crossed by the item ranked first, else by the item's rank. */
export const ranking: TypeAdapter = {
  itemsAre: 'options',
  crossedBy: ['question', 'item'],
  isFilled: hasFilledCell,
  problem(found, row) {
    const cells = filledCells(found, row).map(({ cell }) => cell);
    if (!cells.every((cell) => /^[1-9]\d*$/.test(cell)))
      return 'rankings with something else than whole numbers from 1';
    const ranks = cells.map(Number).sort((a, b) => a - b);
    if (new Set(ranks).size < ranks.length) return 'rankings that give a rank twice';
    return ranks.every((rank, index) => rank === index + 1) ? undefined : 'rankings with a gap between the ranks';
  },
  answers: (question, row) =>
    filledCells(question.found, row).map(({ text, cell }) => ({
      optionId: idOf(question.options, text),
      rank: Number(cell),
    })),
  count(question, rows, { distribution }) {
    const ranksOf = (item: string) =>
      rows.flatMap((row) =>
        filledCells(question.found, row)
          .filter(({ text }) => text === item)
          .map(({ cell }) => cell),
      );
    return {
      inFile: Object.fromEntries(
        question.found.items.map(({ text }) => [valueOf(question, text), tally(ranksOf(text))]),
      ),
      inService: distribution,
    };
  },
  categories(question, row, item) {
    const cells = filledCells(question.found, row);
    if (item !== undefined) return cells.filter(({ text }) => text === item).map(({ cell }) => cell);
    return cells.filter(({ cell }) => Number(cell) === 1).map(({ text }) => valueOf(question, text));
  },
};
