/** What Windows-1252 has at 0x80–0x9f; the five bytes that it leaves open stay control characters, as browsers read them. */
const upperControls = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/**
 * The text of a file: UTF-8 (a byte-order mark is dropped) where the bytes are that, else Windows-1252, which older survey tools write.
 * The table is here because Node 20 reads `windows-1252` as Latin-1.
 */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return Buffer.from(bytes)
      .toString('latin1')
      .replace(/[\u0080-\u009f]/g, (char) => upperControls[char.charCodeAt(0) - 0x80] ?? char);
  }
}
