/**
 * Text that a program or browser interprets: `{{name}}`, `${name}`, `{0}`, `%s`, HTML tags, URLs, `[NAME_1]`. A URL ends
 * at its first character that is not ASCII, since some languages put no space behind it.
 */
const placeholderPattern =
  /\{\{[^{}]*\}\}|\$\{[^{}]*\}|\{[\w.-]+\}|%(?:\d+\$)?[sd]|<\/?[a-z][^<>]*>|https?:\/\/[^\s<>"'\u0080-\uffff]*[^\s<>"'.,;:!?()[\]{\u0080-\uffff]|\[[A-Z]+_\d+\]/gi;

/** The placeholders of a text, sorted, with repetitions. */
export function placeholdersOf(text: string): string[] {
  return (text.match(placeholderPattern) ?? []).sort();
}

/** The placeholders that occur more often in one text than in the other. */
export function placeholderDifferences(source: string, text: string): string[] {
  const rest = placeholdersOf(text);
  const missing = placeholdersOf(source).filter((found) => {
    const at = rest.indexOf(found);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
  return [...missing, ...rest];
}
