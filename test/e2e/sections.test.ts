import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Client } from '../support/client.ts';
import { useService } from '../support/use-service.ts';

let admin: Client;
useService((served) => {
  ({ admin } = served);
});

interface Shown {
  title: string;
  questions: string[];
}

/** A survey's sections with their questions, as its author sees them; asserts that orders are those of the lists. */
async function shownOf(id: string): Promise<Shown[]> {
  const { sections, questions } = await admin.get(`/surveys/${id}`);
  assert.deepEqual(
    questions.map(({ order }: any) => order),
    questions.map((_: unknown, index: number) => index),
  );
  const textsOf = (sectionId: string | null) =>
    questions.filter((question: any) => question.sectionId === sectionId).map(({ text }: any) => text);
  const shown = [
    { title: '', questions: textsOf(null) },
    ...sections.map((section: any, index: number) => {
      assert.equal(section.order, index);
      return { title: section.title, questions: textsOf(section.id) };
    }),
  ];
  assert.deepEqual(
    questions.map(({ text }: any) => text),
    shown.flatMap((page) => page.questions),
    'questions lie in the order of their sections',
  );
  return shown;
}

async function surveyWithSections() {
  const { id } = await admin.create('/surveys', { title: 'Stay' });
  const before = await admin.create(`/surveys/${id}/sections`, { title: 'Before', description: 'Booking' });
  const after = await admin.create(`/surveys/${id}/sections`, { title: 'After', isShuffled: true });
  const add = (text: string, sectionId: string | null) =>
    admin.create(`/surveys/${id}/questions`, { type: 'YES_NO', text, sectionId });
  const questions = {
    leave: await add('leave', after.id),
    book: await add('book', before.id),
    name: await add('name', null),
    pay: await add('pay', before.id),
  };
  return { id, before, after, questions };
}

const refusalOf = async (method: string, path: string, body?: unknown) => {
  const { status, body: said } = await admin.call(method, path, body === undefined ? {} : { body });
  return [status, said.code, said.details?.[0]?.path ?? said.details?.reason];
};

