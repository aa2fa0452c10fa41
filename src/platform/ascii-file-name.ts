/** The name of a file for programs that read ASCII alone: letters in their plain form, other characters as `_`. */
export const asciiFileName = (fileName: string): string =>
  fileName
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9._ -]+/g, '_');
