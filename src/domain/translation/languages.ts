/** The languages that a survey can be translated to. */
export const translationLanguages = [
  'en',
  'es',
  'fr',
  'de',
  'it',
  'pt',
  'nl',
  'pl',
  'ru',
  'zh-Hans',
  'zh-Hant',
  'ja',
  'ko',
  'ar',
  'he',
] as const;
export type TranslationLanguage = (typeof translationLanguages)[number];

/** Scripts that are written from right to left. */
const rightToLeft = ['Adlm', 'Arab', 'Aran', 'Hebr', 'Mand', 'Mend', 'Nkoo', 'Rohg', 'Samr', 'Syrc', 'Thaa', 'Yezi'];

export function directionOf(language: string): 'ltr' | 'rtl' {
  return rightToLeft.includes(scriptOf(language) ?? '') ? 'rtl' : 'ltr';
}

/** The script that a tag names, or else that its language is mostly written in there. */
function scriptOf(language: string): string | undefined {
  try {
    return new Intl.Locale(language).maximize().script;
  } catch {
    // Tags that `Intl` does not take, such as `ar-arb`, begin with their language.
    const [base = '', ...others] = language.split('-');
    return others.length > 0 ? scriptOf(base) : undefined;
  }
}
