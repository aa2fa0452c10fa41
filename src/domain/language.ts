/** The form of a language tag, whether or not there is such a language. */
export const languageTag = /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;
const maxLength = 35;
export const languageMessage = 'must be a language tag such as en or zh-Hans';

/** Cache of canonical tags by given tag: every response may carry one, and few differ. */
const canonicalTags = new Map<string, string>();
const maxCachedTags = 1000;

/**
 * The canonical form of a language tag (BCP 47, RFC 5646 §4.5): `EN` → `en`, `zh-hans` → `zh-Hans`, `iw` → `he`.
 * Undefined if the text is not a well-formed tag of at most 35 characters. Unregistered languages are accepted.
 */
export function canonicalLanguage(text: string): string | undefined {
  const found = canonicalTags.get(text);
  if (found !== undefined) return found;
  const tag = text.length <= maxLength && languageTag.test(text) ? canonical(text) : undefined;
  if (tag === undefined || tag.length > maxLength || !languageTag.test(tag)) return undefined;
  if (canonicalTags.size < maxCachedTags) canonicalTags.set(text, tag);
  return tag;
}

/**
 * `Intl` knows Unicode locale identifiers, which exclude some valid RFC 5646 tags: only the case of those is
 * normalised.
 */
function canonical(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return irregular.has(text.toLowerCase()) || isExtended(text) ? withConventionalCase(text) : undefined;
  }
}

/** Irregular grandfathered tags that match `languageTag` (RFC 5646 §2.2.8). */
const irregular = new Set(['en-gb-oed', 'sgn-be-fr', 'sgn-be-nl', 'sgn-ch-de']);
/** Language, one to three extended language subtags (`zh-yue`), script, region, variants (RFC 5646 §2.1). */
const extended =
  /^[a-z]{2,3}(?:-[a-z]{3}){1,3}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|\d{3}))?((?:-(?:[a-z\d]{5,8}|\d[a-z\d]{3}))*)$/;

function isExtended(text: string): boolean {
  const variants = extended.exec(text.toLowerCase())?.[1]?.split('-').slice(1);
  return variants !== undefined && new Set(variants).size === variants.length;
}

/** Conventional case (RFC 5646 §2.1.1): upper-case regions, title-case scripts, everything else in lower case. */
function withConventionalCase(text: string): string {
  const [language = '', ...subtags] = text.toLowerCase().split('-');
  return [language, ...subtags.map(withSubtagCase)].join('-');
}

function withSubtagCase(subtag: string): string {
  if (subtag.length === 2) return subtag.toUpperCase();
  return /^[a-z]{4}$/.test(subtag) ? `${subtag.charAt(0).toUpperCase()}${subtag.slice(1)}` : subtag;
}
