import { cutText } from '../../platform/cut-text.ts';
import type { PathAnswer } from './answers.ts';
import { keyReader } from './conditions.ts';
import type { PathItem } from './definition.ts';
import { type Placeholder, partsOf } from './placeholders.ts';
import type { QuestionShape } from './question-shape.ts';
import type { CompiledPaths, Walk } from './walk.ts';

export interface PipingOptions {
  /** Language tag of the texts; decides how several labels are joined. */
  language: string;
  /** Wordings of options and rows by id; default: those of the definition. */
  texts?: ReadonlyMap<string, string> | undefined;
}

/** UTF-16 units that placeholders may insert into all texts together; beyond it they show their fallbacks. */
const maxInsertedLength = 256 * 1024;
/** The same of one answer: labels may have placeholders, whose texts would multiply. */
const maxAnswerLength = 10_000;

/**
 * Renders the placeholders of texts for one respondent, as plain text: what is inserted is not read again, and it must
 * be shown as text, never as markup. Without an answer or value the fallback is shown. `times`: how often the text is
 * shown.
 */
export function createPiping(
  { shapes, indexOf }: CompiledPaths,
  walk: Walk,
  { language, texts }: PipingOptions,
): (text: string, times?: number) => string {
  const join = createJoin(language);
  const written = createNumberText(language);
  const answerTexts = new Map<string, string | undefined>();
  const room = { left: maxInsertedLength };

  function render(text: string, before: number, within: { left: number }, times = 1): string {
    return partsOf(text)
      .map((part) => {
        if (typeof part === 'string') return part;
        const content = within.left > 0 ? contentOf(part, before) : undefined;
        within.left -= times * (content?.length ?? 0);
        return content ?? part.fallback;
      })
      .join('');
  }

  function contentOf(placeholder: Placeholder, before: number): string | undefined {
    if ('metadata' in placeholder || 'invitation' in placeholder) return keyReader(placeholder)(walk);
    if (!('questionId' in placeholder)) return undefined;
    const index = indexOf.get(placeholder.questionId) ?? Number.POSITIVE_INFINITY;
    // Labels name earlier questions only, which ends the recursion.
    if (index >= before) return undefined;
    const key = `${index}/${placeholder.rowId ?? ''}`;
    if (!answerTexts.has(key)) answerTexts.set(key, answerText(index, placeholder.rowId));
    return answerTexts.get(key);
  }

  function answerText(index: number, rowId: string | undefined): string | undefined {
    const answer = walk.answer(index);
    if (!answer) return undefined;
    const shape = shapes[index] as QuestionShape;
    const options = rowId === undefined ? answer.options : (answer.rows[shape.rowIndexes.get(rowId) ?? -1] ?? []);
    const within = { left: maxAnswerLength };
    const labels = options.map((option) => render(labelOf(shape.options[option]), index, within));
    const text = labels.length > 0 ? join(labels) : plainTextOf(shape, answer, written);
    return text === '' ? undefined : cutText(text, maxAnswerLength);
  }

  const labelOf = (item: PathItem | undefined): string => (item && (texts?.get(item.id) ?? item.text)) ?? '';

  return (text, times) => render(text, Number.POSITIVE_INFINITY, room, times);
}

function plainTextOf(
  { kind }: QuestionShape,
  { text, number }: PathAnswer,
  written: (number: number) => string,
): string {
  if (kind === 'file') return '';
  // Seconds are always there, and rarely meant.
  if (kind === 'time') return text.replace(/:00$/, '');
  return Number.isNaN(number) ? text : written(number);
}

/**
 * Writes numbers with all their digits and the decimal sign of the language, or plainly where nothing is known about
 * it. Thousands are not grouped: the number may be a year, and 1.234 is another number in another language.
 */
function createNumberText(language: string): (number: number) => string {
  let format: Intl.NumberFormat | undefined;
  return (number) => {
    try {
      format ??= new Intl.NumberFormat(language, { maximumFractionDigits: 20, useGrouping: false });
    } catch {
      return String(number);
    }
    return format.format(number);
  };
}

/** Joins labels as the language does ("A, B and C"), or by commas where nothing is known about it. */
function createJoin(language: string): (labels: readonly string[]) => string {
  let format: Intl.ListFormat | undefined;
  return (labels) => {
    try {
      format ??= new Intl.ListFormat(language, { type: 'conjunction' });
    } catch {
      return labels.join(', ');
    }
    return format.format(labels);
  };
}
