import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AiFixture } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { missing, pasteInFolder, tourOf } from '../support/documents.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { useAi } from '../support/use-ai.ts';

const question = (text: string) => draftQuestion('YES_NO', text);
const questions = (count: number) => Array.from({ length: count }, (_, index) => question(`Question ${index + 1}`));

/** Plays the provider: the sentiment of each answer, or a survey of eight questions. */
function answer({ user, schema }: SeenCall): unknown {
  const { answers } = JSON.parse(user[0] ?? '{}') as { answers?: { n: number }[] };
  if (answers) return { answers: answers.map(({ n }) => ({ n, sentiment: 'negative' })) };
  return {
    ...('message' in schema.properties && { message: 'Here is a draft.' }),
    title: 'Lunch',
    description: null,
    sections: [],
    questions: questions(8),
  };
}

describe('docs/guide/ai.md', () => {
  let service: AiFixture['service'];
  useAi(
    (scene) => {
      ({ service } = scene);
    },
    { answer },
  );

  it('its tour writes a survey, analyses answers and streams a conversation', {
    skip: missing('bash', 'curl'),
  }, async () => {
    const printed = await pasteInFolder(tourOf('docs/guide/ai.md', service), (stdout) => stdout);
    assert.doesNotMatch(printed, /"success":false/);
    assert.match(printed, /"sentiment":"negative"/);
    assert.match(printed, /"totalResponses":2/);
    assert.match(printed, /^event: text$/m);
    assert.match(printed, /^event: reply$/m);
    assert.match(printed, /"calls":\d/);
  });
});
