/** A PNG of one pixel. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

interface Size {
  width: number;
  height: number;
}

/** The head of a JPEG: JFIF, then the frame header. */
export function jpeg({ width, height }: Size): Buffer {
  const jfif = Buffer.from('ffe000104a46494600010100000100010000', 'hex');
  const frame = Buffer.from('ffc00011080000000003012200021101031101', 'hex');
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from('ffd8', 'hex'), jfif, frame, Buffer.from('ffd9', 'hex')]);
}

/** The heads of WebP pictures: lossy, lossless and extended. */
export function webPs({ width, height }: Size): Buffer[] {
  const chunk = (name: string, data: Buffer) => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(data.length, 4);
    return Buffer.concat([head, data]);
  };
  const lossy = Buffer.from('9001009d012a00000000', 'hex');
  lossy.writeUInt16LE(width, 6);
  lossy.writeUInt16LE(height, 8);
  const lossless = Buffer.alloc(10);
  lossless[0] = 0x2f;
  lossless.writeUInt32LE((width - 1) | ((height - 1) << 14), 1);
  const extended = Buffer.alloc(10);
  extended.writeUIntLE(width - 1, 4, 3);
  extended.writeUIntLE(height - 1, 7, 3);
  return [chunk('VP8 ', lossy), chunk('VP8L', lossless), chunk('VP8X', extended)].map((body) =>
    Buffer.concat([chunk('RIFF', Buffer.concat([Buffer.from('WEBP'), body]))]),
  );
}
