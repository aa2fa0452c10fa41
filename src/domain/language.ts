const pattern = /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;
const maxLength = 35;
export const languageMessage = 'must be a language tag such as en or zh-Hans';

/** Tags come with every response, and there are few of them. */
const canonicalTags = new Map<string, string>();
const maxCachedTags = 1000;

/**
 * A language tag in its canonical form (BCP 47, RFC 5646 §4.5): `EN` is `en`, `zh-hans` is `zh-Hans`, `iw` is `he`. Undefined where the text is
 * none. Whether there are speakers of it is not asked: a survey may be in any language.
 */
export function canonicalLanguage(text: string): string | undefined {
  const found = canonicalTags.get(text);
  if (found !== undefined) return found;
  const tag = text.length <= maxLength && pattern.test(text) ? canonical(text) : undefined;
  if (tag === undefined || tag.length > maxLength || !pattern.test(tag)) return undefined;
  if (canonicalTags.size < maxCachedTags) canonicalTags.set(text, tag);
  return tag;
}

/** Unicode's locale identifiers, which this knows, leave out some tags of RFC 5646: those are kept as they are but for their case. */
function canonical(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return irregular.has(text.toLowerCase()) || isExtended(text) ? withConventionalCase(text) : undefined;
  }
}

/** Grandfathered tags that follow no rule and that a client may name here (RFC 5646 §2.2.8). */
const irregular = new Set(['en-gb-oed', 'sgn-be-fr', 'sgn-be-nl', 'sgn-ch-de']);
/** Language, one to three extensions of it (`zh-yue`), script, region, variants (RFC 5646 §2.1). */
const extended =
  /^[a-z]{2,3}(?:-[a-z]{3}){1,3}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|\d{3}))?((?:-(?:[a-z\d]{5,8}|\d[a-z\d]{3}))*)$/;

function isExtended(text: string): boolean {
  const variants = extended.exec(text.toLowerCase())?.[1]?.split('-').slice(1);
  return variants !== undefined && new Set(variants).size === variants.length;
}

/** RFC 5646 §2.1.1: regions in capitals, scripts with one, everything else small. */
function withConventionalCase(text: string): string {
  const [language = '', ...others] = text.toLowerCase().split('-');
  const cased = others.map((part) =>
    part.length === 2
      ? part.toUpperCase()
      : /^[a-z]{4}$/.test(part)
        ? `${part.charAt(0).toUpperCase()}${part.slice(1)}`
        : part,
  );
  return [language, ...cased].join('-');
}
