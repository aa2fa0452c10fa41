import { inflateSync } from 'node:zlib';
import { decodeWindows1252 } from './decode.ts';

/** A value of a case: numbers, texts without their trailing blanks, null where system-missing. */
export type SpssValue = number | string | null;

export interface SpssVariable {
  /** Unique regardless of case; the long name where the file has one. */
  name: string;
  /** '' if there is none. */
  label: string;
  /** 0 for a number, otherwise the bytes of the text. */
  width: number;
  /** Number of the print format, such as 5 for F and 22 for DATETIME. */
  format: number;
  /** Labels by value, in the file's order. */
  labels: ReadonlyMap<number | string, string>;
  /** Whether a value is declared as missing by the file's author. */
  isUserMissing(value: number | string): boolean;
}

/** A multiple response set: indices of its variables. */
export interface SpssSet {
  label: string;
  variables: readonly number[];
  /** The value that means a chosen option, in a set of dichotomies; undefined in a set of categories. */
  counted: number | string | undefined;
}

export interface SpssFile {
  variables: readonly SpssVariable[];
  sets: readonly SpssSet[];
  cases: readonly (readonly SpssValue[])[];
}

/** Whether the bytes begin as a system file does. */
export const isSpssFile = (bytes: Uint8Array): boolean =>
  /^\$FL[23]$/.test(Buffer.from(bytes.subarray(0, 4)).toString('latin1'));

/**
 * Reads an SPSS system file (.sav or .zsav), as documented in the PSPP Developers Guide, “System File Format”: both
 * byte orders, uncompressed, compressed by bytecodes or by zlib, with long names, very long texts, labels of values,
 * missing values and multiple response sets. Throws an Error that says what is wrong with a damaged file.
 */
