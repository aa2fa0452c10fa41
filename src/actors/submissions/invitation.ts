import { type Invitation, invitationStatusAt } from '../../domain/collectors/invitation.ts';
import { invitationPrefix } from '../../domain/path/definition.ts';
import type { Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { invitedResponseId } from '../../platform/ids.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { createSemaphore } from '../../platform/semaphore.ts';
import type { DatedUse, InvitationStore, InvitedResponse } from '../../stores/postgres/invitations.ts';
import { refusal } from './refusals.ts';

/** What follows from the token of an invitation without looking it up. */
export interface InvitationToken {
  hash: Buffer;
  /** Set in the intake once an anonymous survey has a response for it; it cannot be computed from the hash. */
  mark: string;
  /** Id of its response, unless the survey is anonymous. */
  responseId: string;
}

/** What submissions need of invitations. */
export interface InvitationAccess {
  read(token: string): InvitationToken;
  /** The invitation of a survey that the token opens. Found by its keyed hash, so that time tells nothing of others. */
  find(surveyId: string, token: string): Promise<Invitation | undefined>;
  /** The invitation that names a response, in a survey that is not anonymous. */
  findOfResponse(surveyId: string, response: InvitedResponse): Promise<Invitation | undefined>;
  /** An anonymous survey has accepted a response for the invitation. */
  noteUse(use: AnonymousUse): void;
  /** The same where it is unknown whether the response is complete; leaves a use alone that is noted here. */
  noteLostUse(invitation: Pick<Invitation, 'id' | 'collectorId'>): void;
}

export interface AnonymousUse {
  /** Of the invitation. */
  id: string;
  collectorId: string;
  isComplete: boolean;
  /** When the first save was accepted. Only its day is kept, also while uses are gathered. */
  submittedAtMs: number;
}

export interface InvitationsDeps {
  secrets: Pick<Secrets, 'invitationHash' | 'invitationMark'>;
  invitations: Pick<InvitationStore, 'findByToken' | 'findOfResponse' | 'recordAnonymousUses'>;
  now(): number;
  log: Pick<Log, 'warn'>;
}

/** Bounds lookups that anybody can cause by naming tokens. */
const lookupLimits = { concurrency: 6, maxQueued: 5000, queueFullMessage: 'Too many invitations are being looked up' };
/** How often is looked which of the gathered uses are due. */
const lookEveryMs = 60_000;
/** As many uses of a collector are recorded at the next look: each could be of any of as many responses. */
const recordedTogether = 10;
/** Fewer are recorded after so many looks. */
const maxLooks = 60;
/** As many uses of all collectors are recorded before their time. */
const maxGathered = 10_000;

/** Uses that are not recorded yet, of one collector. */
interface GatheredUses {
  looks: number;
  /** By the id of the invitation. */
  uses: Map<string, DatedUse>;
}

/**
 * Looks invitations up, and records their use in anonymous surveys: many of a collector together, some time later and
 * in the order of their ids, so that neither time nor order ties an invitation to a response. What a crash loses is
 * refused all the same, by its mark in the intake; such an invitation is listed as unused until its token is shown
 * again.
 */
export function createInvitations(deps: InvitationsDeps) {
  const { secrets, invitations, now, log } = deps;
  const lookups = createSemaphore(lookupLimits);
  const gathered = new Map<string, GatheredUses>();
  let gatheredCount = 0;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const gather = (collectorId: string, use: DatedUse, looks: number): void => {
    const ofCollector = gathered.get(collectorId) ?? { looks, uses: new Map<string, DatedUse>() };
    gathered.set(collectorId, ofCollector);
    ofCollector.looks = Math.max(ofCollector.looks, looks);
    const other = ofCollector.uses.get(use.id);
    if (!other) gatheredCount += 1;
    const [day = use.day] = [use.day, other?.day ?? use.day].sort();
    ofCollector.uses.set(use.id, { id: use.id, isComplete: use.isComplete || other?.isComplete === true, day });
  };
  /** Takes what is due. */
  const take = (isDue: (ofCollector: GatheredUses) => boolean): { collectorId: string; use: DatedUse }[] => {
    const taken: { collectorId: string; use: DatedUse }[] = [];
    for (const [collectorId, ofCollector] of gathered) {
      if (!isDue(ofCollector)) continue;
      gathered.delete(collectorId);
      gatheredCount -= ofCollector.uses.size;
      for (const use of ofCollector.uses.values()) taken.push({ collectorId, use });
    }
    return taken;
  };
  const record = async (uses: ReturnType<typeof take>): Promise<void> => {
    if (uses.length === 0) return;
    try {
      await invitations.recordAnonymousUses(uses.map(({ use }) => use));
    } catch (error) {
      log.warn({ err: error }, 'the use of invitations could not be recorded yet');
      // All of it is due at the next look.
      for (const { collectorId, use } of uses) gather(collectorId, use, maxLooks);
      schedule();
    }
  };
  const look = (): void => {
    timer = undefined;
    for (const ofCollector of gathered.values()) ofCollector.looks += 1;
    void record(take(({ uses, looks }) => uses.size >= recordedTogether || looks >= maxLooks));
    if (gathered.size > 0) schedule();
  };
  const schedule = (): void => {
    if (isStopped) return;
    timer ??= setTimeout(look, lookEveryMs);
    timer.unref();
  };
  const recordAll = (): Promise<void> => record(take(() => true));

  const noteUse = ({ id, collectorId, isComplete, submittedAtMs }: AnonymousUse): void => {
    gather(collectorId, { id, isComplete, day: new Date(submittedAtMs).toISOString().slice(0, 10) }, 0);
    if (gatheredCount >= maxGathered) void recordAll();
    else schedule();
  };

  return {
    read(token: string): InvitationToken {
      const hash = secrets.invitationHash(token);
      return { hash, mark: secrets.invitationMark(token), responseId: invitedResponseId(hash) };
    },
    find: (surveyId: string, token: string) =>
      lookups.run(() => invitations.findByToken(surveyId, secrets.invitationHash(token))),
    findOfResponse: (surveyId: string, response: InvitedResponse) =>
      lookups.run(() => invitations.findOfResponse(surveyId, response)),
    noteUse,
    // As STARTED, which replaces nothing that another process records of it.
    noteLostUse({ id, collectorId }): void {
      if (!gathered.get(collectorId)?.uses.has(id))
        noteUse({ id, collectorId, isComplete: false, submittedAtMs: now() });
    },
    /** Records what is gathered. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await recordAll();
    },
  } satisfies InvitationAccess & { stop(): Promise<void> };
}

export type Invitations = ReturnType<typeof createInvitations>;

/**
 * Why an invitation takes no submission at this moment. That it is used once is decided by the intake; what is stored
 * of its use comes later. In an anonymous survey it only opens, so one that was STARTED is used.
 */
export function invitationProblem(
  invitation: Invitation,
  { nowMs, isAnonymous }: { nowMs: number; isAnonymous: boolean },
): Problem | undefined {
  if (invitation.status === 'COMPLETED' || (isAnonymous && invitation.status === 'STARTED'))
    return refusal('invitationUsed');
  const status = invitationStatusAt(invitation, nowMs);
  if (status === 'REVOKED') return refusal('invitationRevoked');
  return status === 'EXPIRED' ? refusal('invitationExpired') : undefined;
}

/**
 * Why an invitation opens no path at this moment: as for a submission. In an anonymous survey one that was STARTED
 * does, because the response that goes on by its resumeToken is still asked by the invitation's metadata.
 */
export const invitedPathProblem = (
  invitation: Invitation,
  at: { nowMs: number; isAnonymous: boolean },
): Problem | undefined =>
  at.isAnonymous && invitation.status === 'STARTED' ? undefined : invitationProblem(invitation, at);

/** The metadata of an invitation as a response has it. */
export const invitedMetadata = ({ metadata }: Pick<Invitation, 'metadata'>): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata).map(([key, text]) => [invitationPrefix + key, text]));
