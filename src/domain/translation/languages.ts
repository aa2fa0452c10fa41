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

export function directionOf(language: string): 'ltr' | 'rtl' {
  return ['ar', 'he'].includes(language.split('-')[0]?.toLowerCase() ?? '') ? 'rtl' : 'ltr';
}
