import type { DetectedQuestion, ReplayedType } from './recognise.ts';
import type { ServiceQuestion } from './replies.ts';
import type { ImportedQuestion, Named } from './types/adapter.ts';
import { typeAdapters } from './types/adapters.ts';

/** A question as the API takes it. */
export interface QuestionBody {
  type: ReplayedType;
  text: string;
  options?: { text: string }[];
  settings?: { rows?: { text: string }[]; min?: number; max?: number };
}

export function questionBody(found: DetectedQuestion): QuestionBody {
  const { options, rows } = textsOf(found);
  const settings = { ...(rows.length > 0 && { rows: rows.map(withText) }), ...found.scale };
  return {
    type: found.type,
    text: found.text,
    ...(options.length > 0 && { options: options.map(withText) }),
    ...(Object.keys(settings).length > 0 && { settings }),
  };
}

const withText = (text: string) => ({ text });

/**
 * Texts of options and rows: the columns of CHECKBOXES (unless split) and RANKING are options, those of MATRIX are
 * rows.
 */
export function textsOf({ type, items, options, split }: DetectedQuestion): {
  options: readonly string[];
  rows: readonly string[];
} {
  const { itemsAre } = typeAdapters[type];
  const texts = items.map(({ text }) => text);
  return {
    options: itemsAre === 'options' && split === undefined ? texts : options,
    rows: itemsAre === 'rows' ? texts : [],
  };
}

/** A question of the file with the ids that the service gave it. */
export function withNames(found: DetectedQuestion, { id, options, settings }: ServiceQuestion): ImportedQuestion {
  return { found, id, options: byText(options), rows: byText(settings.rows) };
}

const byText = (items: readonly (Named & { text: string })[]): Map<string, Named> =>
  new Map(items.map(({ text, id, value }) => [text, { id, value }]));
