/** Receives a text while it is streamed. */
export interface TextListener {
  onText(piece: string): void;
  /** Discards the text so far; it is streamed again from the beginning. */
  onRestart(): void;
}

type WriteText = (text: string) => void;

const escapeSigns: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Extracts one text field of the outermost object from JSON that arrives in pieces, and passes its text on as it
 * arrives: trimmed, well-formed and without NUL characters, as it is read in the end. Invalid JSON yields nothing, or a
 * part.
 */
export function streamJsonText(field: string, listener: TextListener): TextListener {
  let read = createScanner(field, createTrimmedWriter(listener));
  return {
    onText: (piece) => read(piece),
    onRestart() {
      read = createScanner(field, createTrimmedWriter(listener));
      listener.onRestart();
    },
  };
}

/** Holds back trailing spaces, which may turn out to be at the end, and half a surrogate pair. */
function createTrimmedWriter(listener: TextListener): WriteText {
  let [held, isBegun] = ['', false];
  return (text) => {
    const known = (held + text).replaceAll('\0', '');
    const isHalf = /[\ud800-\udbff]$/.test(known);
    const whole = (isHalf ? known.slice(0, -1) : known).toWellFormed();
    const ready = isBegun ? whole.trimEnd() : whole.trim();
    held = (isBegun || ready !== '' ? whole.slice(whole.trimEnd().length) : '') + (isHalf ? known.slice(-1) : '');
    if (ready === '') return;
    isBegun = true;
    listener.onText(ready);
  };
}

/** State of a scanner: between values, or in a text, possibly within an escape. */
interface ScannerState {
  depth: number;
  isInText: boolean;
  escape: string;
  /** The text is a field name, not a value; only tracked in the outermost object. */
  isName: boolean;
  name: string;
}

/** Reads JSON one character at a time in constant memory. */
function createScanner(field: string, write: WriteText): (piece: string) => void {
  const place: ScannerState = { depth: 0, isInText: false, escape: '', isName: true, name: '' };
  return (piece) => {
    let text = '';
    for (const sign of piece.split('')) {
      if (!place.isInText) advance(place, sign);
      else {
        const letter = letterOf(place, sign);
        if (place.depth !== 1 || letter === '') continue;
        if (place.isName) place.name = (place.name + letter).slice(0, field.length + 1);
        else if (place.name === field) text += letter;
      }
    }
    if (text !== '') write(text);
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

/** Returns the character that the sign completes; empty within an escape and at the end of the text. */
function letterOf(place: ScannerState, sign: string): string {
  if (place.escape === '' && sign !== '\\') {
    place.isInText = sign !== '"';
    return place.isInText ? sign : '';
  }
  place.escape += sign;
  if (place.escape.length < 2 || (place.escape[1] === 'u' && place.escape.length < 6)) return '';
  const { escape: sequence } = place;
  place.escape = '';
  return sequence[1] === 'u'
    ? String.fromCharCode(Number.parseInt(sequence.slice(2), 16))
    : (escapeSigns[sign] ?? sign);
}
