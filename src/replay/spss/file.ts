import { createUnits, dataOf, readCases, type SpssValue } from './cases.ts';
import { createInput } from './input.ts';
import { readHead, readRecords } from './records.ts';
import { segmentsOf } from './segments.ts';
import { type SpssSet, setsOf } from './sets.ts';
import { decoderOf } from './text.ts';
import { type SpssVariable, variableOf } from './variables.ts';

export interface SpssFile {
  variables: readonly SpssVariable[];
  sets: readonly SpssSet[];
  cases: readonly (readonly SpssValue[])[];
  /** The variable that weights the cases. */
  weight: SpssVariable | undefined;
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
  const weight = variables[segments.findIndex(({ firstUnit }) => firstUnit === head.weightUnit)];
  return { variables, sets: setsOf(records, segments, text), cases, weight };
}
