import { open } from 'node:fs/promises';

const chunkBytes = 256 * 1024;

/**
 * Streams the bytes of a file from `first` to `last` (inclusive) in chunks of at most 256 KiB. Throws if the file is
 * shorter.
 */
export async function* readFileRange(path: string, first: number, last: number): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r');
  try {
    for (let at = first; at <= last; ) {
      const piece = Buffer.allocUnsafe(Math.min(chunkBytes, last - at + 1));
      const { bytesRead } = await file.read(piece, 0, piece.length, at);
      if (bytesRead === 0) throw new Error('the file is shorter than it was');
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
