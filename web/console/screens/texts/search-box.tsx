import { useEffect, useState } from 'react';
import { SearchField } from '../../parts/text-fields.tsx';

const searchPauseMs = 300;

/** Searches after a pause in typing. */
export function SearchBox({ text, onSearch }: { text: string; onSearch(text: string): void }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => {
    if (typed.trim() === text) return;
    const timer = setTimeout(() => onSearch(typed.trim().slice(0, 200)), searchPauseMs);
    return () => clearTimeout(timer);
  }, [typed, text, onSearch]);
  return <SearchField label="Search answers" value={typed} onChange={setTyped} isMain />;
}
