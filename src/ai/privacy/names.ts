import type { Finder, Span } from './spans.ts';

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
const name = new RegExp(`${capitalised}(?:\\s(?:(?:van|von|de|der|den|la|di|da|dos|del|el|al|bin)\\s){0,2}${capitalised}){0,3}`, 'uy');

/** Two-letter words that are a title in one language and something else in another, and words that follow titles without being names. */
const noNames = /^(?:And|Und|Et|Y|E|Or|Oder|Ou|I|The|Der|Die|Das|Le|La|Les|El|Los|If|It|We|You|My|Your|Our|Thank|Thanks|Please|Monsieur|Madame|Mr|Mrs|Sir|Madam|Herr|Frau|Herren|Damen)$/;

const commonSurnames =
  '王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严张陳楊趙吳孫馬鄭謝許韓馮鄧蕭葉蘇魏呂盧鐘譚陸賈韋鄒龍';
const han = '\\p{Script=Han}';
/** Scripts without capitals: only what is introduced, or bears a title. */
const uncased: readonly RegExp[] = [
  new RegExp(`(?:我叫|我的名字是|名叫)(${han}{2,4})`, 'gu'),
  new RegExp(`我是([${commonSurnames}]${han}{1,2})(?!${han})`, 'gu'),
  new RegExp(`([${commonSurnames}]${han}{0,2})(?:先生|女士|小姐|经理|經理|老师|老師|医生|醫生)`, 'gu'),
  /(?:私の名前は|名前は)([\p{Script=Han}\p{Script=Katakana}\p{Script=Hiragana}ー]{2,8}?)(?=です|と|、|。|\.|,|\s|$)/gu,
  /((?:(?!客|皆|店員|員|者)[\p{Script=Han}\p{Script=Katakana}ー]){2,6})(?:さん|様|先生)/gu,
  /제 이름은\s?(\p{Script=Hangul}{2,4}?)(?=입니다|이고|예요|이에요|\s|$)/gu,
  /(?:اسمي|السيدة|السيد|الدكتورة|الدكتور|الأستاذة|الأستاذ)\s(\p{Script=Arabic}{2,20}(?:\s(?:ال|بن\s|عبد\s)\p{Script=Arabic}{2,20})?)/gu,
  /(?:קוראים לי|השם שלי|שמי|מר|גברת|גב׳|ד"ר)\s(\p{Script=Hebrew}{2,20})/gu,
];

/** Names that are introduced as such. */
export const findIntroduced: Finder = (text) => {
  const spans: Span[] = [];
  for (const { 0: words, index } of text.matchAll(introduction)) {
    const start = (name.lastIndex = index + words.length);
    const found = name.exec(text)?.[0];
    if (found === undefined || noNames.test(found.split(/\s/)[0] ?? '')) continue;
    spans.push({ kind: 'PERSON', start, end: start + found.length });
  }
  for (const pattern of uncased)
    for (const { 0: match, 1: found = '', index } of text.matchAll(pattern)) {
      const start = index + match.indexOf(found);
      spans.push({ kind: 'PERSON', start, end: start + found.length });
    }
  return spans;
};
