import { type ByteBuffer, createByteBuffer, truncateToBytes } from './byte-buffer.ts';
import { maxLabelBytes, maxSetLabelBytes, valueLabels } from './labels.ts';
import type { ResponseSet, Variable } from './variables.ts';

/** How the file represents missing, highest and lowest numbers. */
export const systemMissing = -Number.MAX_VALUE;
/** The lowest number that is not missing: the next greater double. */
const lowest = -1.7976931348623155e308;

const segmentBytes = 255;
const segmentStep = 252;

/** A variable in the file's order; texts over 255 bytes take several segments. */
interface Segment {
  variable: Variable;
  shortName: string;
  width: number;
  isFirst: boolean;
}

/** The widths of the segments of a text variable of this width. */
export function segmentWidths(width: number): number[] {
  if (width <= segmentBytes) return [width];
  const count = Math.ceil(width / segmentStep);
  return Array.from({ length: count }, (_, index) =>
    index < count - 1 ? segmentBytes : width - (count - 1) * segmentStep,
  );
}

/** Units of eight bytes that a segment takes in each case. */
export const unitsOf = (width: number): number => (width === 0 ? 1 : Math.ceil(width / 8));

export interface DictionaryOptions {
  variables: readonly Variable[];
  title: string;
  createdAt: Date;
  cases: number;
}

/**
 * The part of a system file before its cases, in UTF-8 and little-endian order, as documented in the PSPP Developers
 * Guide, “System File Format”.
 */
export function encodeDictionary({ variables, title, createdAt, cases }: DictionaryOptions): Buffer {
  const bytes = createByteBuffer(65_536);
  const segments = variables.flatMap(segmentsOf);
  writeHeader(bytes, { title, createdAt, cases, units: segments.reduce((sum, { width }) => sum + unitsOf(width), 0) });
  for (const segment of segments) writeVariable(bytes, segment);
  writeValueLabels(bytes, segments);
  writeMachine(bytes);
  const sets = multipleResponseSets(segments);
  if (sets !== '') writeExtension(bytes, 7, sets);
  writeDisplay(bytes, segments);
  writeExtension(
    bytes,
    13,
    segments
      .filter(({ isFirst }) => isFirst)
      .map(({ shortName, variable }) => `${shortName}=${variable.name}`)
      .join('\t'),
  );
  const long = segments.filter(({ isFirst, variable }) => isFirst && variable.width > segmentBytes);
  if (long.length > 0)
    writeExtension(
      bytes,
      14,
      long.map(({ shortName, variable }) => `${shortName}=${String(variable.width).padStart(5, '0')}\0\t`).join(''),
    );
  writeLongTextValues(bytes, variables);
  writeExtension(bytes, 20, 'UTF-8');
  bytes.int(999);
  bytes.int(0);
  return bytes.take();
}