describe('sections', () => {
  it('are made, changed, moved and deleted with their questions', async () => {
    const { id, before, after, questions } = await surveyWithSections();
    assert.deepEqual(before, {
      id: before.id,
      title: 'Before',
      description: 'Booking',
      order: 0,
      isShuffled: false,
      isAnchored: false,
      visibleIf: null,
    });
    assert.deepEqual([after.order, after.isShuffled, after.description], [1, true, null]);
    const start = [
      { title: '', questions: ['name'] },
      { title: 'Before', questions: ['book', 'pay'] },
      { title: 'After', questions: ['leave'] },
    ];
    assert.deepEqual(await shownOf(id), start);

    const changed = await admin.put(`/surveys/${id}/sections/${after.id}`, { title: '', order: 0 });
    assert.deepEqual([changed.title, changed.order, changed.isShuffled], ['', 0, true]);
    assert.deepEqual(await shownOf(id), [
      { title: '', questions: ['name'] },
      { title: '', questions: ['leave'] },
      { title: 'Before', questions: ['book', 'pay'] },
    ]);
    const order = await admin.post(`/surveys/${id}/sections/reorder`, { sectionIds: [before.id, after.id] });
    assert.deepEqual(
      order.map((section: any) => [section.id, section.order]),
      [
        [before.id, 0],
        [after.id, 1],
      ],
    );
    await admin.put(`/surveys/questions/${questions.book.id}`, { sectionId: after.id });
    await admin.put(`/surveys/questions/${questions.leave.id}`, { sectionId: null, order: 0 });
    assert.deepEqual(
      (await shownOf(id)).map((page) => page.questions),
      [['leave', 'name'], ['pay'], ['book']],
    );
    assert.deepEqual(await admin.remove(`/surveys/${id}/sections/${after.id}`), { id: after.id, deleted: true });
    assert.deepEqual(
      (await shownOf(id)).map((page) => page.questions),
      [
        ['leave', 'name'],
        ['pay', 'book'],
      ],
    );
    await admin.remove(`/surveys/${id}/sections/${before.id}`);
    assert.deepEqual(await shownOf(id), [{ title: '', questions: ['leave', 'name', 'pay', 'book'] }]);
  });

  it('make versions, and only where something changes', async () => {
    const { id, before } = await surveyWithSections();
    const versionOf = async () => (await admin.get(`/surveys/${id}`)).version;
    const start = await versionOf();
    await admin.put(`/surveys/${id}/sections/${before.id}`, { title: 'Before', order: 0 });
    assert.equal(await versionOf(), start);
    await admin.put(`/surveys/${id}/sections/${before.id}`, { title: 'Before your stay' });
    assert.equal(await versionOf(), start + 1);
    await admin.put(`/surveys/${id}`, { isShuffled: true });
    assert.equal(await versionOf(), start + 2);
    assert.equal((await admin.put(`/surveys/${id}`, { isShuffled: true })).version, start + 2);
  });

  it('are copied and translated', async () => {
    const { id, before, after } = await surveyWithSections();
    await admin.put(`/surveys/${id}`, { isShuffled: true });
    const german = await admin.put(`/surveys/${id}/translations/de`, {
      sections: [{ id: before.id, title: 'Vorher', description: 'Buchung' }],
    });
    assert.deepEqual(german.sections, [{ id: before.id, title: 'Vorher', description: 'Buchung' }]);
    assert.deepEqual(
      german.missing.filter((path: string) => path.startsWith('sections.')),
      [`sections.${after.id}.title`],
    );
    assert.deepEqual(
      await refusalOf('PUT', `/surveys/${id}/translations/de`, { sections: [{ id: after.id, description: 'x' }] }),
      [400, 'VALIDATION_ERROR', 'sections.0.description'],
    );
    assert.deepEqual(await refusalOf('PUT', `/surveys/${id}/translations/de`, { sections: [{ id, title: 'x' }] }), [
      400,
      'VALIDATION_ERROR',
      'sections.0.id',
    ]);
    const copy = await admin.create(`/surveys/${id}/duplicate`);
    assert.equal(copy.isShuffled, true);
    assert.deepEqual(await shownOf(copy.id), await shownOf(id));
    assert.ok(copy.sections.every((section: any) => ![before.id, after.id].includes(section.id)));
    const { sections } = await admin.get(`/surveys/${copy.id}/translations/de`);
    assert.deepEqual(sections, [{ id: copy.sections[0].id, title: 'Vorher', description: 'Buchung' }]);
  });

  it('that are unknown, of another survey, or no sections are refused', async () => {
    const { id, before, questions } = await surveyWithSections();
    const other = await surveyWithSections();
    const path = `/surveys/${id}/sections`;
    for (const [body, issue] of [
      [{ title: 'x'.repeat(301) }, 'title'],
      [{ title: 5 }, 'title'],
      [{ title: 'a\u0000' }, 'title'],
      [{ description: 'x'.repeat(5001) }, 'description'],
      [{ order: -1 }, 'order'],
      [{ isShuffled: 'yes' }, 'isShuffled'],
      [{ questions: [] }, 'questions'],
    ] as const) {
      assert.deepEqual(await refusalOf('POST', path, body), [400, 'VALIDATION_ERROR', issue], JSON.stringify(body));
      assert.deepEqual(
        await refusalOf('PUT', `${path}/${before.id}`, body),
        [400, 'VALIDATION_ERROR', issue],
        JSON.stringify(body),
      );
    }
    assert.deepEqual(await refusalOf('PUT', `${path}/${before.id}`, {}), [400, 'VALIDATION_ERROR', '']);
    for (const unknown of [other.before.id, questions.book.id, 'x']) {
      assert.deepEqual(await refusalOf('PUT', `${path}/${unknown}`, { title: 'x' }), [404, 'NOT_FOUND', undefined]);
      assert.deepEqual(await refusalOf('DELETE', `${path}/${unknown}`), [404, 'NOT_FOUND', undefined]);
      assert.deepEqual(
        await refusalOf('POST', `/surveys/${id}/questions`, { type: 'YES_NO', text: 'q', sectionId: unknown }),
        [400, 'VALIDATION_ERROR', 'sectionId'],
      );
      assert.deepEqual(await refusalOf('PUT', `/surveys/questions/${questions.book.id}`, { sectionId: unknown }), [
        400,
        'VALIDATION_ERROR',
        'sectionId',
      ]);
    }
    for (const sectionIds of [[before.id], [before.id, before.id], [before.id, other.after.id], []])
      assert.deepEqual(await refusalOf('POST', `${path}/reorder`, { sectionIds }), [
        400,
        'VALIDATION_ERROR',
        'sectionIds',
      ]);
  });
});
