import { findAccountNames } from './account-names.ts';
import { findBirthDates } from './birth-dates.ts';
import { findEmails } from './emails.ts';
import { findDeviceIds, findIds } from './ids.ts';
import { findAddressedNames } from './names/addressed-names.ts';
import { findCyrillicNames } from './names/cyrillic-names.ts';
import { findEastAsianNames } from './names/east-asian-names.ts';
import { findIntroducedNames } from './names/introduced-names.ts';
import { loadPeopleFinder } from './names/library-names.ts';
import { findSemiticNames } from './names/semitic-names.ts';
import { findIpAddresses, findUrls } from './network-addresses.ts';
import { findBankAccounts } from './numbers/bank-accounts.ts';
import { findLabelledNumbers } from './numbers/labelled-numbers.ts';
import { findPhoneAndCardNumbers } from './numbers/phone-numbers.ts';
import { findPostalAddresses } from './postal-addresses.ts';
import { type Finder, runFinders } from './spans.ts';
import { fold } from './text/folded-text.ts';

/** Replaces what names or identifies somebody by placeholders such as `[EMAIL_1]`; the same thing gets the same placeholder. */
export type Anonymise = (text: string) => string;

/** In this order: what is longer and more certain goes first, so that its parts are not taken for something else. */
const finders = [
  findUrls,
  findEmails,
  findAccountNames,
  findDeviceIds,
  findBankAccounts,
  findIpAddresses,
  findIds,
  findBirthDates,
  findPostalAddresses,
  findPhoneAndCardNumbers,
  findLabelledNumbers,
  findIntroducedNames,
  findAddressedNames,
  findCyrillicNames,
  findEastAsianNames,
  findSemiticNames,
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
    for (const { kind, start, end } of runFinders(text, [...finders, findPeople])) {
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
