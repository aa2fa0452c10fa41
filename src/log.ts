import { pino, type Logger } from 'pino';

export type Log = Logger;

/** Fields that may carry personal data or a secret; their values never reach the log. */
const redacted = [
  'password', 'currentPassword', 'newPassword', 'accessToken', 'refreshToken', 'resumeToken', 'surveyToken', 'apiKey',
  'secret', 'authorization', 'respondent', 'answers', 'metadata', 'textValue', 'email', 'remoteAddress',
];

/** JSON lines on standard output; one logger a process, children carry `part`. */
export function createLog(level: string, bindings: Record<string, unknown> = {}): Log {
  return pino({
    level,
    base: { pid: process.pid, ...bindings },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: redacted.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
  });
}
