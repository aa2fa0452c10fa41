import type { ValidationIssue } from '../../errors.ts';
import { themeKey } from './theme-key.ts';

/** A theme that somebody renamed, or merged with others of the same name. */
export interface NamedTheme {
  /** Its name before. */
  theme: string;
  name: string;
}

/** Names that people gave to the themes of a survey, by the `themeKey` of the name before. They hold no circles. */
export type ThemeNames = ReadonlyMap<string, NamedTheme>;

/** A request to name a theme; null: by its own name again. */
export interface ThemeNaming {
  theme: string;
  name: string | null;
}

export interface ThemeNamesPlan {
  names: ThemeNames;
  /** The namings that take the plan back. */
  undo: ThemeNaming[];
}

/** More would make every reading of themes slow. */
const maxThemeNames = 5000;

/** The keys through which names lead from a key of a theme, this first; none comes twice. */
function* keysFrom(names: ThemeNames, start: string): Generator<string, void> {
  const passed = new Set<string>();
  for (let key: string | undefined = start; key !== undefined && !passed.has(key); ) {
    passed.add(key);
    yield key;
    const named = names.get(key);
    key = named && themeKey(named.name);
  }
}

/** The name under which a theme counts: a name that was given to it may have been renamed since. */
export function currentThemeName(names: ThemeNames, theme: string): string {
  // Making the key of every theme takes a tenth of a second for some ten thousands.
  if (names.size === 0) return theme;
  let name = theme;
  for (const key of keysFrom(names, themeKey(theme))) name = names.get(key)?.name ?? name;
  return name;
}

/**
 * Applies namings to the names of a survey whose themes are shown under `shown`. A name that a theme has already,
 * whatever its spelling, is that theme's; one that was a theme's name before is free again. Returns issues for namings
 * that cannot be.
 */
export function planThemeNames(
  { names, shown }: { names: ThemeNames; shown: readonly string[] },
  namings: readonly ThemeNaming[],
): ThemeNamesPlan | { issues: ValidationIssue[] } {
  const shownByKey = new Map(shown.map((name) => [themeKey(name), name]));
  const asked = new Set(namings.map(({ theme }) => themeKey(theme)));
  const spelled = (key: string, text: string) => names.get(key)?.theme ?? shownByKey.get(key) ?? text;
  const planned = new Map(names);
  const touched = new Map<string, string>();
  const seen = new Set<string>();
  const issues: ValidationIssue[] = [];
  for (const [index, { theme, name }] of namings.entries()) {
    const key = themeKey(theme);
    const refuse = (field: string, message: string) => issues.push({ path: `names.${index}.${field}`, message });
    if (!shownByKey.has(key) && !names.has(key)) refuse('theme', 'is not a theme of the last finished analysis');
    if (seen.has(key)) refuse('theme', 'is named more than once');
    if (name !== null && name !== names.get(key)?.name && (name === theme || name === spelled(key, theme)))
      refuse('name', 'is the name that the theme has');
    seen.add(key);
    touched.set(key, spelled(key, theme));
    if (name === null) {
      planned.delete(key);
      continue;
    }
    const into = themeKey(name);
    if (!asked.has(into) && !shownByKey.has(into)) {
      touched.set(into, spelled(into, name));
      planned.delete(into);
    }
    planned.set(key, { theme: spelled(key, theme), name: into === key ? name : spelled(into, name) });
  }
  for (const [index, { theme }] of namings.entries())
    if (isInCircle(planned, themeKey(theme)))
      issues.push({ path: `names.${index}.name`, message: 'is a theme that is named after this one' });
  if (planned.size > maxThemeNames)
    issues.push({ path: 'names', message: `a survey has at most ${maxThemeNames} renamed themes` });
  if (issues.length > 0) return { issues };
  const undo = [...touched].flatMap(([key, theme]) => {
    const before = names.get(key)?.name ?? null;
    return before === (planned.get(key)?.name ?? null) ? [] : [{ theme, name: before }];
  });
  return { names: planned, undo };
}

/** Whether names lead from a key back to one that they have passed; a theme whose spelling alone changed is no circle. */
function isInCircle(names: ThemeNames, start: string): boolean {
  let last = start;
  for (const key of keysFrom(names, start)) last = key;
  const named = names.get(last);
  return named !== undefined && themeKey(named.name) !== last;
}

/** The keys to which names lead from these keys of themes, these included. */
export const reachableThemeKeys = (names: ThemeNames, keys: Iterable<string>): Set<string> =>
  new Set([...keys].flatMap((key) => [...keysFrom(names, key)]));
