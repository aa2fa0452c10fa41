import { isDeepStrictEqual } from 'node:util';
import type { SurveyWithQuestions } from '../domain/survey.ts';
import { conflict, validationProblem } from '../errors.ts';
import type { SurveyDefinition, SurveyVersions } from '../stores/postgres/survey-versions.ts';
import type { SurveyLookup } from './survey-lookup.ts';

export type Check = (current: SurveyWithQuestions) => void;

/** What an edit replaces, as callers see it; undefined: it is not there. */
type PartOf = (definition: SurveyDefinition) => unknown;

/** Recognises that somebody else has changed what an editor is about to replace. */
export function createEditConflicts({
  versions,
  peek,
}: { versions: Pick<SurveyVersions, 'find'> } & Pick<SurveyLookup, 'peek'>) {
  /** The definition of a version. Most editors have seen the present one, which need not be read. */
  const definitionOf = async (surveyId: string, version: number): Promise<SurveyDefinition | undefined> => {
    const present = peek(surveyId)?.survey;
    return present?.version === version ? present : (await versions.find(surveyId, version))?.definition;
  };
  return {
    /**
     * A check that throws CONFLICT, reason CHANGED_MEANWHILE, if a part of the survey is not what it was in the version
     * that the editor saw; without a version it never does.
     */
    async check(surveyId: string, observedVersion: number | undefined, partOf: PartOf): Promise<Check> {
      if (observedVersion === undefined) return () => undefined;
      const observed = await definitionOf(surveyId, observedVersion);
      return (current) => {
        if (observedVersion === current.version) return;
        if (observedVersion > current.version)
          throw validationProblem([{ path: 'ifUnchangedSince', message: 'the survey has no such version yet' }]);
        if (!observed || !isDeepStrictEqual(plain(partOf(observed)), plain(partOf(current))))
          throw conflict('CHANGED_MEANWHILE', `This was changed after version ${observedVersion} of the survey`);
      };
    },
  };
}

export type EditConflicts = ReturnType<typeof createEditConflicts>;

/** Stored definitions were JSON: fields that are undefined are not in them. */
const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
