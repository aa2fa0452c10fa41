import { findAccounts, findIds } from './privacy/accounts.ts';
import { findEmails } from './privacy/emails.ts';
import { fold } from './privacy/folded-text.ts';
import { findIntroduced } from './privacy/names.ts';
import { findIpAddresses, findUrls } from './privacy/networks.ts';
import { findNumbers } from './privacy/numbers.ts';
import { loadPeopleFinder } from './privacy/people.ts';
import { findStreets } from './privacy/places.ts';
import { findAll, type Finder } from './privacy/spans.ts';

/** Replaces what names or identifies somebody by placeholders such as `[EMAIL_1]`; the same thing gets the same placeholder. */
export type Anonymise = (text: string) => string;

/** In this order: what is longer and more certain goes first, so that its parts are not taken for something else. */
const finders = [findUrls, findEmails, findAccounts, findIpAddresses, findIds, findStreets, findNumbers, findIntroduced];

/** With everything that it takes to find names; loads it on first use. */
export async function openAnonymiser(): Promise<Anonymise> {
  return createAnonymiser(await loadPeopleFinder());
}

/** Knows its placeholders until it is dropped: make one for texts that are sent together. What is not found stays as it was written. */
export function createAnonymiser(findPeople: Finder): Anonymise {
  const placeholder = createPlaceholders();
  return (original) => {
    const { text, starts, ends } = fold(original);
    let [result, from] = ['', 0];
    for (const { kind, start, end } of findAll(text, [...finders, findPeople])) {
      result += original.slice(from, starts[start]) + placeholder(kind, text.slice(start, end));
      from = ends[end - 1] ?? original.length;
    }
    return result + original.slice(from);
  };
}

function createPlaceholders(): (kind: string, found: string) => string {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();
  return (kind, found) => {
    const key = `${kind} ${found.toLowerCase().replace(/[\s.\-/()]/g, '')}`;
    const name = known.get(key) ?? `[${kind}_${(counts.get(kind) ?? 0) + 1}]`;
    if (!known.has(key)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    known.set(key, name);
    return name;
  };
}
