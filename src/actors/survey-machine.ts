import { assign, setup } from 'xstate';
import { hasEnded, hasStarted, opennessOf } from '../domain/openness.ts';
import type { Survey, SurveyStatus } from '../domain/survey.ts';

/** What the machine knows beside its state. */
export type SurveyContext = Pick<Survey, 'startsAt' | 'endsAt' | 'closedReason'>;

export type SurveyEvent =
  /** Somebody sets the status, with the update or the publish endpoint. `isFull`: all seats of the quota are taken. */
  | { type: 'SET_STATUS'; status: SurveyStatus; by: 'update' | 'publish'; isFull: boolean; nowMs: number }
  /** The clock has reached the start or the end. */
  | { type: 'TIME_REACHED'; nowMs: number }
  /** The last seat was taken. */
  | { type: 'QUOTA_FILLED' };

/** What a transition asks of the transaction that saves it. */
export type SurveyEffect =
  /** Set publishedAt and announce survey.published. */
  | 'announcePublished'
  /** The same, if the publish endpoint asked for the transition. */
  | 'announceIfPublish'
  | 'stampClosed'
  | 'announceQuota'
  /** Refuse the status: the end has passed, or no seat of the quota is free. */
  | 'refuseEnded'
  | 'refuseFull';

interface GuardArgs {
  context: SurveyContext;
  event: SurveyEvent;
}

const isOver = ({ context, event }: GuardArgs) => 'nowMs' in event && hasEnded(context, event.nowMs);
const isEarly = ({ context, event }: GuardArgs) => 'nowMs' in event && !hasStarted(context, event.nowMs);
const isFull = ({ event }: { event: SurveyEvent }) => event.type === 'SET_STATUS' && event.isFull;
const wants = (event: SurveyEvent, status: SurveyStatus) => event.type === 'SET_STATUS' && event.status === status;

/**
 * The life of a survey. Every status may be set from every other, unless the end has passed or the quota is full;
 * `open` alone takes submissions. The machine is pure: the row in PostgreSQL is the truth, and the caller carries out
 * the named effects, which save and announce.
 */
export const surveyMachine = setup({
  types: { context: {} as SurveyContext, events: {} as SurveyEvent, input: {} as SurveyContext },
  guards: {
    toDraft: ({ event }) => wants(event, 'DRAFT'),
    toPaused: ({ context, event }) => wants(event, 'PAUSED') && !isOver({ context, event }),
    toClosed: ({ event }) => wants(event, 'CLOSED'),
    toActiveEarly: ({ context, event }) => wants(event, 'ACTIVE') && isEarly({ context, event }) && !isFull({ event }),
    toActive: ({ context, event }) => wants(event, 'ACTIVE') && !isOver({ context, event }) && !isFull({ event }),
    tooLate: ({ context, event }) => (wants(event, 'ACTIVE') || wants(event, 'PAUSED')) && isOver({ context, event }),
    tooFull: ({ event }) => wants(event, 'ACTIVE') && isFull({ event }),
    isOver,
    isDue: (args) => !isEarly(args),
  },
  actions: {
    announcePublished: () => undefined,
    stampClosed: () => undefined,
    announceIfPublish: () => undefined,
    announceQuota: () => undefined,
    refuseEnded: () => undefined,
    refuseFull: () => undefined,
    reopen: assign({ closedReason: null }),
    closeByHand: assign({ closedReason: 'MANUAL' }),
    closeByTime: assign({ closedReason: 'ENDED' }),
    closeByQuota: assign({ closedReason: 'QUOTA' }),
  },
}).createMachine({
  id: 'survey',
  context: ({ input }) => input,
  initial: 'draft',
  // Refused in every state.
  on: {
    SET_STATUS: [
      { guard: 'tooLate', actions: ['refuseEnded'] },
      { guard: 'tooFull', actions: ['refuseFull'] },
    ],
  },
  states: {
    draft: {
      on: {
        SET_STATUS: [
          { guard: 'toActiveEarly', target: 'scheduled', actions: ['announcePublished'] },
          { guard: 'toActive', target: 'open', actions: ['announcePublished'] },
          { guard: 'toPaused', target: 'paused' },
          { guard: 'toClosed', target: 'closed', actions: ['closeByHand', 'stampClosed'] },
        ],
      },
    },
    /** ACTIVE, but before its start. */
    scheduled: {
      on: {
        TIME_REACHED: [
          { guard: 'isOver', target: 'closed', actions: ['closeByTime', 'stampClosed'] },
          { guard: 'isDue', target: 'open' },
        ],
        SET_STATUS: [
          { guard: 'toDraft', target: 'draft' },
          { guard: 'toPaused', target: 'paused' },
          { guard: 'toClosed', target: 'closed', actions: ['closeByHand', 'stampClosed'] },
        ],
      },
    },
    open: {
      tags: ['accepting'],
      on: {
        TIME_REACHED: { guard: 'isOver', target: 'closed', actions: ['closeByTime', 'stampClosed'] },
        QUOTA_FILLED: { target: 'closed', actions: ['closeByQuota', 'stampClosed', 'announceQuota'] },
        SET_STATUS: [
          { guard: 'toDraft', target: 'draft' },
          { guard: 'toPaused', target: 'paused' },
          { guard: 'toClosed', target: 'closed', actions: ['closeByHand', 'stampClosed'] },
        ],
      },
    },
    paused: {
      on: {
        TIME_REACHED: { guard: 'isOver', target: 'closed', actions: ['closeByTime', 'stampClosed'] },
        // The last seat was taken just before the survey was paused: the quota is filled all the same.
        QUOTA_FILLED: { target: 'closed', actions: ['closeByQuota', 'stampClosed', 'announceQuota'] },
        SET_STATUS: [
          { guard: 'toActiveEarly', target: 'scheduled', actions: ['announceIfPublish'] },
          { guard: 'toActive', target: 'open', actions: ['announceIfPublish'] },
          { guard: 'toDraft', target: 'draft' },
          { guard: 'toClosed', target: 'closed', actions: ['closeByHand', 'stampClosed'] },
        ],
      },
    },
    closed: {
      on: {
        SET_STATUS: [
          { guard: 'toActiveEarly', target: 'scheduled', actions: ['reopen', 'announceIfPublish'] },
          { guard: 'toActive', target: 'open', actions: ['reopen', 'announceIfPublish'] },
          { guard: 'toDraft', target: 'draft', actions: ['reopen'] },
          { guard: 'toPaused', target: 'paused', actions: ['reopen'] },
        ],
      },
    },
  },
});

export type SurveyState = 'draft' | 'scheduled' | 'open' | 'paused' | 'closed';

export const statusOfState: Record<SurveyState, SurveyStatus> = {
  draft: 'DRAFT',
  scheduled: 'ACTIVE',
  open: 'ACTIVE',
  paused: 'PAUSED',
  closed: 'CLOSED',
};

/**
 * The machine's state for a survey's row at a moment. Past its end an ACTIVE survey is `open` until TIME_REACHED closes
 * it.
 */
export function stateOf(survey: Parameters<typeof opennessOf>[0], nowMs: number): SurveyState {
  if (survey.status === 'DRAFT') return 'draft';
  if (survey.status === 'PAUSED') return 'paused';
  if (survey.status === 'CLOSED') return 'closed';
  return opennessOf(survey, nowMs) === 'scheduled' ? 'scheduled' : 'open';
}

export const contextOf = ({ startsAt, endsAt, closedReason }: Survey): SurveyContext => ({
  startsAt,
  endsAt,
  closedReason,
});
