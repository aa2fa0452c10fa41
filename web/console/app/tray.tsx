import { ListChecks, X } from 'lucide-react';
import { useState, useSyncExternalStore } from 'react';
import { SurveyApiError } from '../data/api.ts';
import { problemText } from '../data/problems.ts';
import { isFinalRefusal } from '../data/query-client.ts';
import { IconButton, LinkButton } from '../parts/button.tsx';
import { Badge, ProgressBar } from '../parts/feedback.tsx';
import styles from './notices.module.css';
import { onOtherUser } from './session.ts';

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

let works: readonly LongWork[] = [];
const listeners = new Set<() => void>();

function set(next: readonly LongWork[]): void {
  works = next;
  for (const listener of listeners) listener();
}

/** Puts work into the tray, or changes what it shows. */
export function showWork(work: LongWork): void {
  set(works.some(({ id }) => id === work.id) ? works.map((w) => (w.id === work.id ? work : w)) : [...works, work]);
}

onOtherUser(() => set([]));

export const dismissWork = (id: string): void => set(works.filter((work) => work.id !== id));

/**
 * Shows work in the tray and reads its state every second until it ends, in whatever view the user is. `read` gives the
 * state; a failure to read is tried again, unless the work is not there any more or the user may not read it any more.
 * Work that is removed from the tray meanwhile is followed, but not shown again.
 */
export async function followWork(first: LongWork, read: () => Promise<LongWork>): Promise<LongWork> {
  let work = first;
  showWork(work);
  while (work.state === 'running') {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    work = await read().catch((error: unknown) =>
      isFinalRefusal(error) ? { ...work, state: 'failed', problem: refusalOf(error) } : work,
    );
    if (works.some(({ id }) => id === work.id)) showWork(work);
  }
  return work;
}

const refusalOf = (error: unknown): string =>
  error instanceof SurveyApiError && error.status === 404 ? 'It is not there any more.' : problemText(error).text;

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The button in the side navigation, and the panel with all work that it opens. */
export function Tray() {
  const shown = useSyncExternalStore(subscribe, () => works);
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
              {state === 'running' && (
                <ProgressBar label={title} {...(progress !== undefined && { value: progress })} />
              )}
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
