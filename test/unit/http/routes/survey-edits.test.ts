import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type SurveyRoutesDeps, surveyRoutes } from '../../../../src/http/routes/surveys.ts';
import { nextId } from '../../../support/questions.ts';
import { reference } from '../../../support/reference.ts';

const fields = '`title`, `description`, `language` and `isShuffled`';

describe('a change of a survey that names the version that its editor saw', () => {
  it('may be of versioned fields only, as the refusal of others says', async () => {
    const route = surveyRoutes({ translations: {} } as SurveyRoutesDeps).find(
      ({ operationId }) => operationId === 'changeSurvey',
    );
    const body = { title: 'Mine', endsAt: null, appearance: { closingText: 'Thank you' } };
    const change = { params: { id: nextId() }, query: { ifUnchangedSince: 3 }, body };
    await assert.rejects(async () => route?.handle(change as never), {
      details: [
        {
          path: 'ifUnchangedSince',
          message: `versions of a survey hold only ${fields}: change endsAt, appearance without ifUnchangedSince`,
        },
      ],
    });
  });

  it('may be of versioned fields only, as the description of the parameter says', () => {
    const { parameters } = reference.document.paths['/surveys/{id}'].put;
    const { description } = parameters.find(({ name }: { name: string }) => name === 'ifUnchangedSince');
    assert.ok(description.endsWith(`Only for ${fields}: with other fields 400`), description);
  });
});
