/**
 * The XML of a workbook, written so that exceljs reads it as spreadsheet programs do. Texts come in pieces, whose ends
 * lie behind whole elements.
 */

/** A part of the workbook whose elements have no prefix: some programs write `<x:row>` for `<row>`. */
export async function* plainXml(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let root: RegExpExecArray | null = null;
  for await (const text of wholeElements(decoded(pieces), ['>'])) {
    root ??= /<([\w.-]+:)?\w/.exec(text);
    const prefix = root?.[1];
    yield prefix === undefined ? text : text.replaceAll(`<${prefix}`, '<').replaceAll(`</${prefix}`, '</');
  }
}

/** The properties of a workbook, in the one spelling that exceljs knows. */
export async function* propertiesXml(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const text of plainXml(pieces)) yield text.replace(/\bdate1904=(["'])true\1/, 'date1904="1"');
}

/** Where the parts of a workbook are, from its folder on: some programs name them from the root of the archive on. */
export async function* relationsXml(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const text of plainXml(pieces)) yield text.replace(/\bTarget=(["'])\/xl\//g, 'Target=$1');
}

/** The texts that sheets share. */
export async function* sharedTextsXml(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const text of wholeElements(plainXml(pieces), ['</si>']))
    yield text.replace(/<si>(.*?)<\/si>/gs, (_, content: string) => `<si>${textElement(content)}</si>`);
}

/**
 * A sheet. Formulas are left out, because exceljs takes their results for numbers, and those of 0 for none. Texts are
 * escaped once more, because exceljs unescapes the texts that lie in a sheet twice; it leaves numbers of characters
 * alone the second time.
 */
export async function* sheetXml(
  pieces: AsyncIterable<Uint8Array>,
  { is1904 }: { is1904: boolean },
): AsyncGenerator<string> {
  const cellXml = (cell: string, attributes = '', content = ''): string => {
    if (!/\sr\s*=/.test(attributes))
      throw new Error('it does not say where its cells stand; save it once more with a spreadsheet program');
    if (/\st\s*=\s*["']d["']/.test(attributes)) return cell.replace(content, () => serialXml(content, is1904));
    return cell.replace(/<is>(.*)<\/is>/s, (_, runs: string) => `<is>${textElement(runs)}</is>`);
  };
  for await (const text of wholeElements(plainXml(pieces), ['</c>', '</row>']))
    yield text
      .replace(/<f\b[^>]*?(?:\/>|>.*?<\/f>)/gs, '')
      // Programs that do not calculate write formulas with an empty result, which exceljs takes for NaN or true.
      .replace(/<v\s*(?:\/>|><\/v>)/g, '')
      .replace(/<c(\s[^>]*?)?(?:\/>|>(.*?)<\/c>)/gs, cellXml)
      .replace(/&(?=[a-z])/g, '&amp;');
}

/** One element with the text of all runs, without readings (`rPh`), which Excel keeps of what an input method wrote. */
function textElement(content: string): string {
  const runs = content.replace(/<rPh\b.*?<\/rPh>/gs, '').matchAll(/<t(?:\s[^>]*?)?(?:\/>|>(.*?)<\/t>)/gs);
  return `<t>${Array.from(runs, ([, text = '']) => text).join('')}</t>`;
}

const dayMs = 86_400_000;

/** The first day of the numbers that stand for days. */
export const dayZeroMs = (is1904: boolean): number => Date.parse(is1904 ? '1904-01-01' : '1899-12-30');

const isoMoment = /^(?:(\d{4}-\d\d-\d\d)(?:T|$))?(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?Z?$/;

/** The value of a cell whose date is written as in ISO 8601, as the number that other workbooks have. */
function serialXml(content: string, is1904: boolean): string {
  return content.replace(/(?<=<v>\s*)[^<\s][^<]*?(?=\s*<\/v>)/, (text) => {
    const [, day, time] = isoMoment.exec(text) ?? [];
    const ms = Date.parse(`${day ?? '1970-01-01'}T${time ?? '00:00'}Z`);
    if ((day ?? time) === undefined || Number.isNaN(ms)) throw new Error(`“${text}” is no date or time`);
    return String((ms - (day === undefined ? 0 : dayZeroMs(is1904))) / dayMs);
  });
}

async function* decoded(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of pieces) yield decoder.decode(piece, { stream: true });
}

/** The text in pieces that end behind the last of some marks; the last one has the rest. */
async function* wholeElements(pieces: AsyncIterable<string>, marks: readonly string[]): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const text = rest + piece;
    const ends = marks.map((mark) => [text.lastIndexOf(mark), mark.length] as const).filter(([at]) => at >= 0);
    const end = Math.max(0, ...ends.map(([at, length]) => at + length));
    yield text.slice(0, end);
    rest = text.slice(end);
  }
  yield rest;
}
