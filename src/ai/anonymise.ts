import { findBirths } from './privacy/births.ts';
import { findEmails } from './privacy/emails.ts';
import { findDevices, findIds } from './privacy/ids.ts';
import { findAddressed } from './privacy/names/addressed-names.ts';
import { findCyrillicNames } from './privacy/names/cyrillic-names.ts';
import { findEastAsianNames } from './privacy/names/east-asian-names.ts';
import { findIntroduced } from './privacy/names/introduced-names.ts';
import { loadPeopleFinder } from './privacy/names/people.ts';
import { findSemiticNames } from './privacy/names/semitic-names.ts';
import { findIpAddresses, findUrls } from './privacy/networks.ts';
import { findAccounts } from './privacy/numbers/accounts.ts';
import { findNumbers } from './privacy/numbers/numbers.ts';
import { findTold } from './privacy/numbers/told-numbers.ts';
import { findStreets } from './privacy/places.ts';
import { findProfiles } from './privacy/profiles.ts';
import { findAll, type Finder } from './privacy/spans.ts';
import { fold } from './privacy/text/folded-text.ts';

/** Replaces what names or identifies somebody by placeholders such as `[EMAIL_1]`; the same thing gets the same placeholder. */
export type Anonymise = (text: string) => string;

/** In this order: what is longer and more certain goes first, so that its parts are not taken for something else. */
const finders = [
  findUrls, findEmails, findProfiles, findDevices, findAccounts, findIpAddresses, findIds, findBirths, findStreets, findNumbers, findTold, findIntroduced, findAddressed,
  findCyrillicNames, findEastAsianNames, findSemiticNames,
];

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
      from = Math.max(from, ends[end - 1] ?? original.length);
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
