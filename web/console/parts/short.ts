const mostLetters = 60;

/** A text as it is named within a sentence, a message or a menu: cut where it is long. */
export function short(text: string): string {
  const letters = [...text];
  return letters.length > mostLetters ? `${letters.slice(0, mostLetters - 1).join('')}…` : text;
}
