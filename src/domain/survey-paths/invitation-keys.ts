import { oncePerObject } from '../once-per-object.ts';
import { invitationKeyOf } from '../path/definition.ts';
import { placeholdersIn } from '../path/placeholders.ts';
import type { SurveyWithQuestions } from '../survey.ts';
import { conditionOf, elementsOf, leavesOf, type PathElement } from './path-elements.ts';

type Metadata = Readonly<Record<string, string>>;

/** The metadata of an invitation that conditions and texts of a survey name. Translated texts count as they stand. */
export function namedMetadata(survey: SurveyWithQuestions, metadata: Metadata): Metadata {
  const pairs = Object.entries(metadata);
  if (pairs.length === 0) return metadata;
  const named = namedKeysOf(survey);
  return Object.fromEntries(pairs.filter(([key]) => named.has(key)));
}

/** Reading the placeholders of many options takes tens of milliseconds, and each page of an invitation needs them. */
const namedKeysOf = oncePerObject(
  (survey: SurveyWithQuestions): ReadonlySet<string> => new Set(elementsOf(survey).flatMap(keysOf)),
);

/** The keys of an invitation's metadata that an element names. */
function keysOf(element: PathElement): string[] {
  const condition = conditionOf(element);
  const subjects = condition ? leavesOf(condition) : 'text' in element ? placeholdersIn(element.text) : [];
  return subjects.flatMap((subject) =>
    'metadata' in subject || 'invitation' in subject ? (invitationKeyOf(subject) ?? []) : [],
  );
}
