import { SurveyApiError } from '../../../client/src/index.ts';

/** What happened, in words for somebody who has not read the reference; `details` name fields. */
export interface ProblemText {
  text: string;
  details: { path: string; message: string }[];
  /** Trying the same again later may succeed. */
  isTemporary: boolean;
}

const sentences: Readonly<Record<string, string>> = {
  VALIDATION_ERROR: 'Something in there cannot be taken.',
  UNAUTHORIZED: 'Your session has ended. Please sign in again.',
  FORBIDDEN: 'You do not have the right to do this.',
  NOT_FOUND: 'This is not there any more, or you have no right to see it.',
  CONFLICT: 'This does not fit the present state. Somebody may have changed it meanwhile.',
  CONDITION_BROKEN: 'Other conditions, texts or quotas depend on this.',
  PAYLOAD_TOO_LARGE: 'This is too large.',
  UNSUPPORTED_MEDIA_TYPE: 'This kind of file is not taken.',
  RATE_LIMITED: 'That was too much in a short time. It goes on in a moment.',
  SERVICE_UNAVAILABLE: 'Part of the service is away at the moment. Nothing is lost; please try again shortly.',
  AI_NOT_CONFIGURED: 'No AI provider is set up yet. An administrator can add one under AI settings.',
  AI_QUOTA_EXCEEDED: 'The AI provider has refused: its quota is used up.',
  INTERNAL_ERROR: 'The service made a mistake. It has been recorded.',
};

/** A failure that the console found itself; its message is a sentence for the user. */
export class UserError extends Error {}

/** Whether a call was refused because somebody else has changed what it replaces. */
export const isChangedMeanwhile = (error: unknown): boolean =>
  error instanceof SurveyApiError && (Object(error.details) as { reason?: string }).reason === 'CHANGED_MEANWHILE';

/** Whether the service itself has refused a call, which has changed nothing then. */
export const isRefusal = (error: unknown): error is SurveyApiError =>
  error instanceof SurveyApiError && !error.isForeign && error.status < 500;

/** Whether trying the same again later may succeed. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof SurveyApiError ? error.status === 429 || error.status >= 500 : error instanceof TypeError;

/** Every failure of a call has a sentence here; the service's own message explains refusals that need it. */
export function problemText(error: unknown): ProblemText {
  if (error instanceof SurveyApiError) {
    const known = sentences[error.code];
    const isOwnMessage = ['CONFLICT', 'VALIDATION_ERROR', 'FORBIDDEN'].includes(error.code) || known === undefined;
    return {
      text: isOwnMessage && error.message ? `${known ?? ''} ${sentence(error.message)}`.trim() : (known ?? ''),
      details: Array.isArray(error.details)
        ? error.details.filter((detail): detail is { path: string; message: string } => 'message' in Object(detail))
        : [],
      isTemporary: isTemporary(error),
    };
  }
  if (error instanceof UserError) return { text: error.message, details: [], isTemporary: false };
  if (error instanceof TypeError)
    return { text: 'The service cannot be reached. Please check the connection.', details: [], isTemporary: true };
  return { text: 'Something unexpected happened in this page. Reloading may help.', details: [], isTemporary: false };
}

/** With a capital at the beginning and a full stop at the end. */
export const sentence = (text: string): string => {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
};
