import { assign, setup } from 'xstate';
import type { ClosedReason, Survey, SurveyStatus } from '../domain/survey.ts';

/** What the machine remembers beside its state. */
export interface SurveyContext {
  startsAtMs: number | null;
  endsAtMs: number | null;
  closedReason: ClosedReason | null;
}

export type SurveyEvent =
  /** Somebody sets the status, by Update or by Publish. `isFull`: all seats of the quota are taken. */
  | { type: 'SET_STATUS'; status: SurveyStatus; by: 'update' | 'publish'; isFull: boolean; nowMs: number }
  /** The clock has reached the start or the end. */
  | { type: 'TIME_REACHED'; nowMs: number }
  /** The last seat was taken. */
  | { type: 'QUOTA_FILLED' };

/** What a move asks of the transaction that saves it. */
export type SurveyEffect =
  /** stamp publishedAt and announce survey.published */
  | 'announcePublished'
  /** the same, if the move was asked for by the publish endpoint */
  | 'announceIfPublish'
  | 'stampClosed'
  | 'announceQuota'
  /** the status asked for cannot be had: the end has passed, or no seat is free */
  | 'refuseEnded'
  | 'refuseFull';

const isOver = ({ context, event }: { context: SurveyContext; event: SurveyEvent }) =>
  'nowMs' in event && context.endsAtMs !== null && event.nowMs >= context.endsAtMs;
const isEarly = ({ context, event }: { context: SurveyContext; event: SurveyEvent }) =>
  'nowMs' in event && context.startsAtMs !== null && event.nowMs < context.startsAtMs;
const isFull = ({ event }: { event: SurveyEvent }) => event.type === 'SET_STATUS' && event.isFull;
const wants = (event: SurveyEvent, status: SurveyStatus) => event.type === 'SET_STATUS' && event.status === status;
const hasStarted = ({ context, event }: { context: SurveyContext; event: SurveyEvent }) => !isEarly({ context, event });

/**
 * The life of a survey. Every status may be set from every other, unless the end has passed or the quota is full; `open` alone takes submissions. The machine is pure: the row in
 * Postgres is the truth, and saving and announcing are named effects that the caller carries out.
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
    hasStarted,
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
  // What no state can follow.
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
    /** ACTIVE, but its start is still to come. */
    scheduled: {
      on: {
        TIME_REACHED: [
          { guard: 'isOver', target: 'closed', actions: ['closeByTime', 'stampClosed'] },
          { guard: 'hasStarted', target: 'open' },
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
        // The seat was taken just before somebody paused: the filling still counts.
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

/** The machine's state for a survey's row at a moment. */
export function stateOf(survey: Pick<Survey, 'status' | 'startsAt' | 'endsAt'>, nowMs: number): SurveyState {
  if (survey.status === 'DRAFT') return 'draft';
  if (survey.status === 'PAUSED') return 'paused';
  if (survey.status === 'CLOSED') return 'closed';
  return survey.startsAt !== null && nowMs < survey.startsAt.getTime() ? 'scheduled' : 'open';
}

export function contextOf(survey: Pick<Survey, 'startsAt' | 'endsAt' | 'closedReason'>): SurveyContext {
  return {
    startsAtMs: survey.startsAt?.getTime() ?? null,
    endsAtMs: survey.endsAt?.getTime() ?? null,
    closedReason: survey.closedReason,
  };
}
