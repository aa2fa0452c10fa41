import { ListChecks, X } from 'lucide-react';
import { useState } from 'react';
import { SurveyApiError } from '../data/api.ts';
import { problemText } from '../data/problems.ts';
import { isFinalRefusal, msOfCall, pollPauseMs, waitMs } from '../data/query-client.ts';
import { IconButton, LinkButton } from '../parts/button.tsx';
import { Badge, ProgressBar } from '../parts/feedback.tsx';
import styles from './notices.module.css';
import { noteUser, onOtherUser, otherUserProblem } from './session.ts';
import { sharedState, useShared } from './shared-state.ts';

/** Work of the service that takes a while, such as an export or an analysis. It goes on when its view is left. */
export interface LongWork {
  /** The id of the job; registering it again changes it. */
  id: string;
  title: string;
  state: 'running' | 'done' | 'failed';
  /** From 0 to 1; undefined: not known. */
  progress?: number | undefined;
  /** Why it failed; of running work, what somebody should know meanwhile. */
  problem?: string | undefined;
  /** Where its result is seen. */
  href?: string | undefined;
}

const works = sharedState<readonly LongWork[]>([]);

/** Puts work into the tray. */
export const showWork = (work: LongWork): void => works.set([...works.get().filter(({ id }) => id !== work.id), work]);

/** Changes what the tray shows of work. What was removed from it, by the user or for another one, is not shown again. */
export const changeWork = (work: LongWork): void =>
  works.set(works.get().map((shown) => (shown.id === work.id ? work : shown)));

onOtherUser(() => works.set([]));

export const dismissWork = (id: string): void => works.set(works.get().filter((work) => work.id !== id));

/** For `followWork`: how often work is read that this page does itself. */
export const localPollMs = 1000;

/**
 * Shows work in the tray and reads its state until it ends, in whatever view the user is. `read` gives the state; a
 * failure to read is tried again, unless the work is not there any more or the user may not read it any more. `read`
 * calls the service, so it is called ever less often, unless `everyMs` says how often.
 */
export function followWork(first: LongWork, read: () => Promise<LongWork>, everyMs?: number): Promise<LongWork> {
  showWork(first);
  return followShownWork(first, read, everyMs);
}

/** As `followWork`, of work that the tray shows already. Where somebody else signs in it has failed, and is let be. */
export async function followShownWork(
  first: LongWork,
  read: () => Promise<LongWork>,
  everyMs?: number,
): Promise<LongWork> {
  const isSameUser = noteUser();
  let [work, error]: [LongWork, unknown] = [first, undefined];
  changeWork(work);
  followed.add(read);
  for (let reads = 1; work.state === 'running'; reads += 1) {
    const pauseMs = everyMs ?? Math.max(pollPauseMs(reads), followed.size * msOfCall, waitMs(error) ?? 0);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (isSameUser()) [work, error] = await stateOf(work, read);
    if (isSameUser()) changeWork(work);
    else work = { ...work, state: 'failed', problem: otherUserProblem };
  }
  followed.delete(read);
  return work;
}

/** What is being followed: the pause is longer the more that is, so that all calls together are as many as of one. */
const followed = new Set<() => Promise<LongWork>>();

/** The work as it is by now, and why it could not be read. */
async function stateOf(work: LongWork, read: () => Promise<LongWork>): Promise<[LongWork, unknown]> {
  try {
    return [await read(), undefined];
  } catch (error) {
    return [isFinalRefusal(error) ? { ...work, state: 'failed', problem: refusalOf(error) } : work, error];
  }
}

const refusalOf = (error: unknown): string =>
  error instanceof SurveyApiError && error.status === 404 ? 'It is not there any more.' : problemText(error).text;

/** Long work in the side navigation: seen in a panel, and read out by screen readers. */
export function Tray() {
  return (
    <>
      <TrayStatus />
      <TrayPanel />
    </>
  );
}

/** Screen readers read changes of a part that was there before, so this is there without work too. */
function TrayStatus() {
  return (
    <div className="visually-hidden" role="status" aria-atomic="false">
      {useShared(works).map(({ id, title, state, problem }) => (
        <p key={id}>{problem === undefined ? `${title}: ${state}` : `${title}: ${state}. ${problem}`}</p>
      ))}
    </div>
  );
}

/** A button, and the panel with all work that it opens. */
function TrayPanel() {
  const shown = useShared(works);
  const [isOpen, setOpen] = useState(true);
  if (shown.length === 0) return null;
  const running = shown.filter(({ state }) => state === 'running').length;
  return (
    <section className={styles.tray} aria-label="Long work">
      <button type="button" className={styles.trayHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ListChecks aria-hidden />
        {running > 0 ? `${running} running` : 'All done'}
      </button>
      {isOpen && (
        <ul className={styles.works}>
          {shown.map(({ id, title, state, progress, problem, href }) => (
            <li key={id} className={styles.work}>
              <span className={styles.workHead}>
                <strong>{title}</strong>
                <IconButton label={`Remove ${title}`} icon={<X aria-hidden />} onPress={() => dismissWork(id)} />
              </span>
              {state === 'running' && <ProgressBar label={title} value={progress} />}
              {state === 'running' && problem !== undefined && <Badge tone="error">{problem}</Badge>}
              {state === 'done' && <Badge tone="success">Done</Badge>}
              {state === 'failed' && <Badge tone="error">{problem ?? 'Failed'}</Badge>}
              {state === 'done' && href !== undefined && <LinkButton href={href}>Open</LinkButton>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
