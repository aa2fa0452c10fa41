import { validationProblem } from '../errors.ts';

/** A limit for a part of a survey, in bytes as JSON. */
export interface SizeLimit {
  /** The part, as the refusal names it. */
  part: string;
  maxBytes: number;
  /** How to make it smaller. */
  advice: string;
}

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Throws VALIDATION_ERROR if a change exceeds the limit, unless the part is no larger than it was before. */
export function refuseTooLarge(
  { part, maxBytes, advice }: SizeLimit,
  { before, bytes, path = '' }: { before(): number; bytes: number; path?: string },
): void {
  if (bytes <= maxBytes || bytes <= before()) return;
  throw validationProblem([
    { path, message: `${part} would take ${bytes} bytes as JSON, and may take ${maxBytes}: ${advice}` },
  ]);
}
