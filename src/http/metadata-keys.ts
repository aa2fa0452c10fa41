import type { ParsedFilter } from '../domain/questions/contract.ts';
import { validationProblem } from '../errors.ts';
import type { CrosstabStore } from '../stores/clickhouse/counts/crosstab.ts';

/** A key of the metadata, and the field of a request that names it. */
export interface NamedKey {
  path: string;
  key: string;
}

/** The keys that filters in this field of a request name. */
export const keysOfFilters = (filters: readonly ParsedFilter[], path: string): NamedKey[] =>
  filters.flatMap(({ dimension: { source } }, index) =>
    source.kind === 'metadata' ? [{ path: `${path}.${index}`, key: source.key }] : [],
  );

/** Refuses keys that no response of the survey has, since a misspelt key would give an empty result. */
export async function assertMetadataKeysExist(
  crosstab: Pick<CrosstabStore, 'lacksMetadataKey'>,
  surveyId: string,
  named: readonly NamedKey[],
): Promise<void> {
  for (const { path, key } of named)
    if (await crosstab.lacksMetadataKey({ surveyId, key }))
      throw validationProblem([
        { path, message: `no response of this survey has the key ${JSON.stringify(key)} in its metadata` },
      ]);
}
