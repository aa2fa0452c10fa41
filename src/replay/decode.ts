/** Windows-1252 at 0x80–0x9f; its five unassigned bytes stay control characters, as in browsers. */
const upperControls = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/**
 * Decodes UTF-8, UTF-16 or, if the bytes are neither, Windows-1252, which older survey tools write. A byte-order mark
 * is removed. Throws an Error if the bytes are no text.
 */
export function decodeText(bytes: Uint8Array): string {
  const utf16 = utf16Of(bytes);
  if (utf16) return new TextDecoder(utf16).decode(bytes);
  if (bytes.subarray(0, headBytes).includes(0))
    throw new Error(
      'The file is no .xlsx, no .sav and no text in UTF-8, UTF-16 or Windows-1252; save it as one of these',
    );
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return decodeWindows1252(bytes);
  }
}

/** Decodes any bytes as Windows-1252. Node 20 decodes that label as Latin-1, hence the table. */
export const decodeWindows1252 = (bytes: Uint8Array): string =>
  new TextDecoder('windows-1252')
    .decode(bytes)
    .replace(/[\u0080-\u009f]/g, (char) => upperControls[char.charCodeAt(0) - 0x80] ?? char);

const headBytes = 4096;

/** The byte order of UTF-16: by its mark, or because only one byte of each pair is ever zero, as in European texts. */
function utf16Of(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  const head = bytes.subarray(0, headBytes);
  const zeros = [0, 1].map((side) => head.filter((byte, place) => place % 2 === side && byte === 0).length);
  const [first = 0, second = 0] = zeros;
  const isMost = (count: number): boolean => count * 4 > head.length;
  if (isMost(second) && first === 0) return 'utf-16le';
  return isMost(first) && second === 0 ? 'utf-16be' : undefined;
}
