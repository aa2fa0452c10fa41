import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultAppearance } from '../../src/domain/appearance.ts';
import {
  appearanceSchema,
  publicSurveySchema,
  surveyListItemSchema,
  surveyWithQuestionsSchema,
} from '../../src/http/schemas/surveys.ts';
import { type Client, createClient } from '../support/client.ts';
import { signInNewUser } from '../support/new-user.ts';
import { jpeg, png, webPs } from '../support/pictures.ts';
import type { RunningService } from '../support/service.ts';
import { useService } from '../support/use-service.ts';

let service: RunningService;
let admin: Client;
useService((served) => {
  ({ service, admin } = served);
});

const readAsRespondent = async (id: string, query = '') => {
  const { status, body } = await createClient(service).call('GET', `/public/surveys/${id}${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return publicSurveySchema.parse(body.data);
};
const addQuestion = (id: string, text = 'Which dish?') =>
  admin.create(`/surveys/${id}/questions`, { type: 'SHORT_TEXT', text });

const given = {
  pageMode: 'QUESTION',
  primaryColor: '#0b6e4f',
  backgroundColor: '#fdf6ec',
  closingText: 'Thank you.',
  redirectUrl: 'https://example.org/thanks',
  allowedOrigins: ['https://www.example.org'],
};

describe('the appearance of a survey', () => {
  it('has defaults, is given with a new survey, and is changed field by field', async () => {
    const plain = surveyWithQuestionsSchema.parse(await admin.create('/surveys', { title: 'Plain' }));
    assert.deepEqual(plain.appearance, { ...defaultAppearance, allowedOrigins: [] });
    const { id, appearance, version } = await admin.create('/surveys', { title: 'Lunch', appearance: given });
    assert.deepEqual(appearance, { ...given, logo: null });
    const changed = await admin.put(`/surveys/${id}`, { appearance: { primaryColor: null, pageMode: 'SECTION' } });
    const expected = { ...given, logo: null, primaryColor: null, pageMode: 'SECTION' };
    assert.deepEqual(changed.appearance, expected);
    const read = surveyWithQuestionsSchema.parse(await admin.get(`/surveys/${id}`));
    assert.deepEqual(read.appearance, expected);
    assert.equal(read.version, version, 'a new look is no new wording');
    const listed = (await admin.get('/surveys?search=Lunch')).find((item: { id: string }) => item.id === id);
    assert.deepEqual(surveyListItemSchema.parse(listed).appearance, expected);
  });

  it('is shown to respondents, but not who may embed the survey', async () => {
    const { id } = await admin.create('/surveys', { title: 'Shown', status: 'ACTIVE', appearance: given });
    const { allowedOrigins: _, ...shown } = given;
    assert.deepEqual((await readAsRespondent(id)).appearance, { ...shown, logo: null });
    await admin.put(`/surveys/${id}`, { appearance: { primaryColor: '#7a1fa2' } });
    assert.equal((await readAsRespondent(id)).appearance.primaryColor, '#7a1fa2');
  });

  it('is refused whole if anything in it is wrong, with the path and the contrast', async () => {
    const { id } = await admin.create('/surveys', { title: 'Kept', appearance: given });
    const refuse = async (appearance: unknown, path: string) => {
      const { status, body } = await admin.call('PUT', `/surveys/${id}`, { body: { title: 'Changed', appearance } });
      assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], JSON.stringify(appearance));
      assert.equal(body.details[0].path, path, JSON.stringify(body));
      return String(body.details[0].message);
    };
    assert.match(await refuse({ primaryColor: '#ffcc00' }, 'appearance.primaryColor'), /contrast of 1\.5\d?:1/);
    // Each is allowed, but it is compared with what the survey has.
    assert.match(await refuse({ backgroundColor: '#000080' }, 'appearance.backgroundColor'), /contrast of/);
    await refuse({ redirectUrl: 'javascript:alert(1)' }, 'appearance.redirectUrl');
    await refuse({ allowedOrigins: ['https://a.org', 'https://a;b.org'] }, 'appearance.allowedOrigins.1');
    await refuse({ allowedOrigins: 'https://a.org' }, 'appearance.allowedOrigins');
    await refuse({ pageMode: 'WHOLE' }, 'appearance.pageMode');
    await refuse({ closingText: 'a'.repeat(5001) }, 'appearance.closingText');
    await refuse({ closingText: 'a\u0000b' }, 'appearance.closingText');
    await refuse({ logo: null }, 'appearance.logo');
    await refuse(null, 'appearance');
    const kept = await admin.get(`/surveys/${id}`);
    assert.deepEqual([kept.title, kept.appearance], ['Kept', { ...given, logo: null }]);
  });

  it('names its fields in the audit log', async () => {
    const { id } = await admin.create('/surveys', { title: 'Audited' });
    await admin.put(`/surveys/${id}`, { appearance: { pageMode: 'QUESTION' } });
    const events = await admin.get(`/audit?objectId=${id}`);
    const changed = events.find(({ action }: { action: string }) => action === 'survey.changed');
    assert.deepEqual(changed.details.fields, ['appearance']);
  });
});

describe('the closing text', () => {
  it('is translated, and is stale after it was reworded', async () => {
    const { id } = await admin.create('/surveys', {
      title: 'Lunch',
      status: 'ACTIVE',
      appearance: { closingText: 'Thank you.' },
    });
    const saved = await admin.put(`/surveys/${id}/translations/de`, { closingText: 'Danke.' });
    assert.deepEqual([saved.closingText, saved.missing], ['Danke.', ['title']]);
    assert.equal((await readAsRespondent(id, '?lang=de')).appearance.closingText, 'Danke.');
    assert.equal((await readAsRespondent(id)).appearance.closingText, 'Thank you.');
    await admin.put(`/surveys/${id}`, { appearance: { closingText: 'Thank you very much.' } });
    assert.deepEqual((await admin.get(`/surveys/${id}/translations/de`)).stale, ['closingText']);
    await admin.put(`/surveys/${id}`, { appearance: { closingText: null } });
    assert.equal((await readAsRespondent(id, '?lang=de')).appearance.closingText, null);
    const refused = await admin.call('PUT', `/surveys/${id}/translations/de`, { body: { closingText: 'Danke.' } });
    assert.equal(refused.status, 400);
  });

  it('may show answers to every question, and is kept whole when one of them goes', async () => {
    const { id } = await admin.create('/surveys', { title: 'Lunch', status: 'ACTIVE' });
    const [dish, place] = [await addQuestion(id), await addQuestion(id, 'Where?')];
    const closingText = `{{question:${dish.id}|It}} was good, here: {{question:${place.id}}}`;
    await admin.put(`/surveys/${id}`, { appearance: { closingText } });
    await admin.put(`/surveys/${id}/translations/de`, { closingText: `{{question:${dish.id}|Es}} war gut.` });
    const pathOf = async (language: string) => {
      const answers = [
        { questionId: dish.id, textValue: 'Soup' },
        { questionId: place.id, textValue: 'Rome' },
      ];
      const { body } = await createClient(service).call('POST', `/public/surveys/${id}/path`, {
        body: { answers, language },
      });
      return body.data.closingText;
    };
    assert.equal(await pathOf('en'), 'Soup was good, here: Rome');
    assert.equal(await pathOf('de'), 'Soup war gut.');
    const refused = await admin.call('DELETE', `/surveys/${id}/questions/${dish.id}`);
    assert.equal(refused.body.details.reason, 'CONDITION_BROKEN');
    assert.deepEqual(
      refused.body.details.broken.map(({ kind, path }: { kind: string; path: string }) => [kind, path]),
      [
        ['closingText', 'appearance.closingText'],
        ['closingText', 'translations.de.closingText'],
      ],
    );
    await admin.remove(`/surveys/${id}/questions/${dish.id}?removeConditions=true`);
    const repaired = await admin.get(`/surveys/${id}`);
    assert.equal(repaired.appearance.closingText, `It was good, here: {{question:${place.id}}}`);
    assert.equal((await admin.get(`/surveys/${id}/translations/de`)).closingText, 'Es war gut.');
    const unknown = await admin.call('PUT', `/surveys/${id}`, { body: { appearance: { closingText } } });
    assert.deepEqual([unknown.status, unknown.body.details[0].path], [400, 'appearance.closingText']);
  });
});

describe('the logo of a survey', () => {
  const put = (client: Client, id: string, bytes: Buffer, type = 'image/png') =>
    fetch(`${service.base}/surveys/${id}/logo`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${client.token}`, 'content-type': type },
      body: new Uint8Array(bytes),
    });
  const setLogo = async (id: string, bytes: Buffer) => {
    const reply = await put(admin, id, bytes);
    const body = (await reply.json()) as { data: unknown };
    assert.equal(reply.status, 200, JSON.stringify(body));
    const { logo } = appearanceSchema.parse(body.data);
    assert.ok(logo);
    return logo;
  };
  const fetchLogo = (url: string) => fetch(new URL(url, service.base));
  const newSurvey = async (fields = {}): Promise<string> =>
    (await admin.create('/surveys', { title: 'With a logo', ...fields })).id;

  it('is served to everybody at an address of its content, to be kept for ever', async () => {
    const id = await newSurvey({ status: 'ACTIVE' });
    const logo = await setLogo(id, png);
    assert.deepEqual([logo.width, logo.height], [1, 1]);
    assert.deepEqual((await readAsRespondent(id)).appearance.logo, logo);
    const served = await fetchLogo(logo.url);
    assert.equal(served.status, 200);
    assert.deepEqual(Buffer.from(await served.arrayBuffer()), png);
    const headers = ['content-type', 'cache-control', 'x-content-type-options', 'content-security-policy'];
    assert.deepEqual(
      headers.map((name) => served.headers.get(name)),
      ['image/png', 'public, max-age=31536000, immutable', 'nosniff', "default-src 'none'; sandbox"],
    );
    const other = await setLogo(id, jpeg({ width: 30, height: 20 }));
    assert.notEqual(other.url, logo.url);
    assert.equal((await fetchLogo(other.url)).headers.get('content-type'), 'image/jpeg');
    for (const picture of webPs({ width: 4, height: 3 }))
      assert.equal((await fetchLogo((await setLogo(id, picture)).url)).headers.get('content-type'), 'image/webp');
  });

  it('is kept by other changes, removed once, and noted in the audit log', async () => {
    const id = await newSurvey();
    const logo = await setLogo(id, png);
    assert.deepEqual((await admin.put(`/surveys/${id}`, { appearance: given })).appearance, { ...given, logo });
    await admin.remove(`/surveys/${id}/logo`);
    assert.deepEqual((await admin.get(`/surveys/${id}`)).appearance, { ...given, logo: null });
    assert.equal((await admin.call('DELETE', `/surveys/${id}/logo`)).status, 404);
    const events = (await admin.get(`/audit?objectId=${id}`)).map(({ action }: { action: string }) => action);
    assert.deepEqual(
      ['survey.logo-set', 'survey.logo-removed'].map((action) => events.filter((name: string) => name === action)),
      [['survey.logo-set'], ['survey.logo-removed']],
    );
  });

  it('is copied with its survey, and stays when the original is deleted', async () => {
    const id = await newSurvey({ appearance: given });
    const picture = jpeg({ width: 77, height: 33 });
    const logo = await setLogo(id, picture);
    const copy = await admin.create(`/surveys/${id}/duplicate`);
    assert.deepEqual(copy.appearance, { ...given, logo });
    await admin.remove(`/surveys/${id}`);
    const stored = await fetchLogo((await admin.get(`/surveys/${copy.id}`)).appearance.logo.url);
    assert.deepEqual(Buffer.from(await stored.arrayBuffer()), picture);
  });

  it('has no address any more when the last survey with it has lost it, however often it was shown', async () => {
    const ids = [await newSurvey(), await newSurvey(), await newSurvey()] as const;
    const picture = jpeg({ width: 91, height: 17 });
    const [url = ''] = (await Promise.all(ids.map((id) => setLogo(id, picture)))).map((logo) => logo.url);
    const status = async () => (await fetchLogo(url)).status;
    assert.equal(await status(), 200);
    await admin.remove(`/surveys/${ids[0]}/logo`);
    assert.equal(await status(), 200);
    await setLogo(ids[1], png);
    assert.equal(await status(), 200);
    await admin.remove(`/surveys/${ids[2]}`);
    assert.equal(await status(), 404);
    await setLogo(ids[1], picture);
    assert.equal(await status(), 200);
  });

  it('is told by its content, never an SVG, of at most 256 KiB and 4096 pixels a side', async () => {
    const id = await newSurvey();
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
    const refusals: [Buffer, string, number, string][] = [
      [svg, 'image/svg+xml', 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [svg, 'image/png', 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [Buffer.from('GIF89a'), 'image/gif', 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [Buffer.alloc(0), 'image/png', 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [png.subarray(0, 20), 'image/png', 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [jpeg({ width: 4097, height: 1 }), 'image/jpeg', 400, 'VALIDATION_ERROR'],
      [Buffer.concat([png, Buffer.alloc(256 * 1024)]), 'image/png', 413, 'PAYLOAD_TOO_LARGE'],
    ];
    for (const [bytes, type, status, code] of refusals) {
      const reply = await put(admin, id, bytes, type);
      const body = (await reply.json()) as { code: string };
      assert.deepEqual([reply.status, body.code], [status, code], `${type}, ${bytes.length} bytes`);
    }
    assert.equal((await admin.get(`/surveys/${id}`)).appearance.logo, null);
    const exact = Buffer.concat([png, Buffer.alloc(256 * 1024 - png.length)]);
    const { url } = await setLogo(id, exact);
    assert.equal((await (await fetchLogo(url)).arrayBuffer()).byteLength, 256 * 1024);
  });

  it('is set only by those who may edit the survey', async () => {
    const id = await newSurvey();
    const [reader, stranger] = [
      await signInNewUser(service, admin, 'VIEWER'),
      await signInNewUser(service, admin, 'EDITOR'),
    ];
    await admin.put(`/surveys/${id}/members/${reader.id}`, { role: 'VIEWER' });
    assert.equal((await put(reader, id, png)).status, 403);
    assert.equal((await put(stranger, id, png)).status, 404);
    assert.equal((await reader.call('DELETE', `/surveys/${id}/logo`)).status, 403);
  });

  it('has no address that nobody has made', async () => {
    for (const name of ['a', '..%2f..%2fetc', '%00', 'a'.repeat(5000)])
      assert.equal((await fetchLogo(`/api/v1/public/logos/${name}`)).status, 404, name.slice(0, 20));
  });
});
