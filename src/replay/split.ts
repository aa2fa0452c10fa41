const recognisedSeparators = [';', '|'] as const;
const maxChoices = 50;
const maxChoiceLength = 100;

/** The choices of one cell, without repetitions. */
export const choicesIn = (cell: string, separator: string): string[] => [
  ...new Set(
    cell
      .split(separator)
      .map((choice) => choice.trim())
      .filter((choice) => choice !== ''),
  ),
];

/**
 * The separator of several choices in one cell, as “App;Web”: a cell has more than one, and the choices are few, short
 * and recur at least twice on average, which parts of sentences do not.
 */
export function choiceSeparatorOf(cells: readonly string[]): string | undefined {
  return recognisedSeparators.find((separator) => {
    const choices = cells.map((cell) => choicesIn(cell, separator));
    const distinct = new Set(choices.flat());
    return (
      choices.some((ones) => ones.length > 1) &&
      distinct.size <= maxChoices &&
      distinct.size * 2 <= choices.flat().length &&
      [...distinct].every((choice) => choice.length <= maxChoiceLength)
    );
  });
}
