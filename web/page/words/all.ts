import { en, type Words } from './en.ts';

/** The page's own words by language tag. Only the service has them all; a page is sent those of its language. */
const languages: Readonly<Record<string, Words>> = { en };

export const pageLanguages: readonly string[] = Object.keys(languages);

/** The words in a language, or a language that it is a form of; English where there are none. */
export function wordsIn(language: string): Words {
  const tag = language.toLowerCase();
  const parts = tag.split('-');
  const isTraditional = parts.some((part) => ['hant', 'tw', 'hk', 'mo'].includes(part));
  const named = parts[0] === 'zh' ? (isTraditional ? 'zh-Hant' : 'zh-Hans') : (parts[0] ?? '');
  return languages[named] ?? en;
}
