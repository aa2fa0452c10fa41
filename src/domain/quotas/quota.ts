import { type Outcome, takesSeat } from '../outcome.ts';

/**
 * The rule of the quota. A survey with a quota has that many seats; each COMPLETED response takes one. The last seat
 * fills the survey, which closes it; from then on nothing is accepted under this revision of the survey, not even if a
 * deletion gives a seat back. Only a new revision (a changed quota, or opening the survey again) lets the free seats be
 * taken.
 *
 * `stores/redis/intake/append.lua`, `delete-response.lua` and `announce-survey.lua` carry this out for the counts that
 * the intake holds; a test holds them against these functions.
 */
export interface SeatCount {
  /** Number of seats; null: any number. */
  quota: number | null;
  /** COMPLETED responses that are accepted and not deleted. */
  completed: number;
  /** All seats were taken at some time under the present revision. */
  isFilled: boolean;
}

/** `filled`: accepted, and it took the last seat. `refused`: the quota is reached, for open responses too. */
export type SeatDecision = 'accepted' | 'filled' | 'refused';

export const isQuotaReached = (quota: number | null, completed: number): boolean =>
  quota !== null && completed >= quota;

/**
 * What becomes of a submission and of the seats. A response with another outcome than COMPLETED needs a free seat, but
 * takes none.
 */
export function takeSeat(seats: SeatCount, outcome: Outcome): [SeatDecision, SeatCount] {
  if (seats.isFilled) return ['refused', seats];
  if (isQuotaReached(seats.quota, seats.completed)) return ['refused', { ...seats, isFilled: true }];
  if (!takesSeat(outcome)) return ['accepted', seats];
  const completed = seats.completed + 1;
  const isFilled = isQuotaReached(seats.quota, completed);
  return [isFilled ? 'filled' : 'accepted', { ...seats, completed, isFilled }];
}

/** The quota of a collector: full by its count alone, and closes nothing. */
export type CollectorSeats = Pick<SeatCount, 'quota' | 'completed'>;

/** The same by a collector whose responses are counted: the survey's seats decide first. */
export function takeCollectorSeat(
  seats: SeatCount,
  collector: CollectorSeats,
  outcome: Outcome,
): [SeatDecision | 'collector full', SeatCount, CollectorSeats] {
  const [decision, next] = takeSeat(seats, outcome);
  if (decision === 'refused') return [decision, next, collector];
  if (isQuotaReached(collector.quota, collector.completed)) return ['collector full', seats, collector];
  return [decision, next, takesSeat(outcome) ? { ...collector, completed: collector.completed + 1 } : collector];
}

/** After a COMPLETED response was deleted. The survey stays filled. */
export const giveSeatBack = (seats: SeatCount): SeatCount => ({
  ...seats,
  completed: Math.max(0, seats.completed - 1),
});

/** After a new revision of the survey was announced, with the same quota or another one. */
export const announceQuota = (seats: SeatCount, quota: number | null): SeatCount => ({
  ...seats,
  quota,
  isFilled: false,
});

/** Whether a change of the quota fills the survey: it was lowered to the responses that there are. */
export const isFilledByChange = (before: number | null, after: number | null, completed: number): boolean =>
  isQuotaReached(after, completed) && !isQuotaReached(before, completed);
