import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEditConflicts } from '../../../src/actors/edit-conflicts.ts';
import type { CachedSurvey } from '../../../src/actors/survey-cache.ts';
import type { SurveyWithQuestions } from '../../../src/domain/survey.ts';
import { Problem } from '../../../src/errors.ts';
import { blankSurvey } from '../../support/questions.ts';

const title = ({ title }: { title: string }) => title;
const isConflict = (error: unknown) => error instanceof Problem && error.code === 'CONFLICT';

describe('edits of a version that an editor has seen', () => {
  const seen: SurveyWithQuestions = { ...blankSurvey(), version: 3, title: 'Lunch' };
  const conflicts = (cached?: SurveyWithQuestions) =>
    createEditConflicts({
      peek: () => (cached ? ({ survey: cached } as CachedSurvey) : undefined),
      versions: {
        find: async (_, version) => {
          assert.equal(cached?.version === version, false, 'a cached version is read');
          return version === 3
            ? { definition: seen, createdAt: new Date(), replacedAt: null }
            : assert.fail(`version ${version} is read`);
        },
      },
    });

  for (const [name, cached] of [
    ['the cached one', seen],
    ['a former one', { ...seen, version: 5 }],
    ['one that is not cached', undefined],
  ] as const)
    it(`are refused where what they replace was changed since: ${name}`, async () => {
      const assertUnchanged = await conflicts(cached).check(seen.id, 3, title);
      assertUnchanged(seen);
      assertUnchanged({ ...seen, version: 4, description: 'Another part' });
      assert.throws(() => assertUnchanged({ ...seen, version: 4, title: 'Dinner' }), isConflict);
      assert.throws(() => assertUnchanged({ ...seen, version: 2 }), Problem);
    });

  it('are not compared where the editor names no version', async () => {
    const assertUnchanged = await conflicts().check(seen.id, undefined, title);
    assertUnchanged({ ...seen, version: 9, title: 'Dinner' });
  });
});
