const longest = 254;
const longestLocal = 64;
const longestLabel = 63;
const localPart = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+$/u;
const label = /^[\p{L}\p{N}\p{M}-]+$/u;

/**
 * The form in which addresses are compared and unique: trimmed, NFKC, lower case. Full-width and other compatibility spellings of an
 * address are the same address.
 */
export function emailKey(email: string): string {
  return email.trim().normalize('NFKC').toLowerCase().normalize('NFKC');
}

/** A dot-atom of any script before the `@`, host labels after it; one label will do (`admin@localhost`). No quoting, no comments. */
export function isEmail(email: string): boolean {
  return isAddress(email) && isAddress(emailKey(email));
}

function isAddress(text: string): boolean {
  if (text.length > longest) return false;
  const at = text.indexOf('@');
  if (at < 1 || at > longestLocal || at !== text.lastIndexOf('@')) return false;
  return (
    text
      .slice(0, at)
      .split('.')
      .every((atom) => localPart.test(atom)) &&
    text
      .slice(at + 1)
      .split('.')
      .every(isLabel)
  );
}

function isLabel(text: string): boolean {
  return text.length <= longestLabel && label.test(text) && !text.startsWith('-') && !text.endsWith('-');
}
