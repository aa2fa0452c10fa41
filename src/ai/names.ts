/** Given names that are common in the languages of surveys and mean little else. In lower case. */
const givenNames = new Set(
  (
    'aaron adam ahmed aisha alan albert alejandro alex alexander alexandra alice amanda amir amy ana andrea andreas andrew angela anna anne anthony antonio ben benjamin brian carlos ' +
    'carmen carol caroline catherine charles charlotte chen chloe chris christian christina christine christopher claire claudia daniel daniela david deborah dennis diana diego dmitri donald ' +
    'dorothy edward elena elizabeth ella emily emma eric erik eva fatima fernando francesca francisco francois frank gabriel george giovanni giulia greg gregory hannah hans harry hassan heather ' +
    'helen helena henry hiroshi ibrahim igor ingrid isabel isabella ivan jack jacob jacques james jan jane janet jason javier jean jennifer jeremy jessica joan johann johannes john jonathan jorge ' +
    'jose joseph joshua juan julia julie jürgen karen karin karl katarzyna katherine kathleen keith kenji kevin klaus laura lars lena leonardo liam linda lisa louis lucas lucia luigi luis lukas ' +
    'maria marie mario marta martin martina mary mateo matthew matthias mei michael michelle miguel mohamed mohammed monica natalia nicholas nicolas nina noah olga oliver olivia omar pablo pamela ' +
    'patricia patrick paul paula pedro peter petra philip philipp pierre piotr rachel raj rebecca richard robert roberto ronald ruth ryan samantha samuel sandra sara sarah scott sebastian sergei ' +
    'sharon simon sofia sophia sophie stefan stephanie stephen steven susan svetlana tanja tatiana teresa thomas tim timothy tomasz tom ulrike ursula victoria vladimir walter wei wilhelm william ' +
    'wolfgang xavier yasmin yuki yuri yusuf zhang zoe'
  ).split(' '),
);

/** Words after which a name follows. */
const introductions =
  "(?:my name(?:'s| is)|i am called|call me|(?:mr|mrs|ms|miss|dr|prof|sir|madam|herr|frau|monsieur|madame|mme|señora?|sra?|signora?|dhr|mevr|pan|pani)\\.?|(?:ich heiße|mein name ist|je m'appelle|mon nom est|me llamo|mi nombre es|mi chiamo|meu nome é|ik heet|nazywam się|меня зовут)|(?:regards|greetings|sincerely|signed|grüßen?|cordialement|saludos),?)";
const capitalised = "\\p{Lu}[\\p{L}'’-]+";
const introduction = new RegExp(`(?<![\\p{L}])${introductions}\\s+`, 'giu');
const nameThere = new RegExp(`${capitalised}(?:\\s+(?:(?:van|von|de|der|den|la|di|da|dos|del)\\s+)*${capitalised}){0,3}`, 'uy');
const known = new RegExp(`(?<![\\p{L}\\[])(${capitalised})((?:\\s+(?:(?:van|von|de|der|den|la|di|da|dos|del)\\s+)*${capitalised}){0,2})(?![\\p{L}_])`, 'gu');
const eastAsian = /(?:私の名前は|我叫|我的名字是|我是|제 이름은\s?)([\p{Script=Han}\p{Script=Katakana}\p{Script=Hangul}]{2,4})/gu;

/** Replaces person names: those that are introduced as one, and those that begin with a common given name. */
export function replaceNames(text: string, placeholder: (name: string) => string): string {
  return replaceIntroduced(text, placeholder)
    .replace(known, (match: string, first: string) => (givenNames.has(first.toLowerCase()) ? placeholder(match) : match))
    .replace(eastAsian, (match: string, name: string) => match.slice(0, match.length - name.length) + placeholder(name));
}

/** The words before a name may be in any case, the name begins with capitals: one expression cannot say both. */
function replaceIntroduced(text: string, placeholder: (name: string) => string): string {
  let [result, from] = ['', 0];
  for (const match of text.matchAll(introduction)) {
    const start = match.index + match[0].length;
    nameThere.lastIndex = start;
    const name = match.index < from ? undefined : nameThere.exec(text)?.[0];
    if (name === undefined) continue;
    result += text.slice(from, start) + placeholder(name);
    from = start + name.length;
  }
  return result + text.slice(from);
}
