import { destination, type Logger, pino } from 'pino';

export type Log = Logger;

/** Fields that may carry personal data or a secret; their values never reach the log. */
const redacted = [
  'password',
  'currentPassword',
  'newPassword',
  'accessToken',
  'refreshToken',
  'resumeToken',
  'surveyToken',
  'apiKey',
  'secret',
  'authorization',
  'respondent',
  'answers',
  'metadata',
  'textValue',
  'email',
  'remoteAddress',
];

/**
 * Creates the process's logger: JSON lines on standard error (standard output is for people). Child loggers carry
 * `part`.
 */
export function createLog(level: string, bindings: Record<string, unknown> = {}): Log {
  const options = {
    level,
    base: { pid: process.pid, ...bindings },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redacted.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
  };
  return pino(options, destination({ fd: 2, sync: false }));
}
