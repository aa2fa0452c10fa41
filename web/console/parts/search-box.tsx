import { Search, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { cx } from './cx.ts';
import styles from './field.module.css';

const pauseMs = 250;
const maxLength = 200;

interface SearchBoxProps {
  label: string;
  /** What is searched for now, from the address. */
  text: string;
  /** Called with the typed text, without white space around it, after a pause in typing. */
  onSearch(text: string): void;
}

/** The search of a view, which the key `/` focuses; Escape empties it. */
export function SearchBox({ label, text, onSearch }: SearchBoxProps) {
  const [typed, setTyped] = useState(text);
  const input = useRef<HTMLInputElement>(null);
  /** What was searched for, and is not in the address yet. */
  const sent = useRef<string[]>([]);
  useEffect(() => {
    const isOwn = sent.current.includes(text);
    sent.current = isOwn ? sent.current.slice(sent.current.indexOf(text) + 1) : [];
    // The address was changed by a link, or by going back.
    if (!isOwn) setTyped(text);
  }, [text]);
  useEffect(() => {
    if (typed.trim() === text) return;
    const timer = setTimeout(() => {
      sent.current.push(typed.trim());
      onSearch(typed.trim());
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed, text, onSearch]);
  // The browser's own field: the list of surveys is the first screen, and its budget has no room for more.
  return (
    <div className={cx(styles.group, styles.search)} data-empty={typed === '' || undefined}>
      <Search className={styles.lead} aria-hidden />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        className={styles.input}
        maxLength={maxLength}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && !event.nativeEvent.isComposing) setTyped('');
        }}
        data-main-search
      />
      <Button
        aria-label="Clear the search"
        excludeFromTabOrder
        className={styles.inner}
        onPress={() => {
          setTyped('');
          input.current?.focus();
        }}
      >
        <X aria-hidden />
      </Button>
    </div>
  );
}
