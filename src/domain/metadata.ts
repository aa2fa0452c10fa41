import type { ValidationIssue } from '../errors.ts';

/** Limits of the metadata of responses, invitations and collectors. */
export const maxMetadataPairs = 20;
export const maxMetadataKeyLength = 100;
export const maxMetadataTextLength = 1000;

export const isMetadataKey = (key: string): boolean => key !== '' && key.length <= maxMetadataKeyLength;
export const isMetadataText = (text: unknown): text is string =>
  typeof text === 'string' && text.length <= maxMetadataTextLength;

type Report = (issue: ValidationIssue) => void;

/** Rules of a kind of metadata beside the limits. */
interface MetadataRules {
  /** No key may begin so. */
  reservedPrefix?: string;
  /** Whether a key or text is taken; `textRule` is added to the messages about those that are not. */
  isTaken?: (text: string) => boolean;
  textRule?: string;
}

/** Checks metadata as it was given, and reports what is wrong. */
export function readMetadata(value: unknown, report: Report, rules: MetadataRules): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report({ path: 'metadata', message: 'must be an object of texts' });
    return {};
  }
  const pairs = Object.entries(value);
  if (pairs.length > maxMetadataPairs)
    report({ path: 'metadata', message: `must have at most ${maxMetadataPairs} pairs` });
  for (const [key, text] of pairs.slice(0, maxMetadataPairs)) {
    const issue = issueOf(key, text, rules);
    if (issue) report(issue);
  }
  return value as Record<string, string>;
}

function issueOf(
  key: string,
  text: unknown,
  { reservedPrefix, isTaken = () => true, textRule = '' }: MetadataRules,
): ValidationIssue | undefined {
  if (!isMetadataKey(key) || !isTaken(key))
    return { path: 'metadata', message: `a key must have 1 to ${maxMetadataKeyLength} characters${textRule}` };
  const path = `metadata.${key}`;
  if (reservedPrefix !== undefined && key.startsWith(reservedPrefix))
    return { path, message: `must not begin with ${reservedPrefix}` };
  return isMetadataText(text) && isTaken(text)
    ? undefined
    : { path, message: `must be a text of at most ${maxMetadataTextLength} characters${textRule}` };
}
