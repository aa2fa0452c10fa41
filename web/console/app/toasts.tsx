import { X } from 'lucide-react';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { problemText } from '../data/problems.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { focusIfLost } from '../parts/focus.ts';
import { keyText, useKey } from './keys.tsx';
import styles from './notices.module.css';
import { onOtherUser } from './session.ts';
import { sharedState, useShared } from './shared-state.ts';

interface Toast {
  text: string;
  isError?: boolean;
  /** Such as Undo; the toast closes after it. */
  action?: { label: string; run(): void };
  /** How long it stays without the focus and the pointer; errors stay until they are closed. */
  seconds?: number;
  /** Called when its time is over or its reader closes it: the action is not offered any more. */
  onEnd?(): void;
}

type ShownToast = Toast & { id: number };

const toasts = sharedState<readonly ShownToast[]>([]);
let lastId = 0;

onOtherUser(() => toasts.set([]));

/** More are shown only where they can be undone or tell of failures. */
const most = 4;

/** What stays when one more is shown. Nothing pushes out what can still be undone or read, but the same failure again. */
function withRoomFor(message: Toast): readonly ShownToast[] {
  const others = toasts.get().filter(({ text, isError }) => !isError || text !== message.text);
  const plain = others.filter(({ action, isError }) => action === undefined && !isError);
  const dropped = plain.slice(0, Math.max(0, others.length + 1 - most));
  return others.filter((one) => !dropped.includes(one));
}

/** Shows a short message in the corner. Returns a function that closes it. */
export function toast(message: Toast): () => void {
  const id = ++lastId;
  toasts.set([...withRoomFor(message), { ...message, id }]);
  return () => closeToast(id);
}

const closeToast = (id: number): void => toasts.set(toasts.get().filter((shown) => shown.id !== id));

/** Shows why something failed. */
export const toastFailure = (error: unknown): unknown => toast({ text: problemText(error).text, isError: true });

const undoKey = 'Mod+z';

const newestWithAction = (): ShownToast | undefined => toasts.get().findLast(({ action }) => action);

function act({ id, action }: ShownToast): void {
  action?.run();
  closeToast(id);
  focusIfLost();
}

function actOnNewest(): void {
  const message = newestWithAction();
  if (message) act(message);
}

/**
 * Where toasts appear; screen readers read them when they do. React Aria makes all but the top layer inert while a dialog
 * is open, and takes a press in that layer for none outside of the dialog.
 */
export function Toasts() {
  const shown = useShared(toasts);
  const list = useRef<HTMLDivElement>(null);
  const newest = shown.at(-1)?.id ?? 0;
  const lastSeen = useRef(0);
  const undoable = newestWithAction();
  useKey(undoKey, 'Undo what the newest message tells of', undoable && actOnNewest);
  useEffect(() => {
    // Where the last one is closed, the one before it is the newest again.
    if (newest > lastSeen.current) list.current?.scrollTo({ top: list.current.scrollHeight });
    lastSeen.current = Math.max(newest, lastSeen.current);
  }, [newest]);
  return createPortal(
    <div
      ref={list}
      className={styles.toasts}
      role="status"
      aria-live="polite"
      aria-label="Messages"
      data-react-aria-top-layer="true"
    >
      {shown.map((message) => (
        <Message key={message.id} message={message} hasKey={message === undoable} />
      ))}
    </div>,
    document.body,
  );
}

/** Its time begins anew when the focus and the pointer have left it. */
function Message({ message, hasKey }: { message: ShownToast; hasKey: boolean }) {
  const { id, text, isError = false, action, seconds = 6, onEnd } = message;
  const [hasFocus, setFocus] = useState(false);
  const [hasPointer, setPointer] = useState(false);
  const isKept = isError || hasFocus || hasPointer;
  const end = () => {
    closeToast(id);
    onEnd?.();
  };
  const endOfTime = useEffectEvent(end);
  useEffect(() => {
    if (isKept) return;
    const timer = setTimeout(() => endOfTime(), seconds * 1000);
    return () => clearTimeout(timer);
  }, [isKept, seconds]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: nothing but its time depends on them.
    <div
      className={styles.toast}
      data-error={isError || undefined}
      onFocus={() => setFocus(true)}
      onBlur={() => setFocus(false)}
      onPointerEnter={() => setPointer(true)}
      onPointerLeave={() => setPointer(false)}
    >
      <span>{text}</span>
      {action && (
        <Button look="quiet" onPress={() => act(message)}>
          {action.label}
        </Button>
      )}
      {hasKey && <kbd>{keyText(undoKey)}</kbd>}
      <IconButton
        label="Close"
        icon={<X aria-hidden />}
        onPress={() => {
          end();
          focusIfLost();
        }}
      />
    </div>
  );
}
