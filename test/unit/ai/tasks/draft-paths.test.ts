import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generateSurveyTask, readDraft, surveyFromDraft } from '../../../../src/ai/tasks/generate-survey.ts';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { newId } from '../../../../src/platform/ids.ts';

const any = { atLeast: 1, atMost: 30 };
const reply = (change: object = {}) => ({
  title: 'Stay',
  description: null,
  sections: [
    { title: 'Your stay', description: 'Nights and rooms' },
    { title: 'Nobody asks here', description: null },
    { title: 'Breakfast', description: null },
  ],
  questions: [
    { type: 'YES_NO', text: 'Did you have breakfast?', section: 2 },
    {
      type: 'CHECKBOXES',
      text: 'What?',
      options: ['Eggs', 'Bread'],
      section: 2,
      onlyIfQuestion: 0,
      onlyIfOptions: ['Yes'],
    },
    { type: 'SHORT_TEXT', text: 'How were the eggs?', section: 2, onlyIfQuestion: 1, onlyIfOptions: ['Eggs'] },
    { type: 'NUMBER', text: 'How many nights?', section: 0, min: 1, onlyIfQuestion: null, onlyIfOptions: [] },
    { type: 'NPS', text: 'Would you recommend us?', section: null, ...change },
  ],
});
const wrongOf = (change: object) => {
  const read = readDraft(reply(change), any);
  return 'wrong' in read ? read.wrong : [];
};

describe('a draft with sections and conditions', () => {
  it('becomes a survey with them, in the order of its sections', () => {
    const read = readDraft(reply(), any);
    assert.ok('value' in read, JSON.stringify(read));
    assert.deepEqual(read.value.sections, [
      { title: 'Your stay', description: 'Nights and rooms', questions: [3] },
      { title: 'Breakfast', description: null, questions: [0, 1, 2] },
    ]);
    const survey = surveyFromDraft(read.value, blankSurvey(newId(), newId(), 0), () => newId());
    const [stay, breakfast] = survey.sections ?? [];
    assert.deepEqual(
      survey.questions.map(({ text, sectionId, order }) => [text, sectionId, order]),
      [
        ['Would you recommend us?', undefined, 0],
        ['How many nights?', stay?.id, 1],
        ['Did you have breakfast?', breakfast?.id, 2],
        ['What?', breakfast?.id, 3],
        ['How were the eggs?', breakfast?.id, 4],
      ],
    );
    const [, , had, what, eggs] = survey.questions;
    assert.deepEqual(what?.visibleIf, { questionId: had?.id, operator: 'isAnyOf', optionIds: [had?.options[0]?.id] });
    assert.deepEqual(eggs?.visibleIf, {
      questionId: what?.id,
      operator: 'includesAny',
      optionIds: [what?.options[0]?.id],
    });
    assert.ok(survey.questions.every(({ notAsked }) => notAsked !== undefined));
  });

  it('is the draft that it was before where it has none', () => {
    const { sections: _, questions, ...rest } = reply();
    const plain = questions.map(({ type, text, options }: any) => ({ type, text, ...(options && { options }) }));
    const read = readDraft({ ...rest, questions: plain }, any);
    assert.ok('value' in read);
    assert.deepEqual(Object.keys(read.value), ['title', 'description', 'questions']);
    const survey = surveyFromDraft(read.value, blankSurvey(newId(), newId(), 0), () => newId());
    assert.deepEqual([survey.sections, survey.questions[0]?.notAsked], [undefined, undefined]);
  });

  it('names what is wrong with it, for another try', () => {
    assert.deepEqual(wrongOf({ section: 3 }), ['questions.4.section: is not one of the sections']);
    for (const onlyIfQuestion of [3, 9])
      assert.deepEqual(wrongOf({ onlyIfQuestion, onlyIfOptions: ['Yes'] }), [
        'questions.4.onlyIfQuestion: must be an earlier question with options',
      ]);
    assert.deepEqual(wrongOf({ onlyIfQuestion: 0, onlyIfOptions: ['Yes'] }), [
      'questions.4.visibleIf.questionId: must be an earlier question',
    ]);
    assert.deepEqual(wrongOf({ text: 'Why {{question:0}}?' }), [
      'questions.4.text: {{question:0}} is not a question of this survey',
    ]);
    for (const onlyIfOptions of [[], ['Perhaps'], ['Yes', 'Perhaps']])
      assert.deepEqual(wrongOf({ section: 2, onlyIfQuestion: 0, onlyIfOptions }), [
        'questions.4.onlyIfOptions: must be options of that question: Yes, No',
      ]);
  });

  it('is asked for in words and by a flat schema', () => {
    const { schema, system } = generateSurveyTask('Guests', 5);
    assert.match(system, /onlyIfQuestion/);
    assert.ok(schema.safeParse({ title: 't', description: null, sections: [], questions: [] }).success === false);
  });
});
