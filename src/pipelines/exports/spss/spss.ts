import { PermanentFailure } from '../../../errors.ts';
import type { ResponseRecord } from '../../../stores/clickhouse/responses.ts';
import { ResponseChanged, type Writer } from '../writer.ts';
import { createByteBuffer } from './byte-buffer.ts';
import { compressionBias, encodeDictionary, segmentWidths, unitsOf } from './dictionary.ts';
import {
  asNumber,
  caseValue,
  labelMissing,
  maxTextBytes,
  mayBeMissingValue,
  metadataNumber,
  type Variable,
  variablesOf,
  withoutPadding,
} from './variables.ts';

/**
 * An SPSS system file. Reads all responses twice, because text widths and the number of cases precede the cases.
 */
export const writeSpss: Writer = async ({ survey, layout, createdAt, batches, scan }, sink) => {
  const measured = variablesOf(layout);
  const cases = await measure(measured, scan());
  const variables = measured.filter(({ isJson, width }) => isJson !== true || width <= maxTextBytes);
  if (variables.length === 0)
    throw new PermanentFailure(
      `The metadata of a response takes more than the ${maxTextBytes} bytes of a text in SPSS: ask for its keys, as metadata.KEY`,
    );
  await sink.write(encodeDictionary({ variables, title: survey.title, createdAt, cases }));
  const writer = createCases(variables);
  let written = 0;
  for await (const batch of batches) {
    for (const record of batch) {
      writer.add(record);
      if (writer.length() >= pieceBytes) await sink.write(writer.take());
    }
    written += batch.length;
    await sink.write(writer.take());
  }
  await sink.write(writer.end());
  if (written !== cases) throw new ResponseChanged();
};

/** Cases are written once they have this many bytes: one long answer widens every case of the file. */
const pieceBytes = 1 << 20;

/**
 * Makes every text variable as wide as its longest text, and those of the metadata numbers if all their texts are;
 * resolves with the number of responses.
 */
async function measure(
  variables: readonly Variable[],
  batches: AsyncIterable<readonly ResponseRecord[]>,
): Promise<number> {
  const texts = variables.filter(({ width }) => width > 0);
  const ruled = variables.filter(({ rule }) => rule).map((variable) => ({ variable, range: createRange(variable) }));
  const numbers = new Set(texts.filter(({ isMetadata }) => isMetadata));
  let cases = 0;
  for await (const batch of batches) {
    for (const record of batch) {
      for (const { variable, range } of ruled) range.add(variable.read(record));
      for (const variable of texts) {
        const text = String(variable.read(record));
        variable.width = Math.max(variable.width, Buffer.byteLength(text));
        if (text !== '' && numbers.has(variable) && metadataNumber(text) === null) numbers.delete(variable);
      }
    }
    cases += batch.length;
  }
  for (const variable of numbers) asNumber(variable);
  for (const { variable, range } of ruled) labelMissing(variable, range);
  return cases;
}

/** What the answers of a variable leave for the values that say why one is missing. */
function createRange({ values }: Variable) {
  const range = {
    least: Math.min(0, ...values.flatMap(({ value }) => (typeof value === 'number' ? [value] : []))),
    texts: new Set<string>(),
    add(value: number | string | null): void {
      if (typeof value === 'number') range.least = Math.min(range.least, value);
      if (typeof value !== 'string') return;
      const text = withoutPadding(value);
      if (mayBeMissingValue(text)) range.texts.add(text);
    },
  };
  return range;
}

const codes = { end: 252, literal: 253, blanks: 254, missing: 255 } as const;
const codesTogether = 8;
const unitBytes = 8;
const blanks = Buffer.alloc(unitBytes, ' ');

/** Writes cases compressed by bytecodes: eight codes, then the units of eight bytes that have no code. */
function createCases(variables: readonly Variable[]) {
  const done = createByteBuffer(1 << 20);
  const literals = createByteBuffer(64);
  let block: number[] = [];
  const code = (value: number) => {
    block.push(value);
    if (block.length === codesTogether) flush();
  };
  const flush = () => {
    while (block.length < codesTogether) block.push(0);
    for (const value of block) done.byte(value);
    done.bytes(literals.take());
    block = [];
  };
  const unit = (bytes: Uint8Array) => {
    if (blanks.equals(bytes)) return code(codes.blanks);
    literals.bytes(bytes);
    code(codes.literal);
  };
  const blankUnits = (count: number) => {
    let left = count;
    for (; left > 0 && block.length > 0; left -= 1) code(codes.blanks);
    done.repeat(codes.blanks, left - (left % codesTogether));
    for (left %= codesTogether; left > 0; left -= 1) code(codes.blanks);
  };
  /** Each segment begins a new unit and holds as many bytes of the text as it is wide. */
  const text = (value: Buffer, widths: readonly number[]) => {
    let [at, blankAfter] = [0, 0];
    for (const width of widths) {
      blankAfter += unitsOf(width);
      if (at >= value.length) continue;
      const held = value.subarray(at, at + width);
      const padded = Buffer.alloc(Math.ceil(held.length / unitBytes) * unitBytes, ' ');
      held.copy(padded);
      for (let start = 0; start < padded.length; start += unitBytes) unit(padded.subarray(start, start + unitBytes));
      at += held.length;
      blankAfter -= padded.length / unitBytes;
    }
    // One long answer makes all others as wide as it: most units of a file may be these.
    blankUnits(blankAfter);
  };
  const number = (value: number | null) => {
    if (value === null) return code(codes.missing);
    const short = value + compressionBias;
    if (Number.isInteger(value) && short >= 1 && short <= 251) return code(short);
    literals.double(value);
    code(codes.literal);
  };
  const layouts = variables.map((variable) => ({ variable, widths: segmentWidths(variable.width) }));
  return {
    add(record: ResponseRecord): void {
      for (const { variable, widths } of layouts) {
        const value = caseValue(variable, record);
        if (variable.width === 0) {
          number(typeof value === 'number' ? value : null);
          continue;
        }
        const bytes = Buffer.from(String(value ?? ''));
        if (bytes.length > variable.width) throw new ResponseChanged();
        text(bytes, widths);
      }
    },
    /** Bytes that `take` would give. */
    length: (): number => done.length,
    take: (): Buffer => done.take(),
    end(): Buffer {
      code(codes.end);
      if (block.length > 0) flush();
      return done.take();
    },
  };
}
