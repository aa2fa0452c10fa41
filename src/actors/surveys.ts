import { createActor, type ActorRefFrom } from 'xstate';
import { compileSurvey, type CompiledSurvey } from '../domain/answers.ts';
import type { SurveyStatus, SurveyWithQuestions } from '../domain/survey.ts';
import { createUsualReader, type UsualReader } from '../domain/usual-submission.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Audit } from '../stores/postgres/audit.ts';
import type { Definitions } from '../stores/redis/definitions.ts';
import { closedRevision, type Intake, type SurveyFacts } from '../stores/redis/intake.ts';
import type { SurveyStore } from '../stores/postgres/surveys.ts';
import { createAnonymity } from './anonymity.ts';
import { createFreshLoads } from './fresh-loads.ts';
import { moveSurvey, withSeatsAdded } from './lifecycle.ts';
import { createOlderRow } from './older-row.ts';
import { packSurvey, unpackSurvey, type PackedSurvey } from './packed-survey.ts';
import { createStoredDefinitions } from './stored-definitions.ts';
import { contextOf, stateOf, surveyMachine, type SurveyEvent } from './survey-machine.ts';
import { createWhileAway, type WhileAway } from './while-away.ts';

/** A survey held in memory by this process: its actor and what a submission is checked against. */
export interface HeldSurvey {
  actor: ActorRefFrom<typeof surveyMachine>;
  compiled: CompiledSurvey;
  readUsual: UsualReader;
  survey: SurveyWithQuestions;
}

export interface SurveyActorsDeps {
  surveys: Pick<SurveyStore, 'load' | 'change'>;
  intake: Pick<Intake, 'announce' | 'reopen' | 'revision' | 'counts' | 'filledAt' | 'close'>;
  /** Where definitions of open surveys are kept for when PostgreSQL is away; none are unless given. */
  definitions?: Pick<Definitions, 'keep' | 'remove' | 'find' | 'lacking'>;
  whileAway?: WhileAway;
  /** Counts from the response store, for an intake that has forgotten a survey. */
  countResponses(surveyId: string): Promise<{ total: number; complete: number }>;
  /** Tells the other processes that a survey has a new revision. */
  broadcast(surveyId: string, revision: number): void;
  now(): number;
  /** Must never step back, as the wall clock may. */
  monotonicMs?(): number;
  audit: Pick<Audit, 'record'>;
  log: Log;
  metrics: Pick<Metrics, 'actorsHeld'>;
}

interface Slot {
  /** One of the two: at hand, or packed because nobody asked for it. */
  held: HeldSurvey | undefined;
  packed: PackedSurvey;
  revision: number;
  timer: NodeJS.Timeout | undefined;
  usedAtMs: number;
  /** News of it may have been lost, or it is not from PostgreSQL: what is held is used, and read again meanwhile. */
  isDoubtful?: boolean;
  askedAtMs?: number;
}

const packAfterMs = 20_000;
const idleMs = 10 * 60_000;
const sweepMs = 1000;
/** Packing one takes about a tenth of a millisecond, in which nothing else can be answered. */
const packedAtOnce = 20;
const unknownMs = 1000;
/** Between two tries to read a survey again of which news may have been lost. */
const doubtMs = 1000;
/** Timers do not hear of it when the clock is set, so a date is reached in steps. */
const longestTimerMs = 5000;

const nowhere: NonNullable<SurveyActorsDeps['definitions']> = {
  keep: async () => 'unchanged', remove: async () => undefined, find: async () => undefined, lacking: async () => [],
};

/**
 * One actor a survey and process: looked up or started on first use, stopped when idle. The row in Postgres is the truth; an actor is
 * rebuilt from it whenever the intake or another process says that there is a newer revision.
 */
