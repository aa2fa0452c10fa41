import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type AiFixture, endedJob, openSurvey, startAiFixture } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { resultOfWork } from '../support/ai-work.ts';
import type { Client } from '../support/client.ts';
import { draftQuestion } from '../support/draft-question.ts';
import { signInNewUser } from '../support/new-user.ts';

/** Does what each kind of work asks for. */
function done({ user, schema }: SeenCall): unknown {
  const data = JSON.parse(user[0] ?? '{}');
  if (schema.properties.strings)
    return { strings: data.strings.map(({ n, text }: any) => ({ n, text: `${data.to}: ${text}` })) };
  if (schema.properties.suggestions)
    return { suggestions: [{ aspect: 'clarity', problem: 'Unclear', text: 'How was lunch?', options: [] }] };
  if (schema.properties.message) return { message: 'Here it is', ...written };
  return {
    title: 'What guests think',
    sections: [{ heading: 'Lunch', text: 'It was eaten.', questions: [1] }],
    ...(schema.properties.recommendations && { recommendations: ['More soup'] }),
  };
}

const written = {
  title: 'Lunch',
  description: null,
  sections: [],
  questions: Array.from({ length: 5 }, (_, n) => draftQuestion('NPS', `Question ${n}`)),
};

describe('long translations, reports and suggestions', () => {
  let service: AiFixture['service'];
  let ai: AiFixture['ai'];
  let admin: Client;
  let stop: AiFixture['stop'];
  let id: string;
  let questionId: string;
  let work: [path: string, body: object][];

  before(async () => {
    ({ service, ai, admin, stop } = await startAiFixture());
    ({ id, questionId } = await openSurvey(admin, ['Good']));
    work = [
      [`/ai/surveys/${id}/translate`, { languages: ['de', 'he'] }],
      [`/ai/surveys/${id}/report`, {}],
      [`/ai/questions/${questionId}/optimize`, {}],
    ];
  });
  after(() => stop?.());
  beforeEach(() => {
    ai.calls.length = 0;
    ai.answer = done;
  });

  it('long work gets a 202, equal requests share it, and its result is found under the job', async () => {
    let answer = (): void => undefined;
    ai.holdUntil = new Promise((resolve) => {
      answer = resolve;
    });
    const ask = () => Promise.all(work.map(([path, body]) => admin.call('POST', path, { body })));
    const [replies, equal] = await Promise.all([ask(), ask()]).finally(answer);
    assert.deepEqual(
      [...replies, ...equal].map(({ status }) => status),
      [202, 202, 202, 202, 202, 202],
    );
    assert.deepEqual(
      equal.map(({ body }) => body.data.jobId),
      replies.map(({ body }) => body.data.jobId),
    );
    const jobs = await Promise.all(replies.map(({ body }) => endedJob(admin, body.data.jobId)));
    assert.deepEqual(
      jobs.map(({ progress }) => progress),
      [1, 1, 1],
    );
    const results = jobs.map(({ result }) => result);
    assert.equal(ai.calls.length, 4, 'two languages, a report, a question');
    assert.deepEqual(results[0], {
      languages: ['de', 'he'],
      translations: [
        { language: 'de', direction: 'ltr', translatedCount: 2 },
        { language: 'he', direction: 'rtl', translatedCount: 2 },
      ],
    });
    assert.equal((await admin.get(`/surveys/${id}/translations/he`)).title, 'he: Canteen');
    assert.equal(results[1].reportId, replies[1]?.body.data.jobId);
    assert.deepEqual(await admin.get(`/ai/surveys/${id}/reports/${results[1].reportId}`), results[1]);
    assert.deepEqual((await admin.get(`/ai/questions/${questionId}/suggestions`)).suggestions, results[2].suggestions);
  });

  it('usage names the survey and the user who asked, and for conversations the user who writes', async () => {
    const writer = await signInNewUser(service, admin, 'ADMIN');
    const other = await openSurvey(admin, ['Good']);
    for (const [path, body] of work) {
      await resultOfWork(writer, path.replace(id, other.id).replace(questionId, other.questionId), body);
    }
    const { conversationId } = await writer.create('/ai/conversations', { prompt: 'Lunch', questionCount: 5 });
    await writer.post(`/ai/conversations/${conversationId}/messages`, { message: 'Shorter' });
    const tasks = ({ byTask }: any) => Object.fromEntries(byTask.map(({ task, calls }: any) => [task, calls]));
    const ofSurvey = tasks(await admin.get(`/ai/usage?surveyId=${other.id}`));
    assert.deepEqual(Object.values(ofSurvey).sort(), [1, 1, 2], JSON.stringify(ofSurvey));
    const ofUser = tasks(await admin.get(`/ai/usage?userId=${writer.id}`));
    assert.deepEqual(Object.values(ofUser).sort(), [1, 1, 2, 2], JSON.stringify(ofUser));
  });
});
