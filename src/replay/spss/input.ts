export class DamagedFile extends Error {
  constructor(what: string) {
    super(`The SPSS file cannot be read: ${what}`);
    this.name = 'DamagedFile';
  }
}

/** Reads from left to right. Throws DamagedFile past the end. */
export function createInput(buffer: Buffer) {
  let at = 0;
  let isLittle = true;
  const skip = (count: number): number => {
    const start = at;
    if (count < 0 || start + count > buffer.length) throw new DamagedFile('it ends too early');
    at += count;
    return start;
  };
  return {
    get position(): number {
      return at;
    },
    get isLittle(): boolean {
      return isLittle;
    },
    set isLittle(value: boolean) {
      isLittle = value;
    },
    seek(position: number): void {
      at = 0;
      skip(position);
    },
    bytes: (count: number): Buffer => buffer.subarray(skip(count), at),
    rest: (): Buffer => buffer.subarray(skip(buffer.length - at)),
    int: (): number => intIn(buffer, skip(4), isLittle),
    double: (): number => doubleIn(buffer, skip(8), isLittle),
    /** A whole number of eight bytes. */
    long: (): number => Number(isLittle ? buffer.readBigInt64LE(skip(8)) : buffer.readBigInt64BE(skip(8))),
  };
}

export type Input = ReturnType<typeof createInput>;

export const intIn = (buffer: Buffer, at: number, isLittle: boolean): number =>
  isLittle ? buffer.readInt32LE(at) : buffer.readInt32BE(at);

export const doubleIn = (buffer: Buffer, at: number, isLittle: boolean): number =>
  isLittle ? buffer.readDoubleLE(at) : buffer.readDoubleBE(at);
