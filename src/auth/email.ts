// Maximum lengths in characters (RFC 5321 §4.5.3.1, RFC 1035 §2.3.4).
const maxAddressLength = 254;
const maxLocalLength = 64;
const maxLabelLength = 63;
const localPart = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+$/u;
const label = /^[\p{L}\p{N}\p{M}-]+$/u;

/**
 * The normalised form in which account addresses are compared and unique: trimmed, NFKC, lower case. Full-width and
 * other compatibility spellings give the same key.
 */
export function emailKey(email: string): string {
  return email.trim().normalize('NFKC').toLowerCase().normalize('NFKC');
}

/**
 * Whether a text is an account's e-mail address: a dot-atom of any script, `@`, host labels (one is enough:
 * `admin@localhost`). No quotes or comments.
 */
export function isEmail(email: string): boolean {
  return isAddress(email) && isAddress(emailKey(email));
}

function isAddress(text: string): boolean {
  if (text.length > maxAddressLength) return false;
  const at = text.indexOf('@');
  if (at < 1 || at > maxLocalLength || at !== text.lastIndexOf('@')) return false;
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
  return text.length <= maxLabelLength && label.test(text) && !text.startsWith('-') && !text.endsWith('-');
}
