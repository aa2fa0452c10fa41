/** A growing buffer, written in little-endian order. */
export function createByteBuffer(initial = 4096) {
  let buffer = Buffer.alloc(initial);
  let used = 0;
  const room = (bytes: number) => {
    if (used + bytes > buffer.length) {
      const larger = Buffer.alloc(Math.max(buffer.length * 2, used + bytes));
      buffer.copy(larger, 0, 0, used);
      buffer = larger;
    }
  };
  return {
    get length() {
      return used;
    },
    int(value: number): void {
      room(4);
      used = buffer.writeInt32LE(value, used);
    },
    double(value: number): void {
      room(8);
      used = buffer.writeDoubleLE(value, used);
    },
    byte(value: number): void {
      room(1);
      buffer[used++] = value;
    },
    repeat(value: number, count: number): void {
      room(count);
      buffer.fill(value, used, used + count);
      used += count;
    },
    /** Overwrites an earlier byte. */
    set(at: number, value: number): void {
      buffer[at] = value;
    },
    bytes(value: Uint8Array): void {
      room(value.length);
      buffer.set(value, used);
      used += value.length;
    },
    /** Writes a text, padded with blanks. */
    text(value: string, width: number): void {
      const coded = Buffer.from(value);
      const padded = Buffer.alloc(width, ' ');
      coded.copy(padded, 0, 0, width);
      this.bytes(padded);
    },
    /** Returns and removes what was written since the last call. */
    take(): Buffer {
      const taken = Buffer.from(buffer.subarray(0, used));
      used = 0;
      return taken;
    },
  };
}

export type ByteBuffer = ReturnType<typeof createByteBuffer>;

/** Cuts a text between characters to at most this many bytes of UTF-8. */
export function truncateToBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
