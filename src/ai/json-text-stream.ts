/** Reads along while a reply is written. */
export interface TextListener {
  /** The next piece. */
  onText(piece: string): void;
  /** What was written so far is of no use: it is written anew. */
  onRestart(): void;
}

type WriteText = (words: string) => void;

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Finds in a reply, whose JSON comes in pieces cut anywhere, the words of one text of the outermost object, and gives them on as they come: as
 * they are read in the end, which is without NUL characters and space around them, and well-formed. What is no JSON gives nothing, or less.
 */
export function streamJsonText(field: string, told: TextListener): TextListener {
  let read = createScanner(field, createTrimmedWriter(told));
  return {
    onText: (piece) => read(piece),
    onRestart() {
      read = createScanner(field, createTrimmedWriter(told));
      told.onRestart();
    },
  };
}

/** Holds back what may still turn out to be at the end, or to be half a character. */
function createTrimmedWriter(told: TextListener): WriteText {
  let [held, isBegun] = ['', false];
  return (words) => {
    const known = (held + words).replaceAll('\0', '');
    // Never between the halves of a pair.
    const isHalf = /[\ud800-\udbff]$/.test(known);
    const whole = (isHalf ? known.slice(0, -1) : known).toWellFormed();
    const ready = isBegun ? whole.trimEnd() : whole.trim();
    held = (isBegun || ready !== '' ? whole.slice(whole.trimEnd().length) : '') + (isHalf ? known.slice(-1) : '');
    if (ready === '') return;
    isBegun = true;
    told.onText(ready);
  };
}

/** Where a scanner stands: between values, or in a text, which may be in the middle of an escape. */
interface ScannerState {
  depth: number;
  isInText: boolean;
  escape: string;
  /** A name stands here, no value; only of use in the outermost object. */
  isName: boolean;
  name: string;
}

/** Goes through JSON a character at a time; all that it keeps is the name of the field that it is in. */
function createScanner(field: string, words: WriteText): (piece: string) => void {
  const place: ScannerState = { depth: 0, isInText: false, escape: '', isName: true, name: '' };
  return (piece) => {
    let said = '';
    for (const sign of piece.split('')) {
      if (!place.isInText) advance(place, sign);
      else {
        const letter = letterOf(place, sign);
        if (place.depth !== 1 || letter === '') continue;
        if (place.isName) place.name = (place.name + letter).slice(0, field.length + 1);
        else if (place.name === field) said += letter;
      }
    }
    if (said !== '') words(said);
  };
}

function advance(place: ScannerState, sign: string): void {
  if (sign === '"' && place.depth > 0) place.isInText = true;
  else if (sign === '{' || sign === '[') place.depth += 1;
  else if (sign === '}' || sign === ']') place.depth -= 1;
  if (place.depth !== 1) return;
  if (sign === ':') place.isName = false;
  if (sign === ',') [place.isName, place.name] = [true, ''];
}

/** The letter that the sign brings, if it brings one; the end of the text is none. */
function letterOf(place: ScannerState, sign: string): string {
  if (place.escape === '' && sign !== '\\') {
    place.isInText = sign !== '"';
    return place.isInText ? sign : '';
  }
  place.escape += sign;
  if (place.escape.length < 2 || (place.escape[1] === 'u' && place.escape.length < 6)) return '';
  const { escape } = place;
  place.escape = '';
  return escape[1] === 'u' ? String.fromCharCode(Number.parseInt(escape.slice(2), 16)) : (escapes[sign] ?? sign);
}
