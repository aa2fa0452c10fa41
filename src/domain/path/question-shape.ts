import { type AnswerKind, answerKindOf } from './answer-kinds.ts';
import type { PathItem, PathQuestion } from './definition.ts';
import { indexOn, pointAt, type Scale } from './scale-points.ts';

/** What is needed to read the answers to a question. */
export interface QuestionShape {
  id: string;
  kind: AnswerKind;
  options: readonly PathItem[];
  /** Rows of a MATRIX; empty for others. */
  rows: readonly PathItem[];
  optionIds: readonly string[];
  rowIds: readonly string[];
  /** Indexes of `options` and `rows` by id. */
  optionIndexes: ReadonlyMap<string, number>;
  rowIndexes: ReadonlyMap<string, number>;
  /** Point of each option on an ordered scale. */
  points: readonly number[];
  /** Several options a row of a MATRIX. */
  isMultiple: boolean;
  /** Only of kind `scale`. */
  scale: Scale | undefined;
  /** The point of the question's scale that a computed number is meant for; the number itself if there is none. */
  pointNear(value: number): number;
}

/** The shapes of a survey's questions in their designed order. */
export interface QuestionShapes {
  shapes: readonly QuestionShape[];
  /** Index by id. */
  indexOf: ReadonlyMap<string, number>;
  /** Indexes of the questions whose answers are folded. Conditions add theirs when they are compiled. */
  texts: Set<number>;
}

export function shapeOf({ id, type, options, settings }: PathQuestion): QuestionShape {
  const kind = answerKindOf(type);
  const rows = kind === 'grid' ? (settings.rows ?? []) : [];
  const scale = kind === 'scale' ? scaleOf(settings) : undefined;
  return {
    id,
    kind,
    options,
    rows,
    optionIds: options.map((option) => option.id),
    rowIds: rows.map((row) => row.id),
    optionIndexes: indexesOf(options),
    rowIndexes: indexesOf(rows),
    points: options.map(({ point }, index) => point ?? index + 1),
    isMultiple: settings['multiple'] === true,
    scale,
    pointNear: scale ? pointFinder(scale) : (value) => value,
  };
}

const indexesOf = (items: readonly PathItem[]): ReadonlyMap<string, number> =>
  new Map(items.map((item, index) => [item.id, index]));

/** The scale that a question of kind `scale` has by its settings; NPS has none. */
export function scaleOf({ min, max, step }: PathQuestion['settings']): Scale {
  return typeof min === 'number' && typeof max === 'number' && typeof step === 'number'
    ? { min, max, step }
    : { min: 0, max: 10, step: 1 };
}

function pointFinder(scale: Scale): (value: number) => number {
  const isWhole = Number.isInteger(scale.min) && Number.isInteger(scale.step);
  return (value) => {
    if (isWhole && Number.isInteger(value)) return value + 0;
    const index = indexOn(scale, value);
    return index === undefined ? value : pointAt(scale, index);
  };
}
