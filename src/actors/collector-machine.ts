import { setup, transition } from 'xstate';
import { type Collector, collectorOpennessOf, isDefaultCollector } from '../domain/collectors/collector.ts';
import { conflict, validationProblem } from '../errors.ts';
import { refusal } from './submissions/refusals.ts';

/** The fields that decide what a collector does. */
export type CollectorDates = Pick<Collector, 'isActive' | 'opensAt' | 'closesAt'>;

export type CollectorEvent =
  /** Somebody changes it. `next`: what it shall be; `isSwitchedOn`: the change asks for `isActive: true`. */
  | { type: 'CHANGED'; next: CollectorDates; isSwitchedOn: boolean; nowMs: number }
  /** The clock has reached the opening or the closing. */
  | { type: 'TIME_REACHED'; nowMs: number }
  | { type: 'DELETED' };

/** Refusals that a transition asks for. */
export type CollectorEffect = 'refuseEnded' | 'refuseDefault' | 'refuseDeleted';

interface CollectorContext {
  dates: CollectorDates;
  isDefault: boolean;
}

interface GuardArgs {
  context: CollectorContext;
  event: CollectorEvent;
}

/** The state that the dates ask for, after the event. */
const wanted = ({ context, event }: GuardArgs) =>
  event.type === 'DELETED'
    ? undefined
    : collectorOpennessOf(
        { ...(event.type === 'CHANGED' ? event.next : context.dates), isDeleted: false },
        event.nowMs,
      );
const byDates = [
  { guard: 'isEnded', target: 'ended' },
  { guard: 'isPaused', target: 'paused' },
  { guard: 'isScheduled', target: 'scheduled' },
  { guard: 'isOpen', target: 'open' },
] as const;
const changes = {
  CHANGED: [{ guard: 'isTooLate', actions: ['refuseEnded'] }, ...byDates],
  TIME_REACHED: byDates,
  DELETED: [{ guard: 'isDefault', actions: ['refuseDefault'] }, { target: 'deleted' }],
} as const;

/**
 * The life of a collector: `open` alone takes submissions. The machine is pure: the row in PostgreSQL is the truth, and
 * the caller carries out the named effects. Whether the quota is full is decided in the intake, at each submission.
 */
export const collectorMachine = setup({
  types: { context: {} as CollectorContext, events: {} as CollectorEvent, input: {} as CollectorContext },
  guards: {
    isEnded: (args) => wanted(args) === 'ended',
    isPaused: (args) => wanted(args) === 'paused',
    isScheduled: (args) => wanted(args) === 'scheduled',
    isOpen: (args) => wanted(args) === 'open',
    isTooLate: (args) => args.event.type === 'CHANGED' && args.event.isSwitchedOn && wanted(args) === 'ended',
    isDefault: ({ context }) => context.isDefault,
  },
  actions: {
    refuseEnded: () => undefined,
    refuseDefault: () => undefined,
    refuseDeleted: () => undefined,
  },
}).createMachine({
  id: 'collector',
  context: ({ input }) => input,
  initial: 'open',
  states: {
    open: { on: changes },
    paused: { on: changes },
    scheduled: { on: changes },
    ended: { on: changes },
    deleted: { on: { '*': { actions: ['refuseDeleted'] } } },
  },
});

/** What the collector is after a change. Pure; throws the refusals of the machine. */
export function changeCollector(collector: Collector, changed: Partial<Collector>, nowMs: number): Collector {
  const next = { ...collector, ...changed, updatedAt: new Date(nowMs) };
  if (next.opensAt && next.closesAt && next.opensAt >= next.closesAt)
    throw validationProblem([{ path: 'closesAt', message: 'must be after opensAt' }]);
  send(collector, { type: 'CHANGED', next, isSwitchedOn: changed.isActive === true, nowMs }, nowMs);
  return next;
}

/**
 * The collector after its deletion. It stays, because responses name it, but its metadata does not. Throws the refusals
 * of the machine.
 */
export function deleteCollector(collector: Collector, nowMs: number): Collector {
  send(collector, { type: 'DELETED' }, nowMs);
  return { ...collector, isDeleted: true, metadata: {}, updatedAt: new Date(nowMs) };
}

function send(collector: Collector, event: CollectorEvent, nowMs: number): void {
  const before = collectorMachine.resolveState({
    value: collectorOpennessOf(collector, nowMs),
    context: { dates: collector, isDefault: isDefaultCollector(collector) },
  });
  const [, actions] = transition(collectorMachine, before, event);
  for (const { type } of actions) refuse(type as CollectorEffect);
}

function refuse(effect: CollectorEffect): void {
  if (effect === 'refuseEnded') throw refusal('collectorEnded');
  if (effect === 'refuseDeleted') throw refusal('collectorDeleted');
  throw conflict('DEFAULT_COLLECTOR', 'The default collector of a survey cannot be deleted: pause it instead');
}
