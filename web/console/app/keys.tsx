import { useEffect, useLayoutEffect } from 'react';
import { readStored, store } from './storage.ts';

interface KeyBinding {
  /** As `event.key` names it: `?`, `/`, `n`. `Mod+k` is Ctrl+K, and ⌘K on a Mac. */
  key: string;
  /** What it does, as the list of keys shows it. */
  title: string;
  /** Undefined: the part that lists the key handles it. */
  run?: () => void;
}

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** A key as its keyboard shows it: `Mod` stands for Ctrl, and for ⌘ on a Mac. */
export const keyText = (key: string): string => key.replace('Mod+', isMac ? '⌘ ' : 'Ctrl ');

const bindings: KeyBinding[] = [];

/** Every key that works at present. */
export const activeKeys = (): readonly KeyBinding[] =>
  bindings.filter(({ key }) => key.length > 1 || areCharacterKeysOn());

/** Registers a key while the part is shown. `run` may change between renders; undefined: it does nothing at present. */
export function useKey(key: string, title: string, run: (() => void) | undefined): void {
  useEffect(() => run && register([{ key, title, run }]), [key, title, run]);
}

/** Lists keys that the part itself handles where the focus is. `keys` stays the same array. */
export function useListedKeys(keys: readonly Omit<KeyBinding, 'run'>[]): void {
  useEffect(() => register(keys), [keys]);
}

function register(keys: readonly KeyBinding[]): () => void {
  bindings.push(...keys);
  return () => {
    for (const key of keys) bindings.splice(bindings.indexOf(key), 1);
  };
}

/** Keys without a modifier are the text of a field while one has the focus. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));

let dialogsLoading = 0;

/** Stands in for a dialog while that is being loaded: what is typed meanwhile is meant for it, and is no command. */
export function DialogLoading() {
  // Before the browser handles another key.
  useLayoutEffect(() => {
    dialogsLoading += 1;
    return () => {
      dialogsLoading -= 1;
    };
  }, []);
  return null;
}

const isInDialog = () => dialogsLoading > 0 || document.querySelector('[role=dialog], [role=alertdialog]') !== null;

/** What these keys do to the text of a field is the browser's own. */
const editingKeys: readonly string[] = ['Mod+z'];

const hasText = (target: EventTarget | null): boolean =>
  isTyping(target) && !(target as HTMLElement).matches('[type=checkbox], [type=radio]');

const switchName = 'character-keys';

/** Whether keys of one character work. Those who speak to their computer type such keys without meaning them. */
export const areCharacterKeysOn = (): boolean => readStored(switchName) !== 'off';

/** Switches them on or off in this browser. */
export const switchCharacterKeys = (on: boolean): void => store(switchName, on ? undefined : 'off');

/** The letter of a key: that of its place, where the layout of the keyboard types no Latin one. */
export function letterOf({ key, code }: Pick<KeyboardEvent, 'key' | 'code'>): string {
  const isForeign = key.length === 1 && key > '\u007f';
  return isForeign ? code.replace(/^Key/, '').toLowerCase() : key.toLowerCase();
}

/** Listens for the keys of all parts; the latest binding of a key wins. Returns a function that ends it. */
export function listenForKeys(): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey) return;
    const hasModifier = isMac ? event.metaKey : event.ctrlKey;
    // Ctrl moves the cursor in the texts of a Mac.
    if (!hasModifier && (event.ctrlKey || event.metaKey)) return;
    // With Shift they are other commands: Ctrl+Shift+Z is the opposite of Ctrl+Z.
    if (hasModifier && event.shiftKey) return;
    const name = hasModifier ? `Mod+${letterOf(event)}` : event.key;
    if (!hasModifier && (isInDialog() || !areCharacterKeysOn())) return;
    const isOfField = hasModifier ? editingKeys.includes(name) && hasText(event.target) : isTyping(event.target);
    if (isOfField) return;
    const binding = bindings.findLast(({ key }) => key === name);
    if (!binding?.run) return;
    event.preventDefault();
    binding.run();
  };
  addEventListener('keydown', onKeyDown);
  return () => removeEventListener('keydown', onKeyDown);
}
