import { chineseScript } from '../../../src/domain/path/language-form.ts';
import { ar } from './ar.ts';
import { de } from './de.ts';
import { en, type Words } from './en.ts';
import { es } from './es.ts';
import { fr } from './fr.ts';
import { he } from './he.ts';
import { it } from './it.ts';
import { ja } from './ja.ts';
import { ko } from './ko.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';
import { pt } from './pt.ts';
import { ru } from './ru.ts';
import { zhHans } from './zh-Hans.ts';
import { zhHant } from './zh-Hant.ts';

/** The page's own words by language tag. Only the service has them all; a page is sent those of its language. */
const languages: Readonly<Record<string, Words>> = {
  en,
  es,
  fr,
  de,
  it,
  pt,
  nl,
  pl,
  ru,
  'zh-Hans': zhHans,
  'zh-Hant': zhHant,
  ja,
  ko,
  ar,
  he,
};

/** The words in a language, or a language that it is a form of; English where there are none. */
export function wordsIn(language: string): Words {
  const [base = ''] = language.toLowerCase().split('-');
  return languages[chineseScript(language) ?? base] ?? en;
}
