import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { blankSurvey } from '../../../../src/domain/blank-survey.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createSurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { createUserStore } from '../../../../src/stores/postgres/users.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

const page = { page: 1, limit: 100 };

describe('a search in PostgreSQL', () => {
  let database: OwnedDatabase;
  before(async () => {
    database = await ownedDatabase();
  });
  after(() => database?.drop());

  const searches: [search: string, found: string[]][] = [
    ['İ', ['İstanbul', 'Bİ 50 %']],
    ['STAN', ['istanbul', 'İstanbul']],
    ['i', ['Birne', 'istanbul', 'İstanbul', 'Ünique', 'Bİ 50 %', 'Zu\u0308rich']],
    ['istanbul', ['istanbul', 'İstanbul']],
    ['İSTANBUL', ['İstanbul']],
    ['bİ', ['Bİ 50 %']],
    ['İ 50 %', ['Bİ 50 %']],
    ['ÜNIQUE', ['Ünique']],
    ['u', ['istanbul', 'İstanbul', 'Ünique']],
    ['Zürich', ['Zu\u0308rich']],
    ['zu\u0308RICH', ['Zu\u0308rich']],
    ['ΟΔΟΣ', ['οδος']],
    ['οδοσ', ['οδος']],
    ['_', []],
    ['\\', []],
  ];
  const names = ['Birne', 'istanbul', 'İstanbul', 'Ünique', 'Bİ 50 %', 'Zu\u0308rich', 'οδος'];

  it('finds the surveys that contain a text in any case and form, in the title or the description, and İ is no i', async () => {
    const surveys = createSurveyStore(database.sql);
    for (const [n, name] of names.entries())
      await surveys.create({
        ...blankSurvey(newId(), database.ownerId, Date.now()),
        title: n % 2 === 0 ? name : '–',
        description: n % 2 === 0 ? null : name,
      });
    for (const [search, expected] of searches) {
      const { items, total } = await surveys.list({
        ...page,
        userId: null,
        search,
        sort: 'createdAt',
        isDescending: false,
      });
      assert.deepEqual(
        [items.map(({ title, description }) => description ?? title).sort(), total],
        [expected.toSorted(), expected.length],
        search,
      );
    }
  });

  it('finds the users whose address contains a text in any case and form, and İ is no i', async () => {
    const people = await ownedDatabase();
    try {
      for (const name of names)
        await people.sql`INSERT INTO users ${people.sql({ id: newId(), email: name, email_key: name, password_hash: '-', role: 'VIEWER' })}`;
      const users = createUserStore(people.sql);
      for (const [search, expected] of searches) {
        const { items, total } = await users.list({ ...page, search });
        assert.deepEqual(
          [items.map(({ email }) => email).sort(), total],
          [expected.toSorted(), expected.length],
          search,
        );
      }
    } finally {
      await people.drop();
    }
  });

  it('finds them in any case although the locale of the database knows English letters only', async () => {
    const plain = await ownedDatabase("ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0");
    try {
      const [row] = await plain.sql`SELECT lower('Ä') AS lower`;
      assert.equal(row?.['lower'], 'Ä');
      const title = 'Ärger größer ОПРОС';
      const surveys = createSurveyStore(plain.sql);
      await surveys.create({ ...blankSurvey(newId(), plain.ownerId, Date.now()), title });
      await plain.sql`UPDATE users SET email = ${title}`;
      const users = createUserStore(plain.sql);
      for (const search of ['äRGER', 'GRÖßER', 'опрос']) {
        const list = { ...page, userId: null, search, sort: 'createdAt', isDescending: false } as const;
        assert.deepEqual(
          [(await surveys.list(list)).total, (await users.list({ ...page, search })).total],
          [1, 1],
          search,
        );
      }
    } finally {
      await plain.drop();
    }
  });
});
