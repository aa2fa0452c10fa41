import type { Logo } from './appearance.ts';

/** Reads type and size of a picture from its bytes, whatever its name or declared type. */

export const logoTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;
export type LogoType = (typeof logoTypes)[number];
export const maxLogoBytes = 256 * 1024;
/** Pixels of a side. Few bytes may hold a picture that needs gigabytes of memory to be shown. */
export const maxLogoSide = 4096;

export type LogoImage = Pick<Logo, 'width' | 'height'> & { mediaType: LogoType };

/** Undefined if the bytes are no PNG, JPEG or WebP with a readable head. */
export function readLogoImage(bytes: Buffer): LogoImage | undefined {
  const image = readPng(bytes) ?? readWebP(bytes) ?? readJpeg(bytes);
  return image && image.width > 0 && image.height > 0 ? image : undefined;
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function readPng(bytes: Buffer): LogoImage | undefined {
  if (bytes.length < 33 || !bytes.subarray(0, 8).equals(pngSignature) || textAt(bytes, 12) !== 'IHDR') return undefined;
  return { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** The size stands in the first chunk, in one of three codings (RFC 9649, RFC 6386 §9.1). */
function readWebP(bytes: Buffer): LogoImage | undefined {
  if (bytes.length < 30 || textAt(bytes, 0) !== 'RIFF' || textAt(bytes, 8) !== 'WEBP') return undefined;
  const size = webPSize(bytes, textAt(bytes, 12));
  return size && { mediaType: 'image/webp', ...size };
}

function webPSize(bytes: Buffer, chunk: string): Pick<Logo, 'width' | 'height'> | undefined {
  if (chunk === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (chunk === 'VP8L' && bytes[20] === 0x2f) {
    const packed = bytes.readUInt32LE(21);
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
  }
  if (chunk === 'VP8 ' && bytes.readUIntBE(23, 3) === 0x9d012a)
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  return undefined;
}

/** The size stands in the frame header, behind segments of any number (ITU T.81 §B.2). */
function readJpeg(bytes: Buffer): LogoImage | undefined {
  if (bytes.length < 4 || bytes.readUIntBE(0, 3) !== 0xffd8ff) return undefined;
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    // SOF0 to SOF15, but for DHT, JPG and DAC, whose numbers lie between them.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { mediaType: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    // A marker may be preceded by fill bytes.
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

const textAt = (bytes: Buffer, at: number): string => bytes.toString('latin1', at, at + 4);
