import type { Survey } from '../../domain/survey.ts';
import type { Log } from '../../log.ts';
import type { JobProgress } from '../../stores/redis/live.ts';
import type { RightsChange } from '../../stores/redis/rights-news.ts';
import type { SurveyAccess } from '../dispatch.ts';
import { statusNow } from '../present.ts';
import type { People } from '../people.ts';
import type { Principal } from '../principal.ts';
import { liveLimits } from './live-limits.ts';
import { frameOf, type Frame } from './outlet.ts';
import type { Session } from './session.ts';

export interface HubDeps {
  people: Pick<People, 'current' | 'forget'>;
  access: SurveyAccess;
  now(): number;
  log: Log;
}

/** A session with the way to end its connection for good. */
export interface Member {
  session: Session;
  /** The session, key or user behind it is gone. */
  expire(): void;
  /** The service stops: the client should come back after a while. */
  goAway(afterMs: number): void;
  /** One of its subscriptions has ended. */
  dropped?(): void;
}

const checkEveryMs = liveLimits.checkSeconds * 1000;
const checksAtOnce = 8;

/** All live sessions of this process: news reach them here, and their rights are looked at again and again. */
export function createHub({ people, access, now, log }: HubDeps) {
  const members = new Set<Member>();
  const statuses = new Map<string, string>();

  const statusFrame = (survey: Survey): Frame => {
    const status = statusNow(survey, now());
    return frameOf('status', { surveyId: survey.id, status, reason: status === 'CLOSED' ? (survey.closedReason ?? 'ENDED') : null });
  };

  const listeners = (surveyId: string): Member[] => [...members].filter(({ session }) => session.isSubscribed(surveyId));

  /** Tells a changed status once to all who listen. */
  const tellStatus = (survey: Survey): void => {
    const frame = statusFrame(survey);
    if (statuses.get(survey.id) === frame.text) return;
    statuses.set(survey.id, frame.text);
    for (const { session } of listeners(survey.id)) if (session.listensTo(survey.id, 'status')) session.tell(frame);
  };

  /** One round of looking: what many sessions ask for is asked once. */
  const createRound = () => {
    const principals = new Map<string, Promise<Principal | undefined>>();
    const surveys = new Map<string, Promise<Survey | undefined>>();
    const rights = new Map<string, Promise<boolean>>();
    const survey = (id: string) => remembered(surveys, id, () => access.find('surveyId', id));
    return {
      principal: (known: Principal) => remembered(principals, `${known.keyId ?? ''}/${known.sessionId ?? ''}`, () => people.current(known)),
      survey,
      mayRead: (who: Principal, surveyId: string) =>
        remembered(rights, `${who.userId}/${who.role}/${surveyId}`, async () => {
          const found = await survey(surveyId);
          return found !== undefined && (await access.rightOf(who, found)) !== undefined;
        }),
    };
  };

  const check = async (member: Member, round: ReturnType<typeof createRound>, only?: string): Promise<void> => {
    const { session, expire } = member;
    const principal = await round.principal(session.principal);
    if (!principal) {
      session.tellProblem('UNAUTHORIZED', 'The session is over');
      return expire();
    }
    session.renew(principal);
    for (const surveyId of only === undefined ? [...session.surveyIds()] : [only]) {
      if (await round.mayRead(principal, surveyId)) continue;
      if (!session.isSubscribed(surveyId)) continue;
      session.drop(surveyId);
      const isGone = (await round.survey(surveyId)) === undefined;
      session.tellProblem(isGone ? 'NOT_FOUND' : 'FORBIDDEN', isGone ? 'The survey was deleted' : 'The right to read this survey has ended', surveyId);
      member.dropped?.();
    }
  };

  const checkAll = async (chosen: readonly Member[], only?: string): Promise<void> => {
    const round = createRound();
    const waiting = chosen.values();
    await Promise.all(Array.from({ length: checksAtOnce }, async () => {
      for (const member of waiting)
        // A store that cannot be asked changes no rights either: the next round asks again.
        await check(member, round, only).catch((error: unknown) => log.debug({ err: error }, 'rights of a live stream could not be checked'));
    }));
    const surveyIds = only === undefined ? new Set(chosen.flatMap(({ session }) => [...session.surveyIds()])) : [only];
    for (const surveyId of surveyIds) await round.survey(surveyId).then((survey) => survey && tellStatus(survey), () => undefined);
    if (only !== undefined) return;
    for (const surveyId of statuses.keys()) if (listeners(surveyId).length === 0) statuses.delete(surveyId);
  };

  let isChecking = false;
  const timer = setInterval(() => {
    if (isChecking) return;
    isChecking = true;
    void checkAll([...members]).finally(() => (isChecking = false));
  }, checkEveryMs);
  timer.unref();

  return {
    statusFrame(survey: Survey): Frame {
      const frame = statusFrame(survey);
      if (!statuses.has(survey.id)) statuses.set(survey.id, frame.text);
      return frame;
    },
    add: (member: Member): void => void members.add(member),
    remove: (member: Member): void => void members.delete(member),
    all: (): readonly Member[] => [...members],
    /** A survey was changed or deleted somewhere. */
    async surveyChanged(surveyId: string): Promise<void> {
      const chosen = listeners(surveyId);
      if (chosen.length > 0) await checkAll(chosen, surveyId);
    },
    /** Somebody's rights were changed somewhere: looks at once at those whom it may concern. */
    async rightsChanged(change: RightsChange): Promise<void> {
      people.forget();
      if ('surveyId' in change) return this.surveyChanged(change.surveyId);
      const isMeant = ({ userId, keyId }: Principal) => ('userId' in change ? userId === change.userId : keyId === change.keyId);
      const chosen = [...members].filter(({ session }) => isMeant(session.principal));
      if (chosen.length > 0) await checkAll(chosen);
    },
    jobMoved({ surveyId, ...job }: JobProgress): void {
      const frame = frameOf('job', { surveyId, ...job });
      for (const { session } of listeners(surveyId)) if (session.listensTo(surveyId, 'jobs')) session.tell(frame);
    },
    stop: (): void => clearInterval(timer),
  };
}

export type Hub = ReturnType<typeof createHub>;

function remembered<T>(known: Map<string, Promise<T>>, key: string, ask: () => Promise<T>): Promise<T> {
  const found = known.get(key) ?? ask();
  known.set(key, found);
  return found;
}
