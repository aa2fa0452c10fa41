const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'code' });

/** The English name of a language, such as “German”. */
export function languageName(language: string): string {
  try {
    return names.of(language) ?? language;
  } catch {
    return language;
  }
}
