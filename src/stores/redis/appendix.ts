/** One submission as the intake script takes it. */
export interface Appendix {
  surveyId: string;
  /** The revision that the submission was checked against. */
  revision: number;
  /** Who is counted under the survey's limit; '' = not to be counted (again). */
  caller: string;
  limit: number;
  /** A refusal that was found before; the script still counts the limit and looks for a replay. */
  refusal: string;
  idempotencyKey: string;
  digest: string;
  isComplete: boolean;
  responseId: string;
  /** How many versions of the response the caller has seen; null: a new id of our own whose state nobody will ask for. */
  seen: number | null;
  row: string;
  reply: string;
  state: string;
}

export type AppendCode =
  | 'ACCEPTED' | 'FILLED' | 'REPLAY' | 'MISMATCH' | 'LIMITED' | 'STALE' | 'REFUSED' | 'QUOTA' | 'CHANGED' | 'COMPLETE' | 'UNKNOWN' | 'HELD' | 'NEWER';

export interface AppendResult {
  code: AppendCode;
  /** −1 where nothing was counted. */
  remaining: number;
  resetMs: number;
  /** REPLAY: the first reply; REFUSED: the refusal. */
  text: string;
}
