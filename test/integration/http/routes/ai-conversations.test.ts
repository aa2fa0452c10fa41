import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { unavailable } from '../../../../src/errors.ts';
import { aiConversationRoutes } from '../../../../src/http/routes/ai-conversations.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createConversationStore } from '../../../../src/stores/postgres/ai/conversations.ts';
import { createSurveyStore, type SurveyStore } from '../../../../src/stores/postgres/surveys.ts';
import { eventually } from '../../../support/eventually.ts';
import { authenticateKnown, startLoopback } from '../../../support/loopback-server.ts';
import { type OwnedDatabase, ownedDatabase } from '../../../support/owned-database.ts';

describe('the draft of a conversation, where the reply to its save is 503,', () => {
  let database: OwnedDatabase;
  let surveys: SurveyStore;
  let server: Awaited<ReturnType<typeof startLoopback>>;
  /** How the next survey is created. */
  let create: SurveyStore['create'];
  before(async () => {
    database = await ownedDatabase();
    surveys = createSurveyStore(database.sql);
    const api = aiConversationRoutes({
      providers: { pick: () => assert.fail('no provider is called') },
      conversations: createConversationStore(database.sql),
      surveys: { create: (...given) => create(...given) },
      actors: { add: async () => undefined },
      now: Date.now,
      newId,
    });
    server = await startLoopback({
      api,
      authenticate: async (given) => ({ ...(await authenticateKnown(given)), userId: database.ownerId }),
    });
  });
  after(async () => {
    await server?.stop();
    await database?.drop();
  });

  const begin = async (): Promise<string> => {
    const id = newId();
    await createConversationStore(database.sql).create({
      id,
      ownerId: database.ownerId,
      provider: 'openai',
      turns: [],
      draft: { title: id, description: null, questions: [{ type: 'SHORT_TEXT', text: 'Why?', isRequired: false }] },
      revision: 1,
      surveyId: null,
    });
    return id;
  };
  const save = async (id: string): Promise<[number, string | undefined]> => {
    const reply = await fetch(`${server.origin}/api/v1/ai/conversations/${id}/save`, {
      method: 'POST',
      headers: { authorization: 'Bearer editor' },
    });
    const body = (await reply.json()) as { details?: { reason?: string } };
    return [reply.status, body.details?.reason];
  };
  const surveysOf = async (id: string): Promise<number> =>
    (await database.sql`SELECT FROM surveys WHERE title = ${id}`).count;

  it('is saved once if the transaction was committed', async () => {
    const id = await begin();
    create = async (...given) => {
      await surveys.create(...given);
      throw unavailable('The control plane cannot be reached');
    };
    assert.deepEqual(await save(id), [503, undefined]);
    create = surveys.create;
    assert.deepEqual(await save(id), [409, 'ALREADY_SAVED']);
    assert.equal(await surveysOf(id), 1);
  });

  it('is saved once if the transaction is committed later', async () => {
    const id = await begin();
    let commit: () => void = () => undefined;
    const mayCommit = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let first: Promise<unknown> = Promise.resolve();
    create = async (survey, events, alsoSave) => {
      await new Promise<void>((written) => {
        first = surveys.create(survey, events, async (tx) => {
          await alsoSave?.(tx);
          written();
          await mayCommit;
        });
      });
      throw unavailable('The control plane did not answer in time');
    };
    assert.deepEqual(await save(id), [503, undefined]);
    create = surveys.create;
    let isAnswered = false;
    const second = save(id).finally(() => {
      isAnswered = true;
    });
    await eventually(async () => {
      const waits = await database.sql`
        SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      assert.ok(isAnswered || waits.count > 0);
    });
    commit();
    await first;
    assert.deepEqual(await second, [409, 'ALREADY_SAVED']);
    assert.equal(await surveysOf(id), 1);
  });

  it('can be saved again at once if the transaction was rolled back', async () => {
    const id = await begin();
    create = (survey, events, alsoSave) =>
      surveys.create(survey, events, async (tx) => {
        await alsoSave?.(tx);
        throw unavailable('The control plane cannot be reached');
      });
    assert.deepEqual(await save(id), [503, undefined]);
    create = surveys.create;
    assert.deepEqual(await save(id), [201, undefined]);
    assert.equal(await surveysOf(id), 1);
  });
});
