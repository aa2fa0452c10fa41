import { isCompleteOutcome, type Outcome, outcomeOfNumber } from '../../domain/outcome.ts';
import { responseIdFromKey } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { decodeMoment } from '../../stores/redis/intake/append-protocol.ts';
import type { SubmissionRequest } from './request.ts';

/** The parts of an idempotency record that a repeat's reply is made from. */
export interface AcceptedSubmission {
  outcome: Outcome;
  submittedAtMs: number;
}

type ReplyDeps = { secrets: Pick<Secrets, 'resumeToken'> };
type RepeatedRequest = Pick<SubmissionRequest, 'surveyId' | 'submission' | 'idempotencyKey'>;

/** An idempotency key this long is taken to be random, as a UUID is: only who sent it knows it. */
const secretKeyLength = 16;

/** What a reply says beside the response's id and time, where its survey has paths or quotas by cell. */
export interface PathReply {
  outcome: Outcome;
  /** The quota by cell that was full. */
  quota?: { id: string; name: string };
  /** Answers that were not stored. */
  ignored?: readonly { questionId: string; reason: 'NOT_ON_PATH' }[];
}

/** Characters of a question's id in `ignoredText`. */
const idLength = 22;
/** Before whole ids. Earlier versions kept the last twelve digits of each, without this. */
const wholeIds = '+';
const idDigits = 12;

/** The intake keeps for repeats what a reply says of answers off the path: a slash, a plus and the ids. */
export function ignoredText(path: PathReply | undefined): string {
  if (!path) return '';
  const ids = (path.ignored ?? []).map(({ questionId }) =>
    Buffer.from(questionId.replaceAll('-', ''), 'hex').toString('base64url'),
  );
  return ids.length === 0 ? '/' : `/${wholeIds}${ids.join('')}`;
}

/**
 * The same read again; undefined where the text says nothing of paths. `questions`: those of the survey, among which ids
 * that an earlier version has shortened are found.
 */
export function readIgnored(text: string, questions: readonly { id: string }[]): PathReply['ignored'] | undefined {
  if (text === '') return undefined;
  const isWhole = text[1] === wholeIds;
  const ids = isWhole
    ? piecesOf(text.slice(2), idLength).map(wholeId)
    : piecesOf(text.slice(1), idDigits).map((end) => questions.find(({ id }) => id.endsWith(end))?.id);
  return ids.flatMap((questionId) => (questionId === undefined ? [] : [{ questionId, reason: 'NOT_ON_PATH' }]));
}

const piecesOf = (text: string, length: number): string[] => text.match(new RegExp(`.{${length}}`, 'g')) ?? [];

const wholeId = (text: string): string =>
  Buffer.from(text, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** The `data` of a reply as JSON text. Nothing is escaped: ids, times and tokens hold no character that needs it. */
export function replyText(
  responseId: string,
  submittedAtMs: number,
  resumeToken: string | undefined,
  path?: PathReply,
): string {
  const token = resumeToken === undefined ? '' : `,"resumeToken":"${resumeToken}"`;
  const more = path ? `,${pathText(path)}` : '';
  return `{"responseId":"${responseId}","isComplete":${resumeToken === undefined},"submittedAt":"${isoTime(submittedAtMs)}"${token}${more}}`;
}

/** Most replies have the outcome only, which needs no escaping. */
const pathText = (path: PathReply): string =>
  path.quota || path.ignored ? JSON.stringify(path).slice(1, -1) : `"outcome":"${path.outcome}"`;

let lastIso = { ms: Number.NaN, text: '' };

/** Formats each millisecond once: many submissions share one. */
function isoTime(ms: number): string {
  if (lastIso.ms !== ms) lastIso = { ms, text: new Date(ms).toISOString() };
  return lastIso.text;
}

/**
 * The first submission's reply for its repeat. The response's id is in the request, or derived from the idempotency
 * key. A key that a stranger may guess brings no resume token, which opens the response.
 */
export function replayedReply(
  { secrets }: ReplyDeps,
  { surveyId, submission, idempotencyKey = '' }: RepeatedRequest,
  keyHash: string,
  { outcome, submittedAtMs }: AcceptedSubmission,
  path?: PathReply,
): string {
  const responseId = submission?.responseId ?? responseIdFromKey(submittedAtMs, keyHash);
  const reply = replyText(
    responseId,
    submittedAtMs,
    isCompleteOutcome(outcome) ? undefined : secrets.resumeToken(surveyId, responseId),
    path && { ...path, outcome },
  );
  return submission?.responseId !== undefined || idempotencyKey.length >= secretKeyLength
    ? reply
    : reply.replace(/,"resumeToken":"[^"]*"/, '');
}

/**
 * The same from the text of the intake's REPLAY; earlier versions stored the whole reply, or an object of both fields.
 */
export function replayedReplyFrom(
  deps: ReplyDeps,
  request: RepeatedRequest,
  keyHash: string,
  text: string,
  path?: PathReply,
): string {
  if (!text.startsWith('{')) {
    const [outcome, submittedAt = ''] = text.split(/[ /]/);
    const accepted = { outcome: outcomeOfNumber(Number(outcome)), submittedAtMs: decodeMoment(submittedAt) };
    return replayedReply(deps, request, keyHash, accepted, path);
  }
  if (!text.startsWith('{"isComplete"')) return text;
  const { isComplete, submittedAt } = JSON.parse(text) as { isComplete: boolean; submittedAt: string };
  return replayedReply(deps, request, keyHash, {
    outcome: isComplete ? 'COMPLETED' : 'PARTIAL',
    submittedAtMs: Date.parse(submittedAt),
  });
}