export function createSurveyActors(deps: SurveyActorsDeps) {
  const { monotonicMs = () => performance.now(), definitions = nowhere } = deps;
  const { whileAway = createWhileAway({ log: deps.log, monotonicMs }) } = deps;
  const stored = createStoredDefinitions({ definitions, log: deps.log });
  const slots = new Map<string, Slot>();
  const unknownUntil = new Map<string, number>();

  const stop = (slot: Slot) => {
    clearTimeout(slot.timer);
    slot.held?.actor.stop();
  };

  const wake = (survey: SurveyWithQuestions): HeldSurvey => {
    const actor = createActor(surveyMachine, {
      input: contextOf(survey),
      snapshot: surveyMachine.resolveState({ value: stateOf(survey, deps.now()), context: contextOf(survey) }),
    }).start();
    const compiled = compileSurvey(survey);
    return { actor, compiled, readUsual: createUsualReader(compiled), survey };
  };

  /** The survey in a slot, at hand. */
  const use = (slot: Slot): HeldSurvey => {
    slot.usedAtMs = monotonicMs();
    return (slot.held ??= wake(unpackSurvey(slot.packed)));
  };

  const putAside = (slot: Slot) => {
    if (!slot.held) return;
    slot.packed = packSurvey(slot.held.survey);
    slot.held.actor.stop();
    slot.held = undefined;
  };

  const hold = (survey: SurveyWithQuestions): HeldSurvey => {
    const known = slots.get(survey.id);
    if (known && known.revision > survey.revision) {
      known.isDoubtful = false;
      return use(known);
    }
    if (known) stop(known);
    const held = wake(survey);
    const slot: Slot = { held, packed: '', revision: survey.revision, timer: undefined, usedAtMs: monotonicMs() };
    slots.set(survey.id, slot);
    unknownUntil.delete(survey.id);
    armTimer(slot, survey);
    deps.metrics.actorsHeld(slots.size);
    return held;
  };

  /** A survey that was not read from PostgreSQL; what is held is used if it is as new. */
  const holdUnverified = (survey: SurveyWithQuestions): HeldSurvey => {
    const known = slots.get(survey.id);
    const held = known && known.revision >= survey.revision ? use(known) : hold(survey);
    const slot = slots.get(survey.id);
    if (slot) slot.isDoubtful = true;
    return held;
  };

  const drop = (surveyId: string) => {
    const slot = slots.get(surveyId);
    if (slot) stop(slot);
    slots.delete(surveyId);
    deps.metrics.actorsHeld(slots.size);
  };

  const armTimer = (slot: Slot, survey: Pick<SurveyWithQuestions, 'id' | 'status' | 'startsAt' | 'endsAt'>) => {
    const now = deps.now();
    const next = [survey.startsAt?.getTime(), survey.endsAt?.getTime()].filter((ms): ms is number => ms !== undefined && ms > now).sort((a, b) => a - b)[0];
    if (next === undefined || survey.status === 'DRAFT' || survey.status === 'CLOSED') return;
    const { id, status, startsAt, endsAt } = survey;
    slot.timer = setTimeout(() => {
      if (deps.now() < next) return armTimer(slot, { id, status, startsAt, endsAt });
      const { actor } = use(slot);
      actor.send({ type: 'TIME_CAME', nowMs: deps.now() });
      armTimer(slot, { id, status, startsAt, endsAt });
      if (actor.getSnapshot().value !== 'closed') return;
      const tellFailure = (error: unknown) => deps.log.warn({ err: error, surveyId: id }, 'closing at the end time failed; the sweeper will');
      void move(id, { type: 'TIME_CAME', nowMs: deps.now() }).catch(tellFailure);
    }, Math.min(next - now, longestTimerMs));
    slot.timer.unref();
  };

  const load = async (surveyId: string): Promise<HeldSurvey | undefined> => {
    const survey = await deps.surveys.load(surveyId);
    if (survey) return hold(survey);
    drop(surveyId);
    if (unknownUntil.size > 10_000) unknownUntil.clear();
    unknownUntil.set(surveyId, monotonicMs() + unknownMs);
    return undefined;
  };

  const loads = createFreshLoads(load);
  /** Reads the row again. */
  const sync = loads.fresh;
  const recalls = createFreshLoads(async (surveyId: string): Promise<HeldSurvey | undefined> => {
    const survey = await stored.find(surveyId);
    return survey && holdUnverified(survey);
  });

  /** The survey if this process holds it. */
  const peek = (surveyId: string): HeldSurvey | undefined => {
    const slot = slots.get(surveyId);
    if (!slot) return undefined;
    const held = use(slot);
    if (slot.isDoubtful === true && slot.usedAtMs - (slot.askedAtMs ?? -doubtMs) >= doubtMs) {
      slot.askedAtMs = slot.usedAtMs;
      whileAway.attempt(() => sync(surveyId));
    }
    return held;
  };

  /** Counts are only asked for when the intake may not know the survey. */
  const factsOf = async (survey: SurveyWithQuestions): Promise<SurveyFacts> => {
    const known = await deps.intake.counts(survey.id);
    const stored = known ? undefined : await deps.countResponses(survey.id);
    const counts = { total: known?.total ?? stored?.total ?? 0, completed: known?.completed ?? stored?.complete ?? 0 };
    return { surveyId: survey.id, revision: survey.revision, quota: survey.responseQuota, codePositions: survey.slotCounts.codes, ...counts };
  };

  /** Writes the survey's present revision to the intake, and its definition if it is open. */
  const announce = async (survey: SurveyWithQuestions): Promise<void> => {
    const isNew = await deps.intake.announce(await factsOf(survey));
    await stored.keep(survey);
    if (isNew || !(await healOlder(survey))) deps.broadcast(survey.id, survey.revision);
  };

  const olderRow = createOlderRow({ ...deps, factsOf });
  /** Whether the row was older than what the intake knows of it: a backup has been restored. All are told then of what it has become. */
  const healOlder = async (row: Pick<SurveyWithQuestions, 'id' | 'revision'>): Promise<boolean> => {
    const healed = await olderRow(row);
    if (!healed) return false;
    hold(healed);
    await announce(healed);
    return true;
  };

  /** Saves a change, then tells this process, the intake and the others. A failed announcement is healed by the outbox. */
  const change = async (surveyId: string, decide: Parameters<SurveyStore['change']>[1]) => {
    const survey = await deps.surveys.change(surveyId, decide);
    hold(survey);
    await announce(survey).catch((error: unknown) => deps.log.warn({ err: error, surveyId }, 'a revision could not be announced; the outbox will'));
    return survey;
  };

  const saveWithAnonymity = createAnonymity({ ...deps, change, announce });

  const move = async (surveyId: string, event: SurveyEvent, edit: (current: SurveyWithQuestions) => SurveyWithQuestions = (current) => current): Promise<SurveyWithQuestions> => {
    const counts = await deps.intake.counts(surveyId).catch(() => undefined);
    const filledAt = event.type === 'QUOTA_FILLED' ? await deps.intake.filledAt(surveyId).catch(() => undefined) : undefined;
    const closed: { from: SurveyStatus | undefined } = { from: undefined };
    const saved = await saveWithAnonymity(surveyId, (current) => {
      closed.from = undefined;
      const given = edit(current);
      const isFull = given.responseQuota !== null && counts !== undefined && counts.completed >= given.responseQuota;
      const edited = withSeatsAdded(given, current, isFull || counts === undefined);
      // A response may have been deleted since: the last seat was taken all the same, and nobody has been let in under this revision after that.
      const wasFilled = filledAt === current.revision;
      if (event.type === 'QUOTA_FILLED' && counts !== undefined && !isFull && !wasFilled) return undefined;
      const nowMs = deps.now();
      const told = event.type === 'SET_STATUS' ? { ...event, isFull } : event;
      // A quota that is lowered to what there is has been reached; one that was reached before has been told of.
      const isFilledByEdit = event.type === 'TIME_CAME' && counts !== undefined && isFull && (current.responseQuota === null || counts.completed < current.responseQuota);
      const completed = (wasFilled ? undefined : counts?.completed) ?? edited.responseQuota ?? 0;
      const result = moveSurvey(edited, isFilledByEdit ? [told, { type: 'QUOTA_FILLED' }] : [told], { nowMs, completed });
      if (!result.isChanged && edited === current) return undefined;
      if (result.isChanged && result.survey.status === 'CLOSED' && result.survey.closedReason !== 'MANUAL') closed.from = current.status;
      return { survey: result.survey, isWordingChanged: edited.title !== current.title || edited.description !== current.description, events: result.events };
    });
    if (closed.from !== undefined) {
      const details = { status: { from: closed.from, to: saved.status }, reason: saved.closedReason };
      await deps.audit.record({ actor: null, action: 'survey.closed', objectKind: 'survey', objectId: surveyId, details });
    }
    return saved;
  };

  /** Closes a survey whose last seat was taken just before the intake heard of its quota: it could not know that this was the last. */
  const closeIfFull = async (survey: SurveyWithQuestions): Promise<SurveyWithQuestions> => {
    const { id, responseQuota, status } = survey;
    if (responseQuota === null || status !== 'ACTIVE') return survey;
    const counts = await deps.intake.counts(id);
    return counts && counts.completed >= responseQuota ? move(id, { type: 'QUOTA_FILLED' }) : survey;
  };

  /** What somebody asked for has been saved by then: should the rest fail, the outbox does it. */
  const moveAndClose = async (...args: Parameters<typeof move>): Promise<SurveyWithQuestions> => {
    const saved = await move(...args);
    return closeIfFull(saved).catch((error: unknown) => {
      deps.log.warn({ err: error, surveyId: saved.id }, 'whether a changed survey is full could not be seen; the outbox will look');
      return saved;
    });
  };

  /** Packs what nobody asks for at the moment, and lets go of what nobody has asked for in a long time. */
  const sweep = () => {
    const now = monotonicMs();
    let room = packedAtOnce;
    for (const [surveyId, slot] of slots) {
      if (now - slot.usedAtMs > idleMs) drop(surveyId);
      else if (slot.held && room > 0 && now - slot.usedAtMs > packAfterMs) {
        putAside(slot);
        room -= 1;
      }
    }
    for (const [surveyId, until] of unknownUntil) if (now > until) unknownUntil.delete(surveyId);
  };
  const sweeper = setInterval(sweep, sweepMs);
  sweeper.unref();

  return {
    /** The survey's actor if this process holds it. */
    peek,
    /** The survey's actor, started if need be; undefined when there is no such survey. */
    lookUp: async (surveyId: string): Promise<HeldSurvey | undefined> => {
      const held = peek(surveyId);
      if (held) return held;
      if ((unknownUntil.get(surveyId) ?? 0) > monotonicMs()) return undefined;
      return whileAway.ask(() => loads.shared(surveyId), () => recalls.shared(surveyId));
    },
    /** Reads the row again. Throws SERVICE_UNAVAILABLE while PostgreSQL is away. */
    sync,
    /** Reads the survey again: while PostgreSQL is away, from its stored definition. */
    renew: (surveyId: string): Promise<HeldSurvey | undefined> =>
      whileAway.ask(() => sync(surveyId), () => recalls.fresh(surveyId)),
    announce,
    healOlder,
    change,
    sweep,
    /** A newly created survey: held, and made known to the intake. */
    adopt: async (survey: SurveyWithQuestions): Promise<void> => {
      hold(survey);
      await announce(survey).catch((error: unknown) => deps.log.warn({ err: error, surveyId: survey.id }, 'a new survey could not be announced; its first submission will'));
    },
    /** Another process says that there is a newer revision. */
    heard: (surveyId: string, revision: number): void => {
      const slot = slots.get(surveyId);
      // What is being read at the moment may be of before.
      if (loads.isLoading(surveyId) || (slot && slot.revision < revision)) void sync(surveyId).catch(() => drop(surveyId));
    },
    /** News may have been lost: every survey is read again when it is asked for next. */
    doubt: (): void => {
      for (const slot of slots.values()) slot.isDoubtful = true;
    },
    forget: drop,
    setStatus: (surveyId: string, status: SurveyStatus, by: 'update' | 'publish', edit?: (current: SurveyWithQuestions) => SurveyWithQuestions) =>
      moveAndClose(surveyId, { type: 'SET_STATUS', status, by, isFull: false, nowMs: deps.now() }, edit),
    /** Changes fields beside the status; a new end time may close the survey at once. */
    edit: (surveyId: string, edit: (current: SurveyWithQuestions) => SurveyWithQuestions) => moveAndClose(surveyId, { type: 'TIME_CAME', nowMs: deps.now() }, edit),
    /** The survey is gone from the control plane: nobody may submit from now on. */
    remove: async (surveyId: string): Promise<void> => {
      drop(surveyId);
      const tellFailure = (error: unknown) => deps.log.warn({ err: error, surveyId }, 'a deletion could not be announced; the outbox will');
      await Promise.all([deps.intake.close(surveyId), definitions.remove(surveyId, closedRevision)]).catch(tellFailure);
      deps.broadcast(surveyId, Number.MAX_SAFE_INTEGER);
    },
    timeCame: (surveyId: string) => move(surveyId, { type: 'TIME_CAME', nowMs: deps.now() }),
    closeIfFull,
    quotaFilled: (surveyId: string) => move(surveyId, { type: 'QUOTA_FILLED' }),
    stop: (): void => {
      clearInterval(sweeper);
      for (const slot of slots.values()) stop(slot);
      slots.clear();
    },
  };
}

export type SurveyActors = ReturnType<typeof createSurveyActors>;
