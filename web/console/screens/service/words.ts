import type { ServiceState } from '../../data/service.ts';
import { formatCount } from '../../parts/format.ts';

export const reasonTexts: Readonly<Record<NonNullable<ServiceState['health']['reason']>, string>> = {
  DRAINING: 'The service is stopping',
  INTAKE_UNAVAILABLE: 'The intake cannot be written to',
  INTAKE_FULL: 'The intake is full',
};

/** A length of time for people: `0 s`, `45 s`, `12 min`, `3 h`, `2 days`. */
export function durationText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

export const bytesText = (bytes: number): string => `${formatCount(Math.round(bytes / 1024 / 1024))} MiB`;

/** What a code means for somebody who runs the service. */
export const refusalTexts: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'A limit of calls was reached',
  SERVICE_UNAVAILABLE: 'A store was away, or the intake was full',
  INTERNAL_ERROR: 'A fault of the service: see its log',
  UNAUTHORIZED: 'No valid session or key',
  FORBIDDEN: 'The role does not allow it',
  NOT_FOUND: 'Not there, or not for this caller',
  VALIDATION_ERROR: 'The call was not well formed',
  CONFLICT: 'It did not fit the state',
  SURVEY_CLOSED: 'The survey takes no responses',
  QUOTA_REACHED: 'The survey is full',
  PAYLOAD_TOO_LARGE: 'The body was too large',
};
