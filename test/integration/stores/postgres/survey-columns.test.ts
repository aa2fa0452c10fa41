import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';
import { withQuestion } from '../../../support/questions.ts';

describe('the sections of a survey', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  it('are read with its questions, and not where it is found or listed', async () => {
    const surveys = createSurveyStore(database.sql);
    const blank = blankSurvey(newId(), database.ownerId, Date.now());
    const { survey, question } = withQuestion(blank, { type: 'NPS', text: 'Would you recommend us?' });
    const sections = [{ id: newId(), title: 'First', description: 'x'.repeat(5000), order: 0, isShuffled: false }];
    await surveys.create({ ...survey, sections: sections as never });
    const loaded = await surveys.load(survey.id);
    assert.deepEqual(loaded?.sections, sections);
    const { sections: _, questions, collectors, ...rest } = loaded;
    const { items } = await surveys.list({ userId: null, sort: 'title', isDescending: false, page: 1, limit: 10 });
    assert.deepEqual(
      [await surveys.find(survey.id), await surveys.findByQuestion(question.id), items],
      [rest, rest, [{ ...rest, responseCount: 0 }]],
    );
  });
});
