import type { Survey } from '../../domain/survey.ts';
import { Problem, unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { createPauses } from '../../platform/slices.ts';
import type { AiJobStatus } from '../../stores/postgres/ai/jobs.ts';
import type { ExportStatus } from '../../stores/postgres/exports.ts';
import type { JobProgress } from '../../stores/redis/live-stream.ts';
import type { PermissionChange } from '../../stores/redis/permission-notifications.ts';
import type { Authentication } from '../authentication.ts';
import type { Principal } from '../routing/principal.ts';
import type { SurveyAccess } from '../routing/survey-access.ts';
import { effectiveStatus } from '../schemas/present-survey.ts';
import { createLiveMessage, type LiveMessage } from './client-stream.ts';
import { liveLimits } from './live-limits.ts';
import type { LiveQuota } from './quota-pushes.ts';
import type { Session } from './session.ts';

export interface HubDeps {
  authentication: Pick<Authentication, 'current' | 'clearCache'>;
  access: Pick<SurveyAccess, 'find' | 'rightOf'>;
  now(): number;
  /** Live streams that one user may have in this process, with all sessions and keys. */
  maxStreamsPerUser: number;
  /** Active quotas by cell of a survey; undefined if it has none. */
  quotasOf(surveyId: string): readonly LiveQuota[] | undefined;
  log: Log;
}

/** A session and the ways to end its connection. */
export interface LiveConnection {
  session: Session;
  /** Closes the connection because its session, key or user is gone. */
  expire(): void;
  /** Closes the connection because the service stops, and asks the client to come back after this time. */
  askToReconnect(afterMs: number): void;
  /** Called when one of its subscriptions was ended for lack of rights. */
  subscriptionEnded?(): void;
}

const checkEveryMs = liveLimits.checkSeconds * 1000;
const checksAtOnce = 8;
/** A message may have a status that only a newer version knows. */
const isUnderWay: Readonly<Record<string, boolean>> = {
  PENDING: true,
  PROCESSING: true,
  RUNNING: true,
  COMPLETED: false,
  FAILED: false,
  CANCELLED: false,
  EXPIRED: false,
} satisfies Record<AiJobStatus | ExportStatus, boolean>;

/**
 * All live connections of this process. Publishes status changes and job progress to them, and checks their rights
 * periodically.
 */
export function createHub({ authentication, access, now, maxStreamsPerUser, quotasOf, log }: HubDeps) {
  const connections = new Set<LiveConnection>();

  const statusMessage = (survey: Survey): LiveMessage => {
    const status = effectiveStatus(survey, now());
    const quotas = quotasOf(survey.id);
    return createLiveMessage('status', {
      surveyId: survey.id,
      status,
      reason: status === 'CLOSED' ? (survey.closedReason ?? 'ENDED') : null,
      version: survey.version,
      ...(quotas && { quotas }),
    });
  };

  const subscribersOf = (surveyId: string): LiveConnection[] =>
    [...connections].filter(({ session }) => session.isSubscribed(surveyId));

  /** Open streams by user. */
  const open = new Map<string, number>();
  /** Those that this turn of the event loop has admitted and not opened yet. */
  const admitted = new Map<string, number>();
  const count = (streamsByUser: Map<string, number>, userId: string, change: 1 | -1): void => {
    const streams = (streamsByUser.get(userId) ?? 0) + change;
    if (streams > 0) streamsByUser.set(userId, streams);
    else streamsByUser.delete(userId);
  };

  /** Sends a changed status once to each subscriber. */
  const publishStatus = (survey: Survey): void => {
    const message = statusMessage(survey);
    for (const { session } of subscribersOf(survey.id)) session.sendStatus(survey, message);
  };

  /** One check of rights, in which each principal, survey and right is asked for once. */
  const createRightsCheck = () => {
    const principals = new Map<string, Promise<Principal | undefined>>();
    const surveys = new Map<string, Promise<Survey | undefined>>();
    const rights = new Map<string, Promise<boolean>>();
    const survey = (id: string) => memoized(surveys, id, () => access.find('surveyId', id));
    return {
      principal: (known: Principal) =>
        memoized(principals, `${known.keyId ?? ''}/${known.sessionId ?? ''}`, () => authentication.current(known)),
      survey,
      mayRead: (who: Principal, surveyId: string) =>
        memoized(rights, `${who.userId}/${who.role}/${surveyId}`, async () => {
          const found = await survey(surveyId);
          return found !== undefined && (await access.rightOf(who, found)) !== undefined;
        }),
    };
  };

  const check = async (
    connection: LiveConnection,
    rightsCheck: ReturnType<typeof createRightsCheck>,
    only?: string,
  ): Promise<void> => {
    const { session, expire } = connection;
    const principal = await rightsCheck.principal(session.principal);
    if (!principal) {
      session.sendProblem('UNAUTHORIZED', 'The session is over');
      return expire();
    }
    session.setPrincipal(principal);
    for (const surveyId of only === undefined ? [...session.surveyIds()] : [only]) {
      if (await rightsCheck.mayRead(principal, surveyId)) continue;
      if (!session.isSubscribed(surveyId)) continue;
      session.endSubscription(surveyId);
      const isGone = (await rightsCheck.survey(surveyId)) === undefined;
      session.sendProblem(
        isGone ? 'NOT_FOUND' : 'FORBIDDEN',
        isGone ? 'The survey was deleted' : 'The right to read this survey has ended',
        surveyId,
      );
      connection.subscriptionEnded?.();
    }
  };

  const checkAll = async (affected: readonly LiveConnection[], only?: string): Promise<void> => {
    const rightsCheck = createRightsCheck();
    const waiting = affected.values();
    await Promise.all(
      Array.from({ length: checksAtOnce }, async () => {
        // While a store is away no right is taken; the next check asks again.
        for (const connection of waiting)
          await check(connection, rightsCheck, only).catch((error: unknown) =>
            log.debug({ err: error }, 'the access rights of a live connection could not be checked'),
          );
      }),
    );
    const surveyOf = (surveyId: string) => rightsCheck.survey(surveyId).catch(() => undefined);
    await publishStatuses(affected, surveyOf, only);
  };

  /** Sends the statuses that a check has read to the connections that it was for: of all, each one is looked at once. */
  const publishStatuses = async (
    affected: readonly LiveConnection[],
    surveyOf: (surveyId: string) => Promise<Survey | undefined>,
    only?: string,
  ): Promise<void> => {
    const listeners = new Map<string, Session[]>();
    for (const { session } of affected)
      for (const surveyId of only === undefined ? session.surveyIds() : [only])
        getOrAdd(listeners, surveyId).push(session);
    const pauseIfDue = createPauses();
    for (const [surveyId, sessions] of listeners) {
      const survey = await surveyOf(surveyId);
      const message = survey && statusMessage(survey);
      if (message) for (const session of sessions) session.sendStatus(survey, message);
      await pauseIfDue();
    }
  };

  let isStopped = false;
  let isChecking = false;
  const timer = setInterval(() => {
    if (isChecking) return;
    isChecking = true;
    void checkAll([...connections]).finally(() => (isChecking = false));
  }, checkEveryMs);
  timer.unref();

  return {
    statusMessage,
    /**
     * Throws RATE_LIMITED for a user who has as many live streams as allowed, and SERVICE_UNAVAILABLE once the service
     * stops. Else one is to be added in this turn of the event loop; it counts at once, so that many together do not
     * all find room.
     */
    admit(userId: string): void {
      if (isStopped) throw unavailable('The service is stopping', 1);
      if ((open.get(userId) ?? 0) + (admitted.get(userId) ?? 0) >= maxStreamsPerUser)
        throw new Problem('RATE_LIMITED', `A user can have ${maxStreamsPerUser} live streams at most`, {
          retryAfterSeconds: 10,
        });
      if (admitted.size === 0) setImmediate(() => admitted.clear());
      count(admitted, userId, 1);
    },
    add(connection: LiveConnection): void {
      connections.add(connection);
      const { userId } = connection.session.principal;
      count(admitted, userId, -1);
      count(open, userId, 1);
    },
    remove(connection: LiveConnection): void {
      if (connections.delete(connection)) count(open, connection.session.principal.userId, -1);
    },
    all: (): readonly LiveConnection[] => [...connections],
    /** To be called when any process has changed or deleted a survey. */
    async surveyChanged(surveyId: string): Promise<void> {
      const affected = subscribersOf(surveyId);
      if (affected.length > 0) await checkAll(affected, surveyId);
    },
    /** To be called when counts of quotas by cell have changed. */
    async quotasChanged(surveyId: string): Promise<void> {
      const survey = await access.find('surveyId', surveyId);
      if (survey) publishStatus(survey);
    },
    /** To be called when any process has changed rights: checks the affected connections at once. */
    async rightsChanged(change: PermissionChange): Promise<void> {
      authentication.clearCache();
      if ('surveyId' in change) return this.surveyChanged(change.surveyId);
      const isAffected = ({ userId, keyId }: Principal) =>
        'userId' in change ? userId === change.userId : keyId === change.keyId;
      const affected = [...connections].filter(({ session }) => isAffected(session.principal));
      if (affected.length > 0) await checkAll(affected);
    },
    publishJobProgress({ surveyId, ...job }: JobProgress): void {
      const message = createLiveMessage('job', { surveyId, ...job });
      for (const { session } of subscribersOf(surveyId))
        if (session.hasChannel(surveyId, 'jobs')) session.sendJob(message, isUnderWay[job.status] ?? false);
    },
    stop(): void {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

export type Hub = ReturnType<typeof createHub>;

function memoized<T>(known: Map<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const found = known.get(key) ?? ask();
  known.set(key, found);
  return found;
}

function getOrAdd<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
