import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { translationLanguages } from '../../src/domain/translation/languages.ts';
import { type AiFixture, aiProviders } from '../support/ai-fixture.ts';
import type { SeenCall } from '../support/ai-provider.ts';
import { callForWork } from '../support/ai-work.ts';
import { adminClient, type Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startService } from '../support/service.ts';
import { sharedStores } from '../support/stores.ts';
import { useAi } from '../support/use-ai.ts';

const others = translationLanguages.filter((language) => language !== 'en');

/** Every text with the language in front. */
function translated({ user }: SeenCall): unknown {
  const { to, strings } = JSON.parse(user[0] ?? '{}');
  return { strings: strings.map(({ n, text }: any) => ({ n, text: `${to}: ${text}` })) };
}

describe('AI translation of surveys', () => {
  let ai: AiFixture['ai'];
  let admin: Client;
  useAi(
    (scene) => {
      ({ ai, admin } = scene);
    },
    { answer: translated },
  );

  const make = async () => {
    const survey = await admin.create('/surveys', {
      title: 'Lunch at {{company}}',
      description: 'About lunch',
      status: 'ACTIVE',
    });
    const question = await admin.create(`/surveys/${survey.id}/questions`, {
      type: 'MULTIPLE_CHOICE',
      text: 'Which dish?',
      options: [
        { text: 'Soup', value: 'soup' },
        { text: 'Salad', value: 'salad' },
      ],
    });
    return { id: survey.id as string, question };
  };
  const translate = (id: string, body: object) => callForWork(admin, `/ai/surveys/${id}/translate`, body);
  const sent = () => ai.calls.flatMap(({ user }) => JSON.parse(user[0] ?? '{}').strings.map(({ text }: any) => text));

  for (const provider of aiProviders)
    it(`${provider} translates a survey in one call; option values stay, and the texts are stored like manual ones`, async () => {
      const { id, question } = await make();
      const reply = await translate(id, { languages: ['de', 'ar'], provider });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      assert.deepEqual(reply.body.data, {
        languages: ['de', 'ar'],
        translations: [
          { language: 'de', direction: 'ltr', translatedCount: 5 },
          { language: 'ar', direction: 'rtl', translatedCount: 5 },
        ],
      });
      assert.deepEqual(
        ai.calls.map(({ wire }) => wire),
        [provider, provider],
      );
      const stored = await admin.get(`/surveys/${id}/translations/ar`);
      assert.deepEqual(
        [stored.direction, stored.title, stored.stale, stored.missing],
        ['rtl', 'ar: Lunch at {{company}}', [], []],
      );
      const shown = (await admin.call('GET', `/public/surveys/${id}?lang=de`, { token: undefined })).body.data;
      assert.deepEqual(
        shown.questions[0].options.map(({ id: option, text }: any) => [option, text]),
        question.options.map(({ id: option, text }: any) => [option, `de: ${text}`]),
      );
      assert.deepEqual((await admin.get(`/surveys/${id}`)).questions[0], question);
    });

  it('a survey is translated to all fifteen languages', async () => {
    const { id } = await make();
    assert.equal((await translate(id, { languages: others })).status, 200);
    assert.equal(ai.calls.length, 14);
    const listed = await admin.get(`/surveys/${id}/translations`);
    assert.deepEqual(listed.map(({ language }: any) => language).sort(), [...translationLanguages].sort());
    assert.deepEqual(
      listed
        .filter(({ direction }: any) => direction === 'rtl')
        .map(({ language }: any) => language)
        .sort(),
      ['ar', 'he'],
    );
  });

  it('only new and reworded texts are sent again, and manual corrections stay', async () => {
    const { id, question } = await make();
    await translate(id, { languages: ['fr'] });
    await admin.put(`/surveys/${id}/translations/fr`, { title: 'Déjeuner' });
    ai.calls.length = 0;
    assert.deepEqual((await translate(id, { languages: ['fr'] })).body.data.translations, [
      { language: 'fr', direction: 'ltr', translatedCount: 0 },
    ]);
    assert.equal(ai.calls.length, 0);
    await admin.put(`/surveys/questions/${question.id}`, { text: 'What dish?' });
    await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'Why?' });
    await translate(id, { languages: ['fr'] });
    assert.deepEqual(sent(), ['What dish?', 'Why?']);
    const stored = await admin.get(`/surveys/${id}/translations/fr`);
    assert.deepEqual(
      [stored.title, stored.questions[0].text, stored.stale, stored.missing],
      ['Déjeuner', 'fr: What dish?', [], []],
    );
  });

  it('a reply that lacks a placeholder is asked for again, then refused, and not stored', async () => {
    const { id } = await make();
    ai.answer = (call) => JSON.parse(JSON.stringify(translated(call)).replaceAll('{{company}}', 'the company'));
    const reply = await translate(id, { languages: ['pl'] });
    assert.deepEqual([reply.status, reply.body.code], [502, 'AI_PROVIDER_ERROR']);
    assert.equal(ai.calls.length, 2);
    assert.match(ai.calls[1]?.user.at(-1) ?? '', /\{\{company\}\}/);
    assert.equal((await admin.call('GET', `/surveys/${id}/translations/pl`)).status, 404);
  });

  it('batches before a failure are kept, and the next call sends the rest', async () => {
    const { id } = await make();
    for (let index = 0; index < 6; index += 1)
      await admin.create(`/surveys/${id}/questions`, {
        type: 'CHECKBOXES',
        text: `Question ${index}`,
        options: Array.from({ length: 40 }, (_, option) => ({ text: `Option ${index}-${option}` })),
      });
    ai.answer = (call) => (call.raw.includes('Option 5-39') ? { strings: [] } : translated(call));
    assert.equal((await translate(id, { languages: ['it'] })).status, 502);
    const { missing } = await admin.get(`/surveys/${id}/translations/it`);
    assert.ok(missing.length > 0 && missing.length < 60, `${missing.length} are missing`);
    ai.calls.length = 0;
    ai.answer = translated;
    assert.equal((await translate(id, { languages: ['it'] })).status, 200);
    assert.equal(sent().length, missing.length);
    assert.deepEqual((await admin.get(`/surveys/${id}/translations/it`)).missing, []);
  });

  describe('of a survey that changes before the reply comes', () => {
    /** Makes the changes while the provider holds its reply; resolves with the reply to the call. */
    const whileHeld = async (id: string, languages: string[], change: () => Promise<unknown>) => {
      let answer = (): void => undefined;
      ai.holdUntil = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const reply = translate(id, { languages });
      try {
        await eventually(() => assert.ok(ai.calls.length > 0));
        await change();
      } finally {
        answer();
        ai.holdUntil = undefined;
      }
      return reply;
    };

    it('is stored although the survey was published and closed, as texts by hand are', async () => {
      const { id } = await make();
      const reply = await whileHeld(id, ['de'], async () => {
        await admin.post(`/surveys/${id}/publish`);
        await admin.put(`/surveys/${id}`, { status: 'CLOSED' });
      });
      assert.deepEqual([reply.status, reply.body.data.translations[0].translatedCount], [200, 5]);
      assert.deepEqual((await admin.get(`/surveys/${id}/translations/de`)).missing, []);
    });

    it('leaves out what was reworded, deleted or translated by hand meanwhile', async () => {
      const { id, question } = await make();
      const other = await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'Why?' });
      const last = await admin.create(`/surveys/${id}/questions`, { type: 'LONG_TEXT', text: 'Anything else?' });
      const reply = await whileHeld(id, ['de'], async () => {
        await admin.put(`/surveys/questions/${question.id}`, { text: 'What dish?' });
        await admin.remove(`/surveys/${id}/questions/${other.id}`);
        await admin.put(`/surveys/${id}/translations/de`, {
          title: 'Mittagessen bei {{company}}',
          questions: [{ id: last.id, text: 'Noch etwas?' }],
        });
      });
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      // The description and two options are left.
      assert.deepEqual(reply.body.data.translations[0].translatedCount, 3);
      const stored = await admin.get(`/surveys/${id}/translations/de`);
      assert.deepEqual(
        [stored.title, stored.description, stored.questions.map(({ text }: any) => text), stored.missing, stored.stale],
        [
          'Mittagessen bei {{company}}',
          'de: About lunch',
          [undefined, 'Noch etwas?'],
          [`questions.${question.id}.text`],
          [],
        ],
      );
    });

    it('stores nothing, and says why, once AI is off or the language has become the survey’s own', async () => {
      for (const [change, status, code] of [
        [{ aiEnabled: false }, 409, 'AI_DISABLED'],
        [{ language: 'de' }, 400, 'VALIDATION_ERROR'],
      ] as const) {
        const { id } = await make();
        const reply = await whileHeld(id, ['de'], () => admin.put(`/surveys/${id}`, change));
        assert.deepEqual([reply.status, reply.body.code], [status, code], JSON.stringify(reply.body));
        assert.equal((await admin.call('GET', `/surveys/${id}/translations/de`)).status, 404);
        ai.calls.length = 0;
      }
    });

    it('is cancelled when the survey is deleted', async () => {
      const { id } = await make();
      const reply = await whileHeld(id, ['de'], () => admin.remove(`/surveys/${id}`));
      assert.deepEqual([reply.status, reply.body.data.status], [202, 'CANCELLED']);
      assert.equal((await admin.call('GET', `/surveys/${id}/translations/de`)).status, 404);
    });
  });

  it('a translation is refused where AI is off, to the survey’s own language, and to unknown languages', async () => {
    const { id } = await make();
    for (const wrong of [
      {},
      { languages: [] },
      { languages: ['en'] },
      { languages: ['de', 'de'] },
      { languages: ['tlh'] },
      { languages: 'de' },
      { languages: ['de'], provider: 'acme' },
      { languages: ['de'], text: 'x' },
    ]) {
      const reply = await translate(id, wrong);
      assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(wrong));
    }
    assert.equal((await translate(id, { languages: ['x'.repeat(1024 * 1024)] })).status, 413);
    await admin.put(`/surveys/${id}`, { aiEnabled: false });
    const off = await translate(id, { languages: ['de'] });
    assert.deepEqual([off.status, off.body.code], [409, 'AI_DISABLED']);
    assert.equal(ai.calls.length, 0);
  });
});

describe('AI without a key', () => {
  it('without a key every AI route replies AI_NOT_CONFIGURED, and everything else works', async () => {
    await sharedStores();
    const service = await startService();
    try {
      const admin = await adminClient(service);
      const { id } = await admin.create('/surveys', { title: 'Lunch' });
      const question = await admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text: 'Well?' });
      for (const [path, body] of [
        [`/ai/surveys/${id}/translate`, { languages: ['de'] }],
        [`/ai/questions/${question.id}/optimize`, {}],
        [`/ai/surveys/${id}/report`, {}],
        ['/ai/conversations', { prompt: 'Lunch' }],
        [`/ai/surveys/${id}/analyze`, { analysisType: 'themes' }],
      ] as const) {
        const reply = await admin.call('POST', path, { body });
        assert.deepEqual([reply.status, reply.body.code], [503, 'AI_NOT_CONFIGURED'], path);
      }
      assert.equal((await admin.put(`/surveys/${id}/translations/de`, { title: 'Mittagessen' })).title, 'Mittagessen');
    } finally {
      await service.stop();
    }
  });
});
