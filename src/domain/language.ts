const pattern = /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;
const longest = 35;
export const languageMessage = 'must be a language tag such as en or zh-Hans';

/** Tags come with every response, and there are few of them. */
const known = new Map<string, string>();
const knownAtMost = 1000;

/**
 * A language tag in its canonical form (BCP 47, RFC 5646 §4.5): `EN` is `en`, `zh-hans` is `zh-Hans`, `iw` is `he`. Undefined where the text is
 * none. Whether there are speakers of it is not asked: a survey may be in any language.
 */
export function canonicalLanguage(text: string): string | undefined {
  const found = known.get(text);
  if (found !== undefined) return found;
  const tag = text.length <= longest && pattern.test(text) ? canonical(text) : undefined;
  if (tag === undefined || tag.length > longest || !pattern.test(tag)) return undefined;
  if (known.size < knownAtMost) known.set(text, tag);
  return tag;
}

function canonical(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}
