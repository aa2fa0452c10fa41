/** The service cannot start; the message is one line that a person can act on. */
export class StartError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message.replace(/\s*\n\s*/g, ' '), options);
    this.name = 'StartError';
  }
}

export const cannotListen = (host: string, port: number, portSetting: 'PORT' | 'METRICS_PORT'): StartError =>
  new StartError(
    `cannot listen on ${host}:${port}: the port (${portSetting}) is in use or not allowed, or the address (HOST) is none of this machine`,
  );

/** The message of an error, or what was thrown as a text. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
