import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type AiFixture, aiProviders, startAiFixture } from '../support/ai-fixture.ts';
import { callForWork, resultOfWork } from '../support/ai-work.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';

const written = {
  title: 'What guests think',
  sections: [
    { heading: 'Meals', text: 'Three of four guests chose soup.', questions: [1] },
    { heading: 'In their words', text: 'Few wrote anything.', questions: [2, 1] },
  ],
  recommendations: ['Offer more soup.'],
};

describe('AI reports', () => {
  let service: AiFixture['service'];
  let ai: AiFixture['ai'];
  let admin: Client;
  let stop: AiFixture['stop'];
  let surveyId: string;
  let questionIds: string[];

  before(async () => {
    ({ service, ai, admin, stop } = await startAiFixture());
    surveyId = (await admin.create('/surveys', { title: 'Lunch', status: 'ACTIVE' })).id;
    const dish = await admin.create(`/surveys/${surveyId}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Which dish?',
      options: [
        { text: 'Soup of the day', value: 'soup' },
        { text: 'Salad', value: 'salad' },
      ],
    });
    const why = await admin.create(`/surveys/${surveyId}/questions`, { type: 'LONG_TEXT', text: 'Why?' });
    const mail = await admin.create(`/surveys/${surveyId}/questions`, { type: 'EMAIL', text: 'Your address?' });
    questionIds = [dish.id, why.id, mail.id];
    for (const index of [0, 0, 0, 1]) {
      const answers = [
        { questionId: dish.id, optionId: dish.options[index].id },
        { questionId: why.id, textValue: 'Zanzibar-secret' },
        { questionId: mail.id, textValue: 'ada@hidden.example' },
      ];
      assert.equal((await admin.submit(surveyId, { answers })).status, 201);
    }
    await eventually(async () => assert.equal((await admin.get(`/analytics/surveys/${surveyId}`)).totalResponses, 4));
  });
  after(() => stop?.());
  beforeEach(() => {
    ai.calls.length = 0;
    ai.answer = () => written;
  });
  const report = (body: object = {}, search = '') =>
    callForWork(admin, `/ai/surveys/${surveyId}/report${search}`, body);

  for (const provider of aiProviders)
    it(`a report by ${provider} is written from counts, without the text of answers`, async () => {
      const reply = await report({ provider });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      const { reportId, ...rest } = reply.body.data;
      assert.deepEqual(rest, {
        title: 'What guests think',
        recommendations: ['Offer more soup.'],
        sections: [
          { heading: 'Meals', text: 'Three of four guests chose soup.', questionIds: [questionIds[0]] },
          { heading: 'In their words', text: 'Few wrote anything.', questionIds: [questionIds[1], questionIds[0]] },
        ],
      });
      assert.equal(ai.calls[0]?.wire, provider);
      const sent = JSON.parse(ai.calls[0]?.user[0] ?? '{}');
      assert.deepEqual(sent.questions[0].counts, [
        { answer: 'Soup of the day', count: 3 },
        { answer: 'Salad', count: 1 },
      ]);
      assert.deepEqual(
        [sent.survey.totalResponses, sent.questions[1].answered, sent.questions[1].counts, sent.questions[2].counts],
        [4, 4, undefined, undefined],
      );
      assert.doesNotMatch(ai.calls[0]?.raw ?? '', /zanzibar|hidden\.example/i);
      assert.deepEqual(await admin.get(`/ai/surveys/${surveyId}/reports/${reportId}`), { reportId, ...rest });
    });

  it('without `includeRecommendations` a report neither asks for nor has recommendations', async () => {
    const { recommendations, ...withoutThem } = written;
    assert.ok(recommendations);
    ai.answer = () => withoutThem;
    const reply = await report({ includeRecommendations: false });
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    assert.ok(!('recommendations' in reply.body.data));
    assert.ok(!JSON.stringify(ai.calls[0]?.schema).includes('recommendations'));
    assert.match(ai.calls[0]?.system ?? '', /no recommendations/);
  });

  it('a report includes the results of the last analysis of open answers', async () => {
    ai.answer = ({ user, schema }) => {
      if (schema.properties?.sections) return written;
      const { answers } = JSON.parse(user[0] ?? '{}');
      return { answers: answers.map(({ n }: any) => ({ n, themes: ['Waiting time'], sentiment: 'negative' })) };
    };
    await resultOfWork(admin, `/ai/surveys/${surveyId}/analyze`, { analysisType: 'themes' });
    ai.calls.length = 0;
    assert.equal((await report()).status, 200);
    const { themes, themesBase } = JSON.parse(ai.calls.at(-1)?.user[0] ?? '{}');
    assert.deepEqual([themes, themesBase], [[{ name: 'Waiting time', count: 4, sentiment: 'negative' }], 4]);
  });

  it('a report is a PDF file on request, when it is written and later', async () => {
    const reply = await eventually(async () => {
      const askedAt = performance.now();
      const drawn = await fetch(`${service.base}/ai/surveys/${surveyId}/report?format=pdf`, {
        method: 'POST',
        headers: { authorization: `Bearer ${admin.token}` },
      });
      // Where a busy machine takes longer for it than the 20 s that a call waits, an equal call joins the work.
      if (performance.now() - askedAt >= 20_000) assert.notEqual(drawn.status, 202);
      return drawn;
    }, 120_000);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/pdf');
    assert.match(reply.headers.get('content-disposition') ?? '', /What guests think\.pdf/);
    const bytes = Buffer.from(await reply.arrayBuffer());
    assert.equal(bytes.length, Number(reply.headers.get('content-length')));
    assert.equal(bytes.subarray(0, 5).toString(), '%PDF-');
    const { reportId } = (await report()).body.data;
    const later = await fetch(`${service.base}/ai/surveys/${surveyId}/reports/${reportId}?format=pdf`, {
      headers: { authorization: `Bearer ${admin.token}` },
    });
    assert.equal(
      Buffer.from(await later.arrayBuffer())
        .subarray(0, 5)
        .toString(),
      '%PDF-',
    );
  });

  it('a report is in the language asked for, and listed', async () => {
    const { reportId } = (await report({ language: 'AR' })).body.data;
    assert.equal(JSON.parse(ai.calls[0]?.user[0] ?? '{}').language, 'ar');
    await report({ language: 'de' });
    assert.equal(JSON.parse(ai.calls[1]?.user[0] ?? '{}').language, 'de');
    const list = await admin.call('GET', `/ai/surveys/${surveyId}/reports?limit=1&page=2`);
    assert.deepEqual(
      list.body.data.map((item: any) => ({ ...item, createdAt: typeof item.createdAt })),
      [{ reportId, title: written.title, createdAt: 'string' }],
    );
    assert.deepEqual(list.body.pagination.page, 2);
    assert.ok(list.body.pagination.total >= 2);
    assert.equal((await report({ language: 'not a language' })).status, 400);
    const other = await admin.create('/surveys', { title: 'Without reports' });
    assert.deepEqual(await admin.get(`/ai/surveys/${other.id}/reports`), []);
  });

  it('a report about unknown questions is asked for again, then refused', async () => {
    ai.answer = () => ({ ...written, sections: [{ heading: 'Meals', text: 'Soup.', questions: [9] }] });
    const reply = await report();
    assert.deepEqual([reply.status, reply.body.code], [502, 'AI_PROVIDER_ERROR']);
    assert.match(ai.calls[1]?.user.at(-1) ?? '', /no question 9/);
  });

  it('a report is refused without responses, where AI is off, and for unknown surveys', async () => {
    const empty = await admin.create('/surveys', { title: 'Nobody came' });
    const none = await admin.call('POST', `/ai/surveys/${empty.id}/report`);
    assert.deepEqual([none.status, none.body.details?.reason], [409, 'NO_RESPONSES']);
    await admin.put(`/surveys/${empty.id}`, { aiEnabled: false });
    const off = await admin.call('POST', `/ai/surveys/${empty.id}/report`);
    assert.deepEqual([off.status, off.body.code], [409, 'AI_DISABLED']);
    for (const [body, search] of [
      [{ includeRecommendations: 'yes' }, ''],
      [{ provider: 'acme' }, ''],
      [{ prompt: 'x' }, ''],
      [{}, '?format=docx'],
    ] as const)
      assert.equal((await report(body, search)).status, 400);
    assert.equal((await report({ prompt: 'x'.repeat(1024 * 1024) })).status, 413);
    assert.equal((await admin.call('GET', `/ai/surveys/${empty.id}/reports/${surveyId}`)).status, 404);
    assert.equal(ai.calls.length, 0);
  });
});
