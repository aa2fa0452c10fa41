import type { Finder, Span } from '../spans.ts';

/** Titles and phrases after which a name follows, in the languages of surveys. */
const introductions = [
  "my name(?:'s| is)|i am called|call me|mrs?|miss|ms|dr|prof|professor|doctor|nurse|sir|madam",
  'ich heiße|mein name ist|herrn?|frau|schwester|pfleger',
  "je m'appelle|mon nom est|monsieur|madame|mademoiselle|mme|mlle|docteur",
  'me llamo|mi nombre es|señor(?:a|ita)?|sra?|don|doña|doctora?',
  'mi chiamo|il mio nome è|signor(?:a|e|ina)?|sig(?:\\.ra)?|dott(?:\\.ssa)?|dottor(?:e|essa)?',
  'meu nome é|me chamo|senhora?|dona|doutora?',
  'ik heet|mijn naam is|meneer|mevrouw|dhr|mevr|mw',
  'nazywam się|mam na imię|pana|panu|panem|pani|panią|panią|pan',
  'меня зовут|моё имя|мое имя|господин|госпожа',
  'my regards|regards|greetings|sincerely|signed|grüßen?|cordialement|saludos|saluti|cumprimentos|groet(?:en)?|pozdrawiam',
].join('|');
const introduction = new RegExp(`(?<!\\p{L})(?:${introductions})(?!\\p{L})[.,:]?\\s{1,3}`, 'giu');
const capitalised = "\\p{Lu}[\\p{L}\\p{M}'’-]{1,40}";
const name = new RegExp(
  `${capitalised}(?:\\s(?:(?:van|von|de|der|den|la|di|da|dos|del|el|al|bin)\\s){0,2}${capitalised}){0,3}`,
  'uy',
);

/** Two-letter words that are a title in one language and something else in another, and words that follow titles without being names. */
const noNames =
  /^(?:And|Und|Et|Y|E|Or|Oder|Ou|I|The|Der|Die|Das|Le|La|Les|El|Los|If|It|We|You|My|Your|Our|Thank|Thanks|Please|Monsieur|Madame|Mr|Mrs|Sir|Madam|Herr|Frau|Herren|Damen)$/;

/** Names that are introduced as such. */
export const findIntroducedNames: Finder = (text) => {
  const spans: Span[] = [];
  for (const { 0: words, index } of text.matchAll(introduction)) {
    const start = (name.lastIndex = index + words.length);
    const found = name.exec(text)?.[0];
    if (found === undefined || noNames.test(found.split(/\s/)[0] ?? '')) continue;
    spans.push({ kind: 'PERSON', start, end: start + found.length });
  }
  return spans;
};
