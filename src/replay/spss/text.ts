import { decodeWindows1252 } from '../decode.ts';
import { DamagedFile } from './input.ts';
import { extensionTypes, type Records } from './records.ts';

export type TextDecode = (bytes: Uint8Array) => string;

/** Code pages whose texts are decoded as Windows-1252: that one, Latin-1 and ASCII. */
const latinPages: ReadonlySet<number> = new Set([0, 2, 3, 1252, 28_591, 20_127]);

/** The decoding of all texts: the encoding that the file names, else its code page. */
export function decoderOf({ extensions, codePage }: Records): TextDecode {
  const [named] = extensions.get(extensionTypes.encoding) ?? [];
  const name = named?.toString('latin1').trim().toLowerCase() ?? encodingOfPage(codePage);
  if (/^(?:windows-1252|cp1252|iso-?8859-1|latin-?1|us-ascii|ascii)$/.test(name)) return decodeWindows1252;
  try {
    const decoder = new TextDecoder(name);
    return (bytes) => decoder.decode(bytes);
  } catch {
    throw new DamagedFile(`its encoding ${name} is unknown`);
  }
}

function encodingOfPage(page: number): string {
  if (page === 65_001) return 'utf-8';
  if (latinPages.has(page)) return 'windows-1252';
  if (page === 932) return 'shift_jis';
  if (page === 936) return 'gbk';
  if (page === 949) return 'euc-kr';
  if (page === 950) return 'big5';
  if (page > 28_591 && page <= 28_606) return `iso-8859-${page - 28_590}`;
  return `windows-${page}`;
}
