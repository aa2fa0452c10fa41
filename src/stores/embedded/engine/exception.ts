import type { Engine } from './engine.ts';

/** An error with ClickHouse's message: `Code: 60. DB::Exception: … (UNKNOWN_TABLE)`. */
export class EngineError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = 'EngineError';
    this.code = code;
  }
}

export function engineError(code: number, name: string, message: string): EngineError {
  return new EngineError(code, `Code: ${code}. DB::Exception: ${message} (${name})`);
}

const unknownException = 1002;
const prefix = /^Code: (\d+)\. DB::Exception: /;

/** Converts an error of the engine's library to ClickHouse's form: "Code: N." first, the code's name at the end. */
export async function toEngineError(error: unknown, engine: Pick<Engine, 'selectValue'>): Promise<EngineError> {
  if (error instanceof EngineError) return error;
  const message = (error instanceof Error ? error.message : String(error)).trim();
  const code = Number(prefix.exec(message)?.[1] ?? unknownException);
  let plain = message;
  while (prefix.test(plain)) plain = plain.replace(prefix, '');
  if (/\([A-Z][A-Z0-9_]+\)$/.test(plain)) return new EngineError(code, `Code: ${code}. DB::Exception: ${plain}`);
  const name = await engine.selectValue(`SELECT errorCodeToName(${code})`).catch(() => '');
  return engineError(code, name === '' ? 'UNKNOWN_EXCEPTION' : name, plain);
}

const statusOfCode = new Map<number, number>([
  [516, 403], // AUTHENTICATION_FAILED
  [497, 403], // ACCESS_DENIED
  [159, 408], // TIMEOUT_EXCEEDED
  [48, 501], // NOT_IMPLEMENTED
  [307, 413], // TOO_MANY_BYTES
  // Unknown table, database, function, identifier, type, storage, setting.
  ...[60, 81, 46, 47, 50, 56, 115].map((code) => [code, 404] as const),
  // Syntax, parsing, types, parameters.
  ...[62, 6, 26, 27, 36, 38, 41, 43, 53, 69, 72, 117, 130, 456, 457].map((code) => [code, 400] as const),
]);

/** The HTTP status of ClickHouse's server for this error. */
export function statusOf(error: EngineError): number {
  return statusOfCode.get(error.code) ?? 500;
}
