import { DamagedFile, doubleIn, type Input, intIn } from './input.ts';

export interface Head {
  compression: 'none' | 'bytecode' | 'zlib';
  bias: number;
  /** The unit of the variable that weights the cases, from 0; −1 if none does. */
  weightUnit: number;
}

const compressions = ['none', 'bytecode', 'zlib'] as const;

export function readHead(input: Input): Head {
  input.bytes(64);
  const layout = input.bytes(4);
  input.isLittle = layout.readInt32LE(0) === 2 || layout.readInt32LE(0) === 3;
  if (!input.isLittle && layout.readInt32BE(0) !== 2 && layout.readInt32BE(0) !== 3)
    throw new DamagedFile('its layout is unknown');
  input.int();
  const compression = compressions[input.int()];
  if (compression === undefined) throw new DamagedFile('its compression is unknown');
  const weightUnit = input.int() - 1;
  // The number of cases, which may be unknown: the cases themselves end the file.
  input.int();
  const bias = input.double();
  input.bytes(9 + 8 + 64 + 3);
  return { compression, bias, weightUnit };
}

/** A variable record: one unit of eight bytes of a case. */
export interface Unit {
  /** 0 for a number, −1 for the continuation of a text, otherwise the bytes of a text. */
  width: number;
  /** The short name with its padding, in the encoding of the file. */
  name: Buffer;
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

export interface Records {
  units: readonly Unit[];
  valueLabels: readonly ValueLabels[];
  extensions: ReadonlyMap<number, readonly Buffer[]>;
  systemMissing: number;
  codePage: number;
  isLittle: boolean;
}

const recordTypes = { variable: 2, valueLabels: 3, variableIndex: 4, document: 6, extension: 7, end: 999 } as const;
export const extensionTypes = {
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

export function readRecords(input: Input): Records {
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
  const name = input.bytes(8);
  let label: Buffer = Buffer.alloc(0);
  if (hasLabel === 1) {
    const length = input.int();
    label = input.bytes(length);
    input.bytes(-length & 3);
  }
  if (width < -1 || width > 255 || Math.abs(missingCount) > 3)
    throw new DamagedFile(`variable ${name.toString('latin1').trimEnd()} is none`);
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
