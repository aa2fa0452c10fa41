export const collectorKinds = ['OPEN', 'INVITATION'] as const;
/** `INVITATION`: takes submissions only with the token of one of its invitations. */
export type CollectorKind = (typeof collectorKinds)[number];

/** A way by which responses come to a survey: a link, a panel, a list of invited persons. */
export interface Collector {
  id: string;
  surveyId: string;
  /** Number of the collector in stored responses; 0: the default collector. Given once, never reused. */
  code: number;
  /** Short id for links. */
  linkId: string;
  name: string;
  kind: CollectorKind;
  isActive: boolean;
  opensAt: Date | null;
  closesAt: Date | null;
  /** Complete responses after which it takes no more; null: any number. */
  responseQuota: number | null;
  /** Language of responses that name none; null: the survey's. */
  language: string | null;
  metadata: Readonly<Record<string, string>>;
  /** Deleted collectors are kept, because responses name them. */
  isDeleted: boolean;
  createdAt: Date;
  updatedAt: Date;
}

export const defaultCollectorCode = 0;

/** Collectors that a survey may have, deleted ones included. */
export const maxCollectors = 1000;

export const isDefaultCollector = ({ code }: Pick<Collector, 'code'>): boolean => code === defaultCollectorCode;

/** An open collector as it is made, without limits. */
export function blankCollector({
  nowMs,
  ...ids
}: Pick<Collector, 'id' | 'surveyId' | 'code' | 'linkId'> & { nowMs: number }): Collector {
  const at = new Date(nowMs);
  return {
    ...ids,
    name: '',
    kind: 'OPEN',
    isActive: true,
    opensAt: null,
    closesAt: null,
    responseQuota: null,
    language: null,
    metadata: {},
    isDeleted: false,
    createdAt: at,
    updatedAt: at,
  };
}

/** Whether a collector takes submissions at a moment; everything but `open` is the reason why it does not. */
export type CollectorOpenness = 'open' | 'paused' | 'scheduled' | 'ended' | 'deleted';

/** The rule of open and closed. Whether the quota is full is known to the intake alone. */
export function collectorOpennessOf(
  { isActive, opensAt, closesAt, isDeleted }: Pick<Collector, 'isActive' | 'opensAt' | 'closesAt' | 'isDeleted'>,
  nowMs: number,
): CollectorOpenness {
  if (isDeleted) return 'deleted';
  if (closesAt !== null && nowMs >= closesAt.getTime()) return 'ended';
  if (!isActive) return 'paused';
  return opensAt !== null && nowMs < opensAt.getTime() ? 'scheduled' : 'open';
}
