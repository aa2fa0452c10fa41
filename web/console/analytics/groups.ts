import type { QuestionStatistic } from '../data/analytics.ts';
import type { Question } from '../data/questions.ts';
import { type Block, blocksOf, type Figure } from './figures.ts';
import { keyListOf } from './key-list.ts';

/** A group of responses with its statistic of a question. */
export interface Group {
  key: string;
  label: string;
  statistic: QuestionStatistic;
}

/** A block of every group; `rows` have one figure a group, undefined where the group has none. */
export interface GroupedBlock extends Omit<Block, 'figures' | 'base'> {
  bases: (number | undefined)[];
  rows: { key: string; label: string; figures: (Figure | undefined)[] }[];
}

/** Lays the figures of groups beside one another. */
export function groupedBlocks(question: Question, groups: readonly Group[]): GroupedBlock[] {
  const list = keyListOf(
    question,
    groups.map(({ statistic }) => statistic),
  );
  const blocks = groups.map(
    ({ statistic }) => new Map(blocksOf(question, statistic, list).map((block) => [block.key, block])),
  );
  const found = new Map(blocks.flatMap((ofGroup) => [...ofGroup]));
  return [...found.values()].map(({ figures: _figures, base: _base, ...block }) => {
    const beside = blocks.map((ofGroup) => ofGroup.get(block.key));
    const labels = new Map(beside.flatMap((one) => one?.figures.map(({ key, label }) => [key, label] as const) ?? []));
    const byKey = beside.map((one) => new Map(one?.figures.map((figure) => [figure.key, figure])));
    return {
      ...block,
      bases: beside.map((one) => one?.base),
      rows: [...labels].map(([key, label]) => ({ key, label, figures: byKey.map((figures) => figures.get(key)) })),
    };
  });
}
