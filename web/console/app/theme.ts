import { readStored, store } from './storage.ts';

/** The look that the user chose for this browser; it is no secret and the only thing that the console stores. */
export type Theme = 'light' | 'dark' | 'system';

const storageKey = 'theme';

export function chosenTheme(): Theme {
  const stored = readStored(storageKey);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(theme: Theme): void {
  store(storageKey, theme === 'system' ? undefined : theme);
  applyTheme();
}

export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
