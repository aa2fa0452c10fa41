/** One answer as the API takes it, without its question. */
export interface Answer {
  optionId?: string;
  rowId?: string;
  rank?: number;
  numberValue?: number;
  textValue?: string;
}

/** What a respondent has entered at a question. */
export interface Entry {
  /** Empty: not answered. */
  answers: readonly Answer[];
  /** What stands in the field, where that is no answer (yet). */
  raw?: string;
  /** The text of "other", while another option is chosen. */
  otherText?: string;
  /** Of an uploaded file. */
  file?: { name: string; size: number };
  /** Unix milliseconds at which it was entered. Entries of earlier builds have none. */
  at?: number | undefined;
}

export type Entries = Readonly<Record<string, Entry>>;

/** The entries of a draft with those that a page had left unwritten, unless a later one took their place since. */
export function withLeft(kept: Entries, left: Entries): Entries {
  const isLater = ([id, { at = Number.POSITIVE_INFINITY }]: [string, Entry]) => at >= (kept[id]?.at ?? 0);
  return { ...kept, ...Object.fromEntries(Object.entries(left).filter(isLater)) };
}

/** Whether these are the same at each question, in whatever order. */
export const areSameEntries = (one: Entries, other: Entries): boolean =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].every(
    (id) => JSON.stringify(one[id]) === JSON.stringify(other[id]),
  );

export const noEntry: Entry = { answers: [] };

/** A text that was kept, with one that was typed before that was shown; one that holds the other already is the whole. */
export function joinedText(kept: string, early: string, between: ' ' | '\n'): string {
  if (kept === '' || early.startsWith(kept)) return early;
  if (early.trim() === '') return kept;
  // Another tab may have added it as it was a moment ago: then it stands at the end.
  for (let at = kept.indexOf(between); at >= 0; at = kept.indexOf(between, at + 1)) {
    const last = kept.slice(at + 1);
    if (last !== '' && early.startsWith(last)) return kept.slice(0, at + 1) + early;
  }
  return kept + between + early;
}

/** The answers that were kept, and the others of those given before they were shown. */
export function joinedAnswers(kept: readonly Answer[], early: readonly Answer[]): Answer[] {
  const isKept = ({ optionId, rowId }: Answer) =>
    kept.some((answer) => answer.optionId === optionId && answer.rowId === rowId);
  return [...kept, ...early.filter((answer) => !isKept(answer))];
}

/** Whether there is anything in it, be it valid or not. */
export const isTouched = ({ answers, raw = '' }: Entry): boolean => answers.length > 0 || raw !== '';
