import type { NoticeName } from '../../../src/http/page-state.ts';
import { retryAfterOf } from './backoff.ts';
import { fetchWithin } from './fetch-within.ts';

/** What a submission came to. */
export type SubmitResult =
  | ({ kind: 'accepted' } & AcceptedReply)
  /** The same request may succeed later. */
  | { kind: 'later'; cause: 'offline' | 'busy'; retryAfterSeconds: number | undefined }
  /** Answers were refused: indexes into the submission's, or ids of questions that lack one. */
  | { kind: 'invalid'; paths: readonly string[] }
  /** The service takes no body of this size. */
  | { kind: 'tooLarge' }
  /** The response cannot go on under its id. */
  | { kind: 'otherResponse' }
  | { kind: 'alreadyComplete' }
  /** The survey, or the build of the page, is too old. */
  | { kind: 'reload' }
  | { kind: 'refused'; notice: NoticeName };

interface SubmitCall {
  surveyId: string;
  surveyToken: string | undefined;
  body: string;
  isInvited: boolean;
}

const timeoutMs = 30_000;

/** Sends one submission; never throws. */
export async function submit(call: SubmitCall): Promise<SubmitResult> {
  let reply: Response;
  let text: string;
  try {
    reply = await fetchWithin(timeoutMs, `/api/v1/responses/surveys/${call.surveyId}/submit`, {
      method: 'POST',
      body: call.body,
      headers: {
        'content-type': 'application/json',
        ...(call.surveyToken !== undefined && { 'x-survey-token': call.surveyToken }),
      },
      // Goes on when the page is left; browsers take at most 64 KiB for that.
      keepalive: call.body.length < 20_000,
    });
    text = await reply.text();
  } catch {
    return { kind: 'later', cause: 'offline', retryAfterSeconds: undefined };
  }
  return readReply(call, reply, text);
}

function readReply(call: SubmitCall, reply: Response, text: string): SubmitResult {
  const body = parsed(text);
  if (reply.status === 201 && body?.data) return { ...body.data, kind: 'accepted' };
  // Anything that the service itself did not say comes from what stands before it, and may pass.
  const isTemporary = reply.status >= 500 || reply.status === 429 || reply.status === 408 || !body?.code;
  if (isTemporary) {
    const retryAfterSeconds = retryAfterOf(reply.headers.get('retry-after'), Date.now());
    return { kind: 'later', cause: 'busy', retryAfterSeconds };
  }
  return refusalOf(call, reply.status, body);
}

interface AcceptedReply {
  isComplete: boolean;
  resumeToken?: string;
  outcome?: string;
}

interface ReplyBody {
  data?: AcceptedReply;
  code?: string;
  details?: readonly { path: string }[] | { reason?: string; state?: string };
}

function parsed(text: string): ReplyBody | undefined {
  try {
    return JSON.parse(text) as ReplyBody;
  } catch {
    return undefined;
  }
}

/** By the reason of a refusal, or by its state where a reason stands for several. */
const notices: Readonly<Record<string, NoticeName>> = {
  SURVEY_NOT_OPEN_YET: 'notOpenYet',
  SURVEY_ENDED: 'ended',
  SURVEY_TOKEN_NEEDED: 'private',
  INVITATION_USED: 'usedInvitation',
  INVITATION_REVOKED: 'revokedInvitation',
  INVITATION_EXPIRED: 'expiredInvitation',
  QUOTA_REACHED: 'full',
  CLOSED: 'closed',
  PAUSED: 'paused',
  NOT_OPEN_YET: 'notOpenYet',
  ENDED: 'ended',
  DELETED: 'ended',
};

/** Besides an id of another response: a response that was deleted meanwhile, or whose token no longer counts. */
const otherResponseReasons: ReadonlySet<string> = new Set([
  'IDEMPOTENCY_MISMATCH',
  'WRONG_RESUME_TOKEN',
  'RESPONSE_NOT_FOUND',
]);

function refusalOf(call: SubmitCall, status: number, { details }: ReplyBody): SubmitResult {
  const list = Array.isArray(details) ? details : [];
  const { reason = '', state = '' } = (Array.isArray(details) ? {} : (details ?? {})) as Record<string, string>;
  if (status === 413) return { kind: 'tooLarge' };
  if (status === 400) return { kind: 'invalid', paths: list.map(({ path }) => path) };
  if (reason === 'ALREADY_COMPLETE') return { kind: 'alreadyComplete' };
  if (otherResponseReasons.has(reason)) return { kind: 'otherResponse' };
  if (reason === 'VERSION_GONE') return { kind: 'reload' };
  const notice = notices[reason] ?? notices[state];
  if (notice) return { kind: 'refused', notice };
  if (status === 403) return { kind: 'refused', notice: call.isInvited ? 'wrongInvitation' : 'private' };
  return { kind: 'refused', notice: status === 404 ? 'unknown' : 'closed' };
}
