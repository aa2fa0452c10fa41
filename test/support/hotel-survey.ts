import type { Client } from './client.ts';

export interface HotelSurvey {
  id: string;
  sections: Record<'stay' | 'after', any>;
  questions: Record<'name' | 'breakfast' | 'dishes' | 'best' | 'rooms' | 'why' | 'again', any>;
}

/**
 * A survey with two sections in which something names something else in every way: guests without breakfast are not
 * asked for dishes, the best dish is one of those chosen, and who had eggs does not come to the end.
 */
export async function hotelSurvey(admin: Client, fields: object = {}): Promise<HotelSurvey> {
  const { id } = await admin.create('/surveys', { title: 'Your stay, {{metadata:guest|dear guest}}', ...fields });
  const stay = await admin.create(`/surveys/${id}/sections`, { title: 'Your stay' });
  const after = await admin.create(`/surveys/${id}/sections`, { title: 'Afterwards' });
  const add = (body: object) => admin.create(`/surveys/${id}/questions`, body);
  const dishesToChoose = ['Eggs', 'Bread', 'Fruit'].map((text) => ({ text }));
  const name = await add({ type: 'SHORT_TEXT', text: 'Your name?' });
  const breakfast = await add({
    type: 'YES_NO',
    text: 'Did you have breakfast?',
    sectionId: stay.id,
    isRequired: true,
  });
  const hadBreakfast = { questionId: breakfast.id, operator: 'isAnyOf', optionIds: [breakfast.options[0].id] };
  const dishes = await add({
    type: 'CHECKBOXES',
    text: `What did you have, {{question:${name.id}|dear guest}}?`,
    sectionId: stay.id,
    options: dishesToChoose,
    visibleIf: hadBreakfast,
  });
  const rooms = await add({
    type: 'MATRIX',
    text: 'How were these?',
    sectionId: stay.id,
    options: [{ text: 'Good' }, { text: 'Bad' }],
    settings: { rows: [{ text: 'The bed' }, { text: 'The breakfast room', visibleIf: hadBreakfast }] },
  });
  const best = await add({
    type: 'MULTIPLE_CHOICE',
    text: 'Which was best?',
    sectionId: stay.id,
    options: [...dishesToChoose, { text: 'None of them', isAnchored: true }],
    settings: { allowOther: false, shuffleOptions: true },
    optionsFrom: { questionId: dishes.id, which: 'selected' },
  });
  const why = await add({
    type: 'SHORT_TEXT',
    text: `Why {{question:${dishes.id}|that}}?`,
    sectionId: after.id,
    skips: [
      {
        if: { questionId: dishes.id, operator: 'includesAny', optionIds: [dishes.options[0].id] },
        to: 'SCREEN_OUT',
      },
    ],
  });
  const again = await add({ type: 'NPS', text: 'Would you come again?', sectionId: after.id, isRequired: true });
  const shown = await admin.put(`/surveys/${id}/sections/${after.id}`, {
    visibleIf: {
      not: {
        questionId: rooms.id,
        rowId: rooms.settings.rows[0].id,
        operator: 'isAnyOf',
        optionIds: [rooms.options[1].id],
      },
    },
  });
  const { questions } = await admin.get(`/surveys/${id}`);
  const now = (question: any) => questions.find((each: any) => each.id === question.id);
  return {
    id,
    sections: { stay, after: shown },
    questions: {
      name: now(name),
      breakfast: now(breakfast),
      dishes: now(dishes),
      best: now(best),
      rooms: now(rooms),
      why: now(why),
      again: now(again),
    },
  };
}
