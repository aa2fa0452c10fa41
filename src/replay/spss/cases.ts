import { inflateSync } from 'node:zlib';
import { DamagedFile, doubleIn, type Input } from './input.ts';
import type { Head, Records } from './records.ts';
import { pieceBytes, type Segment, unitsOf } from './segments.ts';
import type { TextDecode } from './text.ts';

/** A value of a case: numbers, texts without their trailing blanks, null where system-missing. */
export type SpssValue = number | string | null;

/** The cases, uncompressed or as bytecodes. */
export function dataOf(input: Input, { compression }: Head): Buffer {
  if (compression !== 'zlib') return input.rest();
  input.long();
  const trailerAt = input.long();
  input.long();
  input.seek(trailerAt);
  input.bytes(20);
  const blocks = Array.from({ length: input.int() }, () => {
    input.long();
    return { at: input.long(), size: input.int(), compressedSize: input.int() };
  });
  return Buffer.concat(
    blocks.map(({ at, size, compressedSize }) => {
      input.seek(at);
      return inflateSync(input.bytes(compressedSize), { maxOutputLength: Math.max(size, 1) });
    }),
  );
}

const codes = { padding: 0, end: 252, literal: 253, blanks: 254, missing: 255 } as const;
const codesTogether = 8;

/** The units of eight bytes of all cases, one after the other. */
interface Units {
  isAtEnd(): boolean;
  /** undefined where the file says system-missing by a bytecode. */
  number(): number | undefined;
  /** Writes eight bytes of a text. */
  copy(target: Buffer, at: number): void;
}

export function createUnits(data: Buffer, { compression, bias, isLittle }: Head & { isLittle: boolean }): Units {
  let at = 0;
  const literal = (): number => {
    if (at + 8 > data.length) throw new DamagedFile('it ends in the middle of a case');
    at += 8;
    return at - 8;
  };
  if (compression === 'none')
    return {
      isAtEnd: () => at >= data.length,
      number: () => doubleIn(data, literal(), isLittle),
      copy: (target, to) => void data.copy(target, to, literal(), at),
    };
  let block = 0;
  let place = codesTogether;
  /** The next code; the end where the data end. */
  const next = (): number => {
    for (;;) {
      if (place === codesTogether) {
        if (at + codesTogether > data.length) return codes.end;
        block = literal();
        place = 0;
      }
      const code = data[block + place] ?? codes.end;
      place += 1;
      if (code !== codes.padding) return code;
    }
  };
  const value = (): number => {
    const code = next();
    if (code === codes.end) throw new DamagedFile('it ends in the middle of a case');
    return code;
  };
  return {
    isAtEnd() {
      const isEnd = next() === codes.end;
      place -= 1;
      return isEnd;
    },
    number() {
      const code = value();
      if (code === codes.missing) return undefined;
      return code === codes.literal ? doubleIn(data, literal(), isLittle) : code - bias;
    },
    copy(target, to) {
      const code = value();
      if (code === codes.literal) data.copy(target, to, literal(), at);
      else target.fill(' ', to, to + 8);
    },
  };
}

interface CaseOptions {
  records: Records;
  segments: readonly Segment[];
  text: TextDecode;
}

export function readCases(units: Units, { records: { systemMissing }, segments, text }: CaseOptions): SpssValue[][] {
  const cases: SpssValue[][] = [];
  const pieces = Buffer.alloc(unitsOf(pieceBytes) * 8);
  const readNumber = (): number | null => {
    const value = units.number();
    return value === undefined || value === systemMissing || Number.isNaN(value) ? null : value;
  };
  const readText = ({ pieces: widths, width }: Segment): string => {
    const parts = widths.map((piece) => {
      for (let unit = 0; unit < unitsOf(piece); unit += 1) units.copy(pieces, unit * 8);
      return Buffer.from(pieces.subarray(0, piece));
    });
    return text(Buffer.concat(parts).subarray(0, width)).trimEnd();
  };
  while (!units.isAtEnd())
    cases.push(segments.map((segment) => (segment.width === 0 ? readNumber() : readText(segment))));
  return cases;
}
