/** A text cut between characters to at most this many UTF-16 units. */
export function cutText(text: string, maxUnits: number): string {
  const cut = text.slice(0, maxUnits);
  return /[\ud800-\udbff]$/.test(cut) && cut.length < text.length ? cut.slice(0, -1) : cut;
}
