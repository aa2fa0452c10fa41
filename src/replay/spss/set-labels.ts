import { commonStart } from '../table.ts';

interface SetLabels {
  question: string;
  /** The option of each variable. */
  options: readonly string[];
}

/** Stands at the end of a label, and before the option in that of a variable, for what had no room. */
const cutMark = '…';

/**
 * Splits the labels of a set's variables, as `question [option]`, by the label of the set. That has less room than
 * theirs: where it is cut, they tell the question. A label of another form is the option.
 */
export function splitLabels(setLabel: string, labels: readonly string[]): SetLabels {
  const start = `${setLabel} [`;
  const isSplit = (label: string): boolean => label.startsWith(start) && label.endsWith(']');
  const cut = setLabel.endsWith(cutMark) && !labels.some(isSplit) ? splitCut(setLabel.slice(0, -1), labels) : undefined;
  return (
    cut ?? {
      question: setLabel,
      options: labels.map((label) => (isSplit(label) ? label.slice(start.length, -1) : label)),
    }
  );
}

/** The same where only the start of the question is known; undefined if the labels are of another form. */
function splitCut(start: string, labels: readonly string[]): SetLabels | undefined {
  if (!labels.every((label) => label.startsWith(start) && label.endsWith(']'))) return undefined;
  // The label of a variable is cut as well if its question and option are long together, each at a place of its own.
  const cutEnd = (label: string): number => label.indexOf(`${cutMark} [`, start.length) + 1;
  const whole = labels.filter((label) => cutEnd(label) === 0);
  const wholeEnd = whole.length === 0 ? 0 : questionEnd(whole, start.length);
  if (wholeEnd === undefined) return undefined;
  const pieces = labels.map((label) => {
    const end = cutEnd(label) || wholeEnd;
    return { question: label.slice(0, end), option: label.slice(end + 2, -1) };
  });
  const longest = pieces.reduce((one, other) => (other.question.length > one.question.length ? other : one));
  return {
    question: whole[0]?.slice(0, wholeEnd) ?? longest.question,
    options: pieces.map(({ option }) => option),
  };
}

/**
 * Where the question ends that labels have in common, at `from` or later; undefined if they have none in common.
 * Question and options may have brackets of their own, and options may begin alike: the question ends before the first
 * bracket that is closed at the end of each label, or before the last one where the options have half a pair.
 */
function questionEnd(labels: readonly string[], from: number): number | undefined {
  const ends = [...labels.reduce(commonStart).matchAll(/ \[/g)].map(({ index }) => index).filter((end) => end >= from);
  return ends.find((end) => labels.every((label) => closesAtEnd(label.slice(end + 1)))) ?? ends.at(-1);
}

/** Whether the bracket that a text begins with is closed by its last character. */
function closesAtEnd(text: string): boolean {
  let open = 0;
  for (const { 0: bracket, index } of text.matchAll(/[[\]]/g)) {
    open += bracket === '[' ? 1 : -1;
    if (open === 0) return index === text.length - 1;
  }
  return false;
}
