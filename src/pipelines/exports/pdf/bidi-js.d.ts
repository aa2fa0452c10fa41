/** The used part of bidi-js, which has no types of its own. */
declare module 'bidi-js' {
  interface EmbeddingLevels {
    /** One for each UTF-16 unit; odd levels run from right to left. */
    levels: Uint8Array;
    paragraphs: { start: number; end: number; level: number }[];
  }
  export default function bidiFactory(): {
    getEmbeddingLevels(text: string, direction?: 'ltr' | 'rtl'): EmbeddingLevels;
    getMirroredCharacter(char: string): string | null;
  };
}