function segmentsOf(variable: Variable, index: number): Segment[] {
  return segmentWidths(variable.width).map((width, part) => ({
    variable,
    width,
    isFirst: part === 0,
    shortName: part === 0 ? `V${index + 1}` : `S${index.toString(36)}_${part.toString(36)}`.toUpperCase().slice(0, 8),
  }));
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function writeHeader(
  bytes: ByteBuffer,
  { title, createdAt, cases, units }: { title: string; createdAt: Date; cases: number; units: number },
): void {
  bytes.text('$FL2', 4);
  bytes.text('@(#) SPSS DATA FILE survey-service', 60);
  bytes.int(2);
  bytes.int(units);
  // Compressed by bytecodes; no weight variable.
  bytes.int(1);
  bytes.int(0);
  bytes.int(cases);
  bytes.double(compressionBias);
  bytes.text(
    `${String(createdAt.getUTCDate()).padStart(2, '0')} ${months[createdAt.getUTCMonth()]} ${createdAt.toISOString().slice(2, 4)}`,
    9,
  );
  bytes.text(createdAt.toISOString().slice(11, 19), 8);
  bytes.text(truncateToBytes(title, 64), 64);
  bytes.text('', 3);
}

export const compressionBias = 100;

function writeVariable(bytes: ByteBuffer, { variable, shortName, width, isFirst }: Segment): void {
  const label = Buffer.from(isFirst ? truncateToBytes(variable.label, maxLabelBytes) : '');
  const { kind, decimals } = variable.format;
  const format =
    variable.width > 0
      ? (kind << 16) | (Math.min(width, segmentBytes) << 8)
      : (kind << 16) | (variable.format.width << 8) | decimals;
  bytes.int(2);
  bytes.int(width);
  bytes.int(label.length > 0 ? 1 : 0);
  const missing = isFirst && variable.width <= shortTextBytes ? (variable.missing ?? []) : [];
  bytes.int(missing.length);
  bytes.int(format);
  bytes.int(format);
  bytes.text(shortName, 8);
  if (label.length > 0) {
    bytes.int(label.length);
    bytes.bytes(label);
    bytes.bytes(Buffer.alloc(-label.length & 3));
  }
  for (const value of missing) writeValue(bytes, value);
  for (let unit = 1; unit < unitsOf(width); unit += 1) {
    bytes.int(2);
    bytes.int(-1);
    for (let field = 0; field < 4; field += 1) bytes.int(0);
    bytes.text('', 8);
  }
}

/** A number, or a text of a variable of at most eight bytes. */
function writeValue(bytes: ByteBuffer, value: number | string): void {
  if (typeof value === 'number') bytes.double(value);
  else bytes.text(value, shortTextBytes);
}

/** Values of longer texts have records of their own for labels and missing values. */
const shortTextBytes = 8;

function writeValueLabels(bytes: ByteBuffer, segments: readonly Segment[]): void {
  let unit = 1;
  for (const { variable, width, isFirst } of segments) {
    if (isFirst && variable.values.length > 0 && variable.width <= shortTextBytes) {
      bytes.int(3);
      bytes.int(variable.values.length);
      for (const { value, label } of valueLabels(variable.values)) {
        const text = Buffer.from(label);
        writeValue(bytes, value);
        bytes.byte(text.length);
        bytes.bytes(text);
        bytes.bytes(Buffer.alloc(-(text.length + 1) & 7));
      }
      bytes.int(4);
      bytes.int(1);
      bytes.int(unit);
    }
    unit += unitsOf(width);
  }
}

/** Labels (subtype 21) and missing values (subtype 22) of texts over eight bytes. */
function writeLongTextValues(bytes: ByteBuffer, variables: readonly Variable[]): void {
  const long = variables.filter(({ width }) => width > shortTextBytes);
  const labels = createByteBuffer();
  for (const { name, width, values } of long.filter((variable) => variable.values.length > 0)) {
    writeCounted(labels, name);
    labels.int(width);
    labels.int(values.length);
    for (const { value, label } of valueLabels(values)) {
      writeCounted(labels, String(value).padEnd(width));
      writeCounted(labels, label);
    }
  }
  if (labels.length > 0) writeExtensionBytes(bytes, 21, labels.take());
  const missing = createByteBuffer();
  for (const { name, missing: values = [] } of long.filter((variable) => variable.missing?.length)) {
    writeCounted(missing, name);
    missing.byte(values.length);
    missing.int(shortTextBytes);
    for (const value of values) missing.text(String(value), shortTextBytes);
  }
  if (missing.length > 0) writeExtensionBytes(bytes, 22, missing.take());
}

function writeCounted(bytes: ByteBuffer, text: string): void {
  const coded = Buffer.from(text);
  bytes.int(coded.length);
  bytes.bytes(coded);
}

/** Declares little-endian IEEE numbers and UTF-8, and the numbers for missing, highest and lowest. */
function writeMachine(bytes: ByteBuffer): void {
  for (const field of [7, 3, 4, 8, 1, 0, 0, -1, 1, 1, 2, 65_001]) bytes.int(field);
  for (const field of [7, 4, 8, 3]) bytes.int(field);
  for (const field of [systemMissing, Number.MAX_VALUE, lowest]) bytes.double(field);
}

const measures = { nominal: 1, ordinal: 2, scale: 3 };

function writeDisplay(bytes: ByteBuffer, segments: readonly Segment[]): void {
  for (const field of [7, 11, 4, segments.length * 3]) bytes.int(field);
  for (const { variable, width } of segments) {
    bytes.int(measures[variable.measure]);
    bytes.int(width === 0 ? 10 : Math.min(30, Math.max(8, width)));
    bytes.int(width === 0 ? 1 : 0);
  }
}

function writeExtension(bytes: ByteBuffer, subtype: number, text: string): void {
  writeExtensionBytes(bytes, subtype, Buffer.from(text));
}

function writeExtensionBytes(bytes: ByteBuffer, subtype: number, content: Uint8Array): void {
  for (const field of [7, subtype, 1, content.length]) bytes.int(field);
  bytes.bytes(content);
}

/**
 * Multiple response sets, counted where their variables are 1: `$Q3=D1 1 <length> <label> v1 v2`.
 */
function multipleResponseSets(segments: readonly Segment[]): string {
  const sets = new Map<ResponseSet, Segment[]>();
  for (const segment of segments) {
    const { set } = segment.variable;
    if (set) sets.set(set, [...(sets.get(set) ?? []), segment]);
  }
  return [...sets]
    .filter(([, members]) => members.length > 1)
    .map(([set, members]) => {
      const label = truncateToBytes(set.label, maxSetLabelBytes);
      return `$${set.name}=D1 1 ${Buffer.byteLength(label)} ${label} ${members.map(({ shortName }) => shortName.toLowerCase()).join(' ')}\n`;
    })
    .join('');
}
