/** The parts of bidi-js that are used; the package brings no types. */
declare module 'bidi-js' {
  interface EmbeddingLevels {
    /** One a UTF-16 unit; odd: right to left. */
    levels: Uint8Array;
    paragraphs: { start: number; end: number; level: number }[];
  }
  export default function bidiFactory(): {
    getEmbeddingLevels(text: string, direction?: 'ltr' | 'rtl'): EmbeddingLevels;
    getMirroredCharacter(char: string): string | null;
  };
}
