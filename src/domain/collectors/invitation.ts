import type { ValidationIssue } from '../../errors.ts';
import { canonicalLanguage, languageMessage } from '../language.ts';
import { readMetadata } from '../metadata.ts';
import { isPlainText } from '../questions/text-checks.ts';
import { isStorableTime, notStorableTimeMessage } from '../storable-times.ts';
import { parseTimestamp } from '../submission/submission.ts';

/** Statuses as they are stored; a stored one that has expired is shown as EXPIRED. */
const storedInvitationStatuses = ['UNUSED', 'STARTED', 'COMPLETED', 'REVOKED'] as const;
export type StoredInvitationStatus = (typeof storedInvitationStatuses)[number];
export const invitationStatuses = [...storedInvitationStatuses, 'EXPIRED'] as const;
export type InvitationStatus = (typeof invitationStatuses)[number];

/** An invitation as it is asked for, in a row of a file. */
export interface NewInvitation {
  /** How the sender calls the invited person; '' = not at all. */
  reference: string;
  language: string | null;
  expiresAt: Date | null;
  metadata: Readonly<Record<string, string>>;
}

/** An invitation as a submission needs it. */
export interface Invitation {
  id: string;
  collectorId: string;
  /** Keyed hash of its token in hexadecimal. */
  tokenHash: string;
  status: StoredInvitationStatus;
  language: string | null;
  expiresAt: Date | null;
  metadata: Readonly<Record<string, string>>;
}

/** Maximum invitations in one upload. */
export const maxInvitations = 100_000;
const maxReferenceLength = 200;
const knownFields = new Set(['reference', 'language', 'expiresAt', 'metadata']);

/** The status at a moment. */
export const invitationStatusAt = (
  { status, expiresAt }: Pick<Invitation, 'status' | 'expiresAt'>,
  nowMs: number,
): InvitationStatus =>
  (status === 'UNUSED' || status === 'STARTED') && expiresAt !== null && nowMs >= expiresAt.getTime()
    ? 'EXPIRED'
    : status;

/** Reads one row; reports every validation issue with the path of its field. */
export function readInvitation(value: unknown, nowMs: number, report: (issue: ValidationIssue) => void): NewInvitation {
  const blank: NewInvitation = { reference: '', language: null, expiresAt: null, metadata: {} };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report({ path: '', message: 'must be an object' });
    return blank;
  }
  const row = value as Record<string, unknown>;
  for (const key of Object.keys(row))
    if (!knownFields.has(key)) report({ path: key.slice(0, 100), message: 'this field is not known' });
  return {
    reference: readReference(row['reference'], report),
    language: readLanguage(row['language'], report),
    expiresAt: readExpiry(row['expiresAt'], nowMs, report),
    metadata: readMetadata(row['metadata'] ?? {}, report, { isTaken: isPlainText, textRule: withoutNul }),
  };
}

const withoutNul = ', without NUL and lone surrogates';

type Report = (issue: ValidationIssue) => void;

const isAbsent = (value: unknown): value is undefined | null | '' =>
  value === undefined || value === null || value === '';

function readReference(value: unknown, report: Report): string {
  if (isAbsent(value)) return '';
  if (typeof value === 'string' && value.length <= maxReferenceLength && isPlainText(value)) return value;
  report({ path: 'reference', message: `must be a text of at most ${maxReferenceLength} characters${withoutNul}` });
  return '';
}

function readLanguage(value: unknown, report: Report): string | null {
  if (isAbsent(value)) return null;
  const language = typeof value === 'string' ? canonicalLanguage(value) : undefined;
  if (language === undefined) report({ path: 'language', message: languageMessage });
  return language ?? null;
}

function readExpiry(value: unknown, nowMs: number, report: Report): Date | null {
  if (isAbsent(value)) return null;
  const ms = typeof value === 'string' ? parseTimestamp(value) : Number.NaN;
  if (ms > nowMs && isStorableTime(ms)) return new Date(ms);
  report({ path: 'expiresAt', message: expiryMessage(ms) });
  return null;
}

function expiryMessage(ms: number): string {
  if (Number.isNaN(ms)) return 'must be an ISO 8601 time with its zone';
  return isStorableTime(ms) ? 'must lie in the future' : notStorableTimeMessage;
}
