import { type ProviderName, providerPrefixes, providerSettings } from './ai-settings.ts';
import { environmentSchema } from './definitions.ts';

const providerNames = Object.keys(providerPrefixes) as ProviderName[];
const known = [
  ...Object.keys(environmentSchema.shape),
  ...providerNames.flatMap((name) => Object.keys(providerSettings(name))),
];

/** Prefixes that no other program's environment is likely to use. */
const ownPrefixes = ['RATE_LIMIT', 'INTAKE_', 'WEBHOOK_', 'UPLOAD_', 'AI_'];
/** Shorter names are too near to common variables, such as HOST to HOME. */
const minComparedLength = 7;
const maxTypos = 2;

/** Environment variables that are no settings but look like one, with the setting that they resemble. */
export function misspelledSettings(
  source: Record<string, string | undefined>,
): { name: string; meant: string | undefined }[] {
  return Object.keys(source)
    .filter((name) => !known.includes(name))
    .map((name) => ({ name, meant: known.find((other) => isMisspelling(name, other)) }))
    .filter(({ name, meant }) => meant !== undefined || ownPrefixes.some((prefix) => name.startsWith(prefix)));
}

function isMisspelling(name: string, setting: string): boolean {
  const [one, other] = [singular(name.toUpperCase()), singular(setting)];
  return (
    setting.length >= minComparedLength &&
    Math.abs(one.length - other.length) <= maxTypos &&
    editDistance(one, other) <= maxTypos
  );
}

/** `TRUSTED_PROXY` for `TRUSTED_PROXIES`, which are three characters apart. */
const singular = (name: string): string => name.replace(/IES$/, 'Y');

/** Levenshtein distance: the fewest characters inserted, deleted or replaced that turn one text into the other. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, character] of [...one].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (character === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
