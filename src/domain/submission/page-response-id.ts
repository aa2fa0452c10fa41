/**
 * The id that the respondent's page gives a response: a UUIDv7 of the moment in which the page was opened, whose last 16
 * bits are those before them combined by XOR. So the service knows without a lookup how long a page has had the id.
 * `random`: another UUID, from which the remaining bits come.
 */
export function pageResponseId(random: string, ms: number): string {
  const time = ms.toString(16).padStart(12, '0');
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15, 32)}`;
  return id + tagOf(id);
}

/** When the page was opened that gave this id; undefined for almost all ids of others (65,535 of 65,536). */
export function pageOpenedAtMs(id: string): number | undefined {
  const isOfPage = id.charAt(14) === '7' && id.slice(32) === tagOf(id.slice(0, 32));
  return isOfPage ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : undefined;
}

/** XOR of the 16-bit words of an id without its last one, in hexadecimal. */
function tagOf(id: string): string {
  const words = id.replaceAll('-', '').match(/.{4}/g) ?? [];
  return words
    .reduce((tag, word) => tag ^ Number.parseInt(word, 16), 0)
    .toString(16)
    .padStart(4, '0');
}
