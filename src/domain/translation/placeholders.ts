/** What a program or a browser reads in a text: `{{name}}`, `${name}`, `{0}`, `%s`, tags, addresses. */
const placeholderPattern =
  /\{\{[^{}]*\}\}|\$\{[^{}]*\}|\{[\w.-]+\}|%(?:\d+\$)?[sd]|<\/?[a-z][^<>]*>|https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]]|\[[A-Z]+_\d+\]/gi;

/** The placeholders of a text, each as often as it stands there, in an order of their own. */
export function placeholdersOf(text: string): string[] {
  return (text.match(placeholderPattern) ?? []).sort();
}

/** The placeholders that one of the two texts has and the other has not, or has less often. */
export function placeholderDifferences(source: string, text: string): string[] {
  const rest = placeholdersOf(text);
  const missing = placeholdersOf(source).filter((found) => {
    const at = rest.indexOf(found);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
  return [...missing, ...rest];
}
