/** An embedded store cannot start; the message is one line that a person can act on. */
export class StartError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message.replace(/\s*\n\s*/g, ' '), options);
    this.name = 'StartError';
  }
}

/** The system's own reason (`EACCES`, `ENOSPC` …) as plain words, for a one-line message. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
