/** One submission as the intake script takes it. */
export interface IntakeSubmission {
  surveyId: string;
  /** The revision that the submission was checked against. */
  revision: number;
  /** Who is counted under the survey's limit; '' = not to be counted (again). */
  caller: string;
  limit: number;
  /** It is refused unless it is a repeat; the script still counts the limit. */
  mustRefuse: boolean;
  /** The idempotency key as it is remembered: see idempotency.ts; '' = none. */
  keyHash: string;
  /** Of the body, 12 characters; '' where no repeat can be recognised. */
  digest: string;
  /** How a former version knew the submission; undefined while it cannot have taken it. */
  legacy?: LegacyIdentity | undefined;
  isComplete: boolean;
  responseId: string;
  /** The response's id as it is remembered, where the client made it; '' = it did not, or the response goes on. */
  idHash: string;
  /** How many versions of the response the caller has seen; null: a new id of our own whose state nobody will ask for. */
  observedVersion: number | null;
  submittedAtMs: number;
  /** The response store knows no record of the key and the id. */
  isLookupDone: boolean;
  row: string;
  savedState: string;
  /** Idempotency records for the response store, a line each; '' = none. */
  idempotencyRecords: string;
}

/** Of a submission, as a former version kept it. */
export interface LegacyIdentity {
  /** The idempotency key as the client sent it; '' = none. */
  key: string;
  digest: string;
}

export type AppendCode =
  | 'ACCEPTED'
  | 'FILLED'
  | 'REPLAY'
  | 'MISMATCH'
  | 'LIMITED'
  | 'STALE'
  | 'REFUSED'
  | 'QUOTA'
  | 'CHANGED'
  | 'COMPLETE'
  | 'UNKNOWN'
  | 'FROZEN'
  | 'NEWER'
  | 'LOOKUP'
  | 'FULL';

export interface AppendResult {
  code: AppendCode;
  /** −1 where nothing was counted. */
  remaining: number;
  resetMs: number;
  /** REPLAY: whether the response was complete and when it was submitted, as in `1 mwsgqb0z` (see `momentOf`); a former version's reply begins with a brace. */
  text: string;
}