export function readSpssFile(bytes: Uint8Array): SpssFile {
  const input = createInput(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  const head = readHead(input);
  const records = readRecords(input);
  const text = decoderOf(records);
  const segments = segmentsOf(records, text);
  const variables = segments.map((segment) => variableOf(segment, records, text));
  const units = createUnits(dataOf(input, head), { ...head, isLittle: input.isLittle });
  const cases = readCases(units, { records, segments, text });
  return { variables, sets: setsOf(records, segments, text), cases };
}

class DamagedFile extends Error {
  constructor(what: string) {
    super(`The SPSS file cannot be read: ${what}`);
    this.name = 'DamagedFile';
  }
}

/** Reads from left to right. Throws DamagedFile past the end. */
function createInput(buffer: Buffer) {
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

type Input = ReturnType<typeof createInput>;

const intIn = (buffer: Buffer, at: number, isLittle: boolean): number =>
  isLittle ? buffer.readInt32LE(at) : buffer.readInt32BE(at);

const doubleIn = (buffer: Buffer, at: number, isLittle: boolean): number =>
  isLittle ? buffer.readDoubleLE(at) : buffer.readDoubleBE(at);

interface Head {
  compression: 'none' | 'bytecode' | 'zlib';
  bias: number;
}

const compressions = ['none', 'bytecode', 'zlib'] as const;

function readHead(input: Input): Head {
  input.bytes(64);
  const layout = input.bytes(4);
  input.isLittle = layout.readInt32LE(0) === 2 || layout.readInt32LE(0) === 3;
  if (!input.isLittle && layout.readInt32BE(0) !== 2 && layout.readInt32BE(0) !== 3)
    throw new DamagedFile('its layout is unknown');
  input.int();
  const compression = compressions[input.int()];
  if (compression === undefined) throw new DamagedFile('its compression is unknown');
  // The weight variable and the number of cases, which may be unknown: the cases themselves end the file.
  input.int();
  input.int();
  const bias = input.double();
  input.bytes(9 + 8 + 64 + 3);
  return { compression, bias };
}

/** A variable record: one unit of eight bytes of a case. */
interface Unit {
  /** 0 for a number, −1 for the continuation of a text, otherwise the bytes of a text. */
  width: number;
  name: string;
  label: Buffer;
  format: number;
  /** Values or the ends of a range, each of eight bytes. */
  missing: readonly Buffer[];
  hasMissingRange: boolean;
}

interface ValueLabels {
  labels: readonly (readonly [value: Buffer, label: Buffer])[];
  /** Units from 0. */
  units: readonly number[];
}

interface Records {
  units: readonly Unit[];
  valueLabels: readonly ValueLabels[];
  extensions: ReadonlyMap<number, readonly Buffer[]>;
  systemMissing: number;
  codePage: number;
  isLittle: boolean;
}

const recordTypes = { variable: 2, valueLabels: 3, variableIndex: 4, document: 6, extension: 7, end: 999 } as const;
const extensionTypes = {
  integers: 3,
  floats: 4,
  sets: 7,
  longNames: 13,
  longTexts: 14,
  newerSets: 19,
  encoding: 20,
  longLabels: 21,
  longMissing: 22,
} as const;

function readRecords(input: Input): Records {
  const units: Unit[] = [];
  const valueLabels: ValueLabels[] = [];
  const extensions = new Map<number, Buffer[]>();
  for (;;) {
    const type = input.int();
    if (type === recordTypes.variable) units.push(readUnit(input));
    else if (type === recordTypes.valueLabels) valueLabels.push(readValueLabels(input));
    else if (type === recordTypes.document) input.bytes(input.int() * 80);
    else if (type === recordTypes.extension) {
      const [subtype, size, count] = [input.int(), input.int(), input.int()];
      extensions.set(subtype, [...(extensions.get(subtype) ?? []), input.bytes(size * count)]);
    } else if (type === recordTypes.end) {
      input.int();
      break;
    } else throw new DamagedFile(`record type ${type} is unknown`);
  }
  if (units.length === 0) throw new DamagedFile('it has no variables');
  const [floats] = extensions.get(extensionTypes.floats) ?? [];
  const [integers] = extensions.get(extensionTypes.integers) ?? [];
  return {
    units,
    valueLabels,
    extensions,
    systemMissing: floats && floats.length >= 8 ? doubleIn(floats, 0, input.isLittle) : -Number.MAX_VALUE,
    // The last of eight integers is the code page of all texts.
    codePage: integers && integers.length >= 32 ? intIn(integers, 28, input.isLittle) : 0,
    isLittle: input.isLittle,
  };
}

function readUnit(input: Input): Unit {
  const [width, hasLabel, missingCount, print] = [input.int(), input.int(), input.int(), input.int()];
  input.int();
  const name = input.bytes(8).toString('latin1').trimEnd();
  let label: Buffer = Buffer.alloc(0);
  if (hasLabel === 1) {
    const length = input.int();
    label = input.bytes(length);
    input.bytes(-length & 3);
  }
  if (width < -1 || width > 255 || Math.abs(missingCount) > 3) throw new DamagedFile(`variable ${name} is none`);
  const missing = Array.from({ length: Math.abs(missingCount) }, () => input.bytes(8));
  return { width, name, label, format: (print >> 16) & 0xff, missing, hasMissingRange: missingCount < 0 };
}

function readValueLabels(input: Input): ValueLabels {
  const count = input.int();
  const labels: (readonly [Buffer, Buffer])[] = [];
  for (let index = 0; index < count; index += 1) {
    const value = input.bytes(8);
    const length = input.bytes(1)[0] ?? 0;
    labels.push([value, input.bytes(length)]);
    input.bytes(-(length + 1) & 7);
  }
  if (input.int() !== recordTypes.variableIndex) throw new DamagedFile('labels of values belong to no variable');
  const places = input.int();
  const units: number[] = [];
  for (let index = 0; index < places; index += 1) units.push(input.int() - 1);
  return { labels, units };
}

type TextDecode = (bytes: Uint8Array) => string;

/** Code pages whose texts are decoded as Windows-1252: that one, Latin-1 and ASCII. */
const latinPages: ReadonlySet<number> = new Set([0, 2, 3, 1252, 28_591, 20_127]);

/** The decoding of all texts: the encoding that the file names, else its code page. */
function decoderOf({ extensions, codePage }: Records): TextDecode {
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

/** A variable with its place in each case. Texts over 255 bytes take several variable records. */
interface Segment {
  name: string;
  shortName: string;
  /** The first unit from 0. */
  firstUnit: number;
  /** Bytes of each piece; a number has none. */
  pieces: readonly number[];
  width: number;
  unit: Unit;
}

const maxTextBytes = 32_767;
const pieceBytes = 255;
const pieceStep = 252;
const unitsOf = (width: number): number => Math.max(1, Math.ceil(width / 8));

function segmentsOf({ units, extensions }: Records, text: TextDecode): Segment[] {
  const pairs = (type: number): Map<string, string> =>
    new Map(
      (extensions.get(type) ?? []).flatMap((bytes) =>
        text(bytes)
          .split(/[\t\0]+/)
          .map((pair): [string, string] => {
            const at = pair.indexOf('=');
            return [pair.slice(0, Math.max(at, 0)).toUpperCase(), pair.slice(at + 1)];
          }),
      ),
    );
  const longNames = pairs(extensionTypes.longNames);
  const longWidths = pairs(extensionTypes.longTexts);
  const segments: Segment[] = [];
  let at = 0;
  while (at < units.length) {
    const unit = units[at];
    if (unit === undefined || unit.width < 0) throw new DamagedFile('a text is continued that has not begun');
    const long = unit.width === 0 ? 0 : Number(longWidths.get(unit.name.toUpperCase()) ?? 0);
    if (long > maxTextBytes) throw new DamagedFile(`the text ${unit.name} is too long`);
    const width = long > pieceBytes ? long : unit.width;
    const count = width > pieceBytes ? Math.ceil(width / pieceStep) : 1;
    const pieces = Array.from({ length: width === 0 ? 0 : count }, (_, index) =>
      index < count - 1 ? pieceBytes : width - (count - 1) * pieceStep,
    );
    const shortName = unit.name.toUpperCase();
    segments.push({ name: longNames.get(shortName) ?? unit.name, shortName, firstUnit: at, pieces, width, unit });
    at += pieces.length === 0 ? 1 : pieces.reduce((sum, piece) => sum + unitsOf(piece), 0);
  }
  if (at !== units.length) throw new DamagedFile('a long text has too few variables');
  return segments;
}

function variableOf(segment: Segment, records: Records, text: TextDecode): SpssVariable {
  const { unit, width, name, firstUnit } = segment;
  const isText = width > 0;
  const decode = (bytes: Buffer): number | string =>
    isText ? text(bytes).trimEnd() : doubleIn(bytes, 0, records.isLittle);
  const labels = new Map<number | string, string>();
  for (const record of records.valueLabels)
    if (record.units.includes(firstUnit))
      for (const [value, label] of record.labels) labels.set(decode(value), text(label).trim());
  for (const [value, label] of longLabels(records, name, text)) labels.set(value, label);
  const missing = [...unit.missing.map(decode), ...longMissing(records, name, text)];
  return {
    name,
    width,
    labels,
    label: text(unit.label).trim(),
    format: unit.format,
    isUserMissing: isMissingIn(missing, unit.hasMissingRange),
  };
}

/** Whether a value is among the missing ones; of a range, the first two are its ends. */
function isMissingIn(missing: readonly (number | string)[], hasRange: boolean): SpssVariable['isUserMissing'] {
  const [low, high] = missing;
  const single = new Set(hasRange ? missing.slice(2) : missing);
  const isInRange = (value: number | string): boolean =>
    hasRange && low !== undefined && high !== undefined && value >= low && value <= high;
  return (value) => single.has(value) || isInRange(value);
}

/** The labels of values of texts over eight bytes. */
function longLabels(records: Records, name: string, text: TextDecode): [value: string, label: string][] {
  const found: [string, string][] = [];
  for (const bytes of records.extensions.get(extensionTypes.longLabels) ?? []) {
    const input = createInput(bytes);
    input.isLittle = records.isLittle;
    while (input.position < bytes.length) {
      const isOwn = text(input.bytes(input.int())).toUpperCase() === name.toUpperCase();
      input.int();
      for (let count = input.int(); count > 0; count -= 1) {
        const value = text(input.bytes(input.int())).trimEnd();
        const label = text(input.bytes(input.int())).trim();
        if (isOwn) found.push([value, label]);
      }
    }
  }
  return found;
}

/** The missing values of texts over eight bytes: their first eight bytes. */
function longMissing(records: Records, name: string, text: TextDecode): string[] {
  const found: string[] = [];
  for (const bytes of records.extensions.get(extensionTypes.longMissing) ?? []) {
    const input = createInput(bytes);
    input.isLittle = records.isLittle;
    while (input.position < bytes.length) {
      const isOwn = text(input.bytes(input.int())).toUpperCase() === name.toUpperCase();
      const count = input.bytes(1)[0] ?? 0;
      const width = input.int();
      const values = Array.from({ length: count }, () => text(input.bytes(width)).trimEnd());
      if (isOwn) found.push(...values);
    }
  }
  return found;
}

/** The cases, uncompressed or as bytecodes. */
function dataOf(input: Input, { compression }: Head): Buffer {
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

function createUnits(data: Buffer, { compression, bias, isLittle }: Head & { isLittle: boolean }): Units {
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

function readCases(units: Units, { records: { systemMissing }, segments, text }: CaseOptions): SpssValue[][] {
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

/**
 * Multiple response sets: `$name=C <length> <label> v1 v2`, `$name=D<length> <counted value> <length> <label> v1 v2` or
 * `$name=E <flag> <length> <counted value> …`. Lengths are in bytes; variables have their short names.
 */
function setsOf({ extensions }: Records, segments: readonly Segment[], text: TextDecode): SpssSet[] {
  const places = new Map(segments.map(({ shortName }, place) => [shortName, place]));
  const records = [extensionTypes.sets, extensionTypes.newerSets].flatMap((type) => extensions.get(type) ?? []);
  return records
    .flatMap((bytes) => bytes.toString('latin1').split('\n'))
    .flatMap((line): SpssSet[] => {
      const [head = '', kind] = /^\$[^=]+=(?:(C) |(?:D|E \d+ )(?=\d))/.exec(line) ?? [];
      if (head === '') return [];
      let rest = line.slice(head.length);
      const counted = (): string => {
        const [prefix = '', length] = /^(\d+) /.exec(rest) ?? [];
        const value = rest.slice(prefix.length, prefix.length + Number(length ?? 0));
        rest = rest.slice(prefix.length + value.length + 1);
        return value;
      };
      const chosen = kind === 'C' ? undefined : text(Buffer.from(counted(), 'latin1')).trim();
      const label = text(Buffer.from(counted(), 'latin1'));
      const variables = rest
        .trim()
        .split(/\s+/)
        .flatMap((name) => places.get(name.toUpperCase()) ?? []);
      const isNumber = variables.every((place) => segments[place]?.width === 0);
      return [{ label, variables, counted: chosen === undefined || !isNumber ? chosen : Number(chosen) }];
    });
}
