import { findAccountNames, findEmails } from './emails-and-accounts.ts';
import { findBirthDates, findDeviceIds, findIds, findLabelledNumbers } from './ids.ts';
import { findAddressedNames, findIntroducedNames, findTitledNames, loadPeopleFinder } from './names.ts';
import { findCyrillicNames, findEastAsianNames, findSemiticNames } from './names-by-script.ts';
import { findIpAddresses, findUrls } from './network-addresses.ts';
import { findBankAccounts } from './payment-numbers.ts';
import { findPhoneAndCardNumbers } from './phone-numbers.ts';
import { findPlates } from './plates.ts';
import { findPostalAddresses } from './postal-addresses.ts';
import { type Finder, runFinders } from './spans.ts';
import { fold } from './text-folding.ts';

/** Replaces names and identifiers by placeholders such as `[EMAIL_1]`; the same thing gets the same placeholder. */
export type Anonymise = (text: string) => string;

/** In order: longer and more certain identifiers first, so that parts of them are not taken for something else. */
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
  findPlates,
  findLabelledNumbers,
  findIntroducedNames,
  findAddressedNames,
  findCyrillicNames,
  findEastAsianNames,
  findSemiticNames,
];

/** Creates an anonymiser that also finds names by the library, which is loaded on first use. */
export async function openAnonymiser(): Promise<Anonymise> {
  return createAnonymiser(await loadPeopleFinder());
}

/**
 * Creates an anonymiser that remembers its placeholders; use one for texts that are sent together. Everything else in a
 * text stays as written.
 */
export function createAnonymiser(findPeople: Finder): Anonymise {
  const placeholder = createPlaceholders();
  // On the same text: in "Ngozi M. Smith" both find a part, which is one name where they overlap.
  const all: readonly Finder[] = [...finders, (rest) => [...findTitledNames(rest), ...findPeople(rest)]];
  return (original) => {
    const { text, starts, ends } = fold(original);
    let [result, from] = ['', 0];
    for (const { kind, start, end } of runFinders(text, all)) {
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
