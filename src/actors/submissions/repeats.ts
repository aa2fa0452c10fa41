import { hash } from 'node:crypto';
import { canonicalBody, legacyCanonicalBody } from '../../domain/submission/canonical-body.ts';
import { Problem } from '../../errors.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { IdempotencyRecord } from '../../stores/clickhouse/write/idempotency-records.ts';
import { hashOfKey } from '../../stores/redis/intake/idempotency.ts';
import { refusal } from './refusals.ts';
import { type PathReply, replayedReply } from './reply-text.ts';
import type { SubmissionRequest } from './request.ts';

const digestLength = 12;

/** The first 72 bits of the SHA-256 of a body in canonical form, by which repeats are compared. */
export const bodyDigest = (canonicalText: string): string =>
  hash('sha256', canonicalText, 'base64url').slice(0, digestLength);

/**
 * The body's digest; '' where no repeat can be recognised: without a key, a responseId or an invitation, and complete
 * at once.
 */
export function digestOf({ idempotencyKey, submission, body }: SubmissionRequest): string {
  return submission &&
    idempotencyKey === undefined &&
    submission.responseId === undefined &&
    submission.invitation === undefined &&
    submission.isComplete
    ? ''
    : bodyDigest(canonicalBody(body));
}

/** The digest of the same body that records of an earlier version have. */
export const legacyDigestOf = ({ body }: Pick<SubmissionRequest, 'body'>): string =>
  bodyDigest(legacyCanonicalBody(body));

/** The idempotency key as it is remembered; '' without one. */
export const keyHashOf = ({
  surveyId,
  idempotencyKey,
}: Pick<SubmissionRequest, 'surveyId' | 'idempotencyKey'>): string =>
  idempotencyKey === undefined ? '' : hashOfKey(surveyId, idempotencyKey);

export interface FindReplayDeps {
  /** Records of the response store under the hashes of idempotency keys and response ids, by version. */
  findRecords(hashes: readonly string[]): Promise<IdempotencyRecord[]>;
  secrets: Pick<Secrets, 'resumeToken'>;
}

/** A submission whose key or id may have been used in the last days, and the hash of that id ('' = none). */
export interface PossibleRepeat {
  request: SubmissionRequest;
  keyHash: string;
  idHash: string;
  digest: string;
  /** What the first reply said of the path. */
  pathOf(record: IdempotencyRecord): Promise<PathReply | undefined>;
}

/**
 * Looks in the response store for an earlier use of the key or the id. Returns the reply of then, a refusal where the
 * body was another, undefined where there was none.
 */
export async function findReplay(
  deps: FindReplayDeps,
  { request, keyHash, idHash, digest, pathOf }: PossibleRepeat,
): Promise<string | Problem | undefined> {
  let records: IdempotencyRecord[];
  try {
    records = await deps.findRecords([keyHash, idHash].filter((recordHash) => recordHash !== ''));
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  const ofKey = records.filter((record) => record.hash === keyHash);
  const known = ofKey.length > 0 ? ofKey : records;
  if (known.length === 0) return undefined;
  const repeated = repeatedSave(known, request, digest);
  if (!repeated) return refusal('otherBody');
  return replayedReply(deps, request, keyHash, repeated, await pathOf(repeated));
}

/**
 * The save that a submission repeats, of all saves of a response in their order: the last one, or the first, whose reply
 * may have been lost. Who goes on with an open response by its token may want the answers of the first again.
 */
export function repeatedSave(
  saves: readonly IdempotencyRecord[],
  request: Pick<SubmissionRequest, 'surveyId' | 'submission' | 'body'>,
  digest: string,
): IdempotencyRecord | undefined {
  const own = saves.filter(({ surveyId }) => surveyId === request.surveyId);
  const [first, last] = [own[0], own.at(-1)];
  const { resumeToken, invitation } = request.submission ?? {};
  const isContinued = last?.outcome === 'PARTIAL' && (resumeToken ?? invitation) !== undefined;
  return [last, isContinued ? undefined : first].find((save) => save && isOfBody(save, request, digest));
}

const isOfBody = (record: IdempotencyRecord, request: Pick<SubmissionRequest, 'body'>, digest: string): boolean =>
  record.digest === digest || (digest !== '' && record.digest === legacyDigestOf(request));
