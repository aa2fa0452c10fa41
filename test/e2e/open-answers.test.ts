import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { resultOfWork } from '../support/ai-work.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { useAi } from '../support/use-ai.ts';

const texts = ['Great SOUP, thanks', 'The queue was ärgerlich', 'soup was cold', '100 % _fine_', 'Straße'];

describe('the answers to an open question', () => {
  let admin: Client;
  let surveyId: string;
  let open: string;
  let dish: any;
  const list = (search = '', questionId = open) =>
    admin.call('GET', `/responses/surveys/${surveyId}/questions/${questionId}/texts${search}`);
  const textsOf = async (search: string): Promise<string[]> => {
    const { status, body } = await list(search);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data.map(({ text }: any) => text);
  };
  useAi(
    (scene) => {
      admin = scene.admin;
    },
    {
      answer: ({ user, schema }) => {
        const { answers } = JSON.parse(user[0] ?? '{}');
        const hasThemes = JSON.stringify(schema).includes('themes');
        return {
          answers: answers.map(({ n, text }: any) => ({
            n,
            sentiment: /queue|cold/.test(text) ? 'negative' : 'positive',
            ...(hasThemes && { themes: /soup/i.test(text) ? ['Soup'] : [] }),
          })),
        };
      },
    },
  );

  before(async () => {
    surveyId = (await admin.create('/surveys', { title: 'Open', status: 'ACTIVE' })).id;
    open = (await admin.create(`/surveys/${surveyId}/questions`, { type: 'LONG_TEXT', text: 'What else?' })).id;
    dish = await admin.create(`/surveys/${surveyId}/questions`, { type: 'YES_NO', text: 'Soup?' });
    for (const [index, textValue] of texts.entries())
      await admin.submit(surveyId, {
        answers: [
          { questionId: open, textValue },
          { questionId: dish.id, textValue: index % 2 === 0 ? 'yes' : 'no' },
        ],
      });
    await admin.submit(surveyId, { answers: [{ questionId: dish.id, textValue: 'yes' }] });
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, texts.length + 1),
    );
  });

  it('are found by a part in any case, where İ is no i', async () => {
    const { id } = await admin.create('/surveys', { title: 'Search', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Where?' });
    const said = ['Birne', 'istanbul', 'İstanbul', 'Bİ', 'Ünique'];
    for (const textValue of said) await admin.submit(id, { answers: [{ questionId: question.id, textValue }] });
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, said.length),
    );
    for (const [search, expected] of [
      ['İ', ['Bİ', 'İstanbul']],
      ['bİ', ['Bİ']],
      ['İSTANBUL', ['İstanbul']],
      ['STAN', ['istanbul', 'İstanbul']],
      ['ünIQUE', ['Ünique']],
    ] as const) {
      const path = `/responses/surveys/${id}/questions/${question.id}/texts?search=${encodeURIComponent(search)}`;
      const { body } = await admin.call('GET', path);
      assert.deepEqual(body.data.map(({ text }: any) => text).sort(), [...expected].sort(), search);
    }
  });

  it('are found in any spelling of the same letters, also at the end of a text', async () => {
    const { id } = await admin.create('/surveys', { title: 'Spelling', status: 'ACTIVE' });
    const question = await admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text: 'Where?' });
    const said = ['Hauptstraße', 'Hauptstraße 1', 'Café', 'Cafe\u0301', 'ΟΔΟΣ', 'οδος', 'οδοσ'];
    for (const textValue of said) await admin.submit(id, { answers: [{ questionId: question.id, textValue }] });
    await eventually(async () =>
      assert.equal((await admin.get(`/analytics/surveys/${id}`)).totalResponses, said.length),
    );
    for (const [search, expected] of [
      ['HAUPTSTRAẞE', [0, 1]],
      ['Café', [2, 3]],
      ['CAFE\u0301', [2, 3]],
      ['οδος', [4, 5, 6]],
      ['ΔΟΣ', [4, 5, 6]],
    ] as const) {
      const path = `/responses/surveys/${id}/questions/${question.id}/texts?search=${encodeURIComponent(search)}`;
      const { body } = await admin.call('GET', path);
      const found = body.data.map(({ text }: any) => text).sort();
      assert.deepEqual(found, expected.map((index) => said[index]).sort(), search);
    }
  });

  it('are listed newest first, without responses that do not answer it, in pages', async () => {
    assert.deepEqual(await textsOf(''), texts.toReversed());
    const first = (await list('?limit=2')).body;
    assert.deepEqual([first.data.length, first.pagination.total], [2, texts.length]);
    const second = (await list(`?limit=2&cursor=${first.pagination.nextCursor}`)).body;
    assert.deepEqual(
      [...first.data, ...second.data].map(({ text }: any) => text),
      texts.toReversed().slice(0, 4),
    );
    assert.deepEqual(await textsOf('?limit=2&page=3'), [texts[0]]);
  });

  it('are searched in any case, and selected by filters', async () => {
    assert.deepEqual(await textsOf('?search=soup'), ['soup was cold', 'Great SOUP, thanks']);
    assert.deepEqual(await textsOf(`?search=${encodeURIComponent('ÄRGER')}`), ['The queue was ärgerlich']);
    assert.deepEqual(await textsOf(`?search=${encodeURIComponent('% _')}`), ['100 % _fine_']);
    assert.deepEqual(await textsOf(`?search=${encodeURIComponent("') OR 1=1 --\\")}`), []);
    assert.deepEqual(await textsOf(`?filter=${dish.id}:no`), ['100 % _fine_', 'The queue was ärgerlich']);
    assert.deepEqual(await textsOf('?outcome=PARTIAL'), []);
    assert.equal((await list('?search=soup&limit=1')).body.pagination.total, 2);
  });

  it('have what analyses found in them', async () => {
    const found = () => admin.get(`/ai/surveys/${surveyId}/questions/${open}/annotations`);
    assert.deepEqual(await found(), { sentiment: null, themes: null });
    assert.ok(
      (await list()).body.data.every(({ sentiment, themes }: any) => sentiment === null && themes.length === 0),
    );
    for (const analysisType of ['sentiment', 'themes'])
      await resultOfWork(admin, `/ai/surveys/${surveyId}/analyze`, { analysisType });
    const { data } = (await list('?search=soup')).body;
    assert.deepEqual(
      data.map(({ sentiment, themes }: any) => [sentiment, themes]),
      [
        ['negative', ['Soup']],
        ['positive', ['Soup']],
      ],
    );
    assert.deepEqual(await found(), {
      sentiment: { positive: 3, negative: 2, neutral: 0, mixed: 0 },
      themes: [{ name: 'Soup', count: 2 }],
    });
    assert.deepEqual(await textsOf(`?filter=theme:${open}:Soup&filter=sentiment:${open}:negative`), ['soup was cold']);
  });

  it('select whole responses by the same filters', async () => {
    const responses = (search: string) => admin.call('GET', `/responses/surveys/${surveyId}${search}`);
    const cold = (await list(`?filter=theme:${open}:Soup&filter=sentiment:${open}:negative`)).body.data;
    const { body } = await responses('?filter=theme:Soup&filter=sentiment:negative');
    assert.deepEqual(
      body.data.map(({ id }: any) => id),
      cold.map(({ responseId }: any) => responseId),
    );
    assert.equal(body.pagination.total, 1);
    const yes = (await responses(`?filter=${dish.id}:yes&limit=2`)).body.pagination;
    assert.equal(yes.total, 4);
    const rest = (await responses(`?filter=${dish.id}:yes&limit=2&cursor=${encodeURIComponent(yes.nextCursor)}`)).body;
    assert.equal(rest.data.length, 2);
    const { status, body: refusal } = await responses('?filter=theme:Salad');
    assert.deepEqual([status, refusal.details[0].path], [400, 'filter.0']);
  });

  it('are refused for other questions and strangers', async () => {
    assert.deepEqual((await list('', dish.id)).body.details, [
      { path: 'questionId', message: 'is not a SHORT_TEXT or LONG_TEXT question' },
    ]);
    assert.equal((await list('', surveyId)).status, 404);
    for (const search of ['?search=', `?search=${'x'.repeat(201)}`, '?limit=201', '?cursor=zz', '?filter=nothing:x'])
      assert.equal((await list(search)).status, 400, search);
    const path = `/responses/surveys/${surveyId}/questions/${open}/texts`;
    assert.equal((await admin.call('GET', path, { token: undefined })).status, 401);
  });
});
