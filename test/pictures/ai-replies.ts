import type { SeenCall } from '../support/ai-provider.ts';
import { draftQuestion } from '../support/draft-question.ts';

const question = (type: string, text: string, options: string[] = [], fields: object = {}) =>
  draftQuestion(type, text, { options, ...fields });

const visit = { section: 0 };
const price = { section: 1 };
const draft = [
  question('DROPDOWN', 'How often do you eat in our canteen?', ['Daily', 'Weekly', 'Monthly', 'Less often'], {
    ...visit,
    isRequired: true,
  }),
  question('LIKERT_SCALE', 'The food is worth its price.', [], visit),
  question('CHECKBOXES', 'What keeps you away?', ['Price', 'Queues', 'Choice', 'Opening hours'], {
    ...visit,
    onlyIfQuestion: 0,
    onlyIfOptions: ['Monthly', 'Less often'],
  }),
  question('NPS', 'How likely are you to recommend the canteen to a colleague?', [], visit),
  question('SLIDER', 'What may a lunch cost?', [], { ...price, min: 3, max: 15, step: 1 }),
  question('LONG_TEXT', 'What would bring you more often?', [], price),
];

/** What the stand-in of the AI providers says in pictures. */
export function pictureReply({ user, schema }: SeenCall): unknown {
  if ('suggestions' in schema.properties)
    return {
      suggestions: [
        {
          aspect: 'clarity',
          problem: 'Guests who had two dishes do not know which one is meant.',
          text: 'Which main dish did you have today?',
          options: [],
        },
        {
          aspect: 'engagement',
          problem: 'The wording is impersonal.',
          text: 'Which dish did you choose today?',
          options: [],
        },
      ],
    };
  const isFirst = JSON.parse(user[0] ?? '{}').draft === null;
  return {
    message: isFirst
      ? 'Here is a first draft about visits, prices and what keeps guests away. Should it ask what a lunch may cost?'
      : 'I have added a slider for the price of a lunch. Shall the open question be required?',
    title: 'Lunch in our canteen',
    description: 'Two minutes, anonymous. Your answers decide what we cook.',
    sections: [
      { title: 'Your visits', description: null },
      { title: 'What you wish for', description: null },
    ],
    questions: isFirst ? [...draft.slice(0, 4), ...draft.slice(5)] : draft,
  };
}
