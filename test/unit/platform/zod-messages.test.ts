import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { defineQuestion, newQuestionBody } from '../../../src/domain/questions/question-definition.ts';
import { registry } from '../../../src/domain/questions/registry.ts';
import { type QuestionTypeName, questionTypeNames } from '../../../src/domain/questions/type-names.ts';
import { Problem, type ValidationIssue } from '../../../src/errors.ts';
import { createMessageHandler } from '../../../src/http/live/message-handler.ts';
import { type JsonSchema, toJsonSchema } from '../../../src/http/reference/schema-components.ts';
import { validateInput } from '../../../src/http/routing/read-input.ts';
import { liveClientMessageSchema } from '../../../src/http/schemas/live.ts';
import { createLog } from '../../../src/log.ts';
import { newId } from '../../../src/platform/ids.ts';
import { everyRoute } from '../../support/every-route.ts';

/** How the library that checks begins its sentences. */
const foreign = /\bInvalid\b|Too (small|big)|\bexpected\b|\breceived\b|Unrecognized|undefined|\bNaN\b|discriminator/;

const bad: readonly unknown[] = [
  undefined,
  null,
  true,
  -1,
  1.5,
  1e300,
  '',
  ' ',
  'x',
  '9'.repeat(12_000),
  '\ud800',
  '2026-02-30',
  [],
  ['x'],
  [null],
  {},
  { x: 1 },
  { ['k'.repeat(300)]: 'x' },
];

/** Bad inputs for a schema: the plainest at every place that its JSON Schema names, the rest being left out. */
function* inputsFor(schema: JsonSchema, depth = 3): Generator<unknown> {
  yield* bad;
  if (depth === 0) return;
  for (const branch of [...((schema['anyOf'] ?? schema['oneOf'] ?? []) as JsonSchema[])])
    yield* inputsFor(branch, depth);
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const fixed = Object.fromEntries(
    properties.filter(([, { const: only }]) => only !== undefined).map(([name, { const: only }]) => [name, only]),
  );
  for (const [name, property] of properties)
    for (const value of inputsFor(property, depth - 1)) yield { ...fixed, [name]: value };
  if (!schema['items']) return;
  yield Array(600).fill('x');
  for (const value of inputsFor(schema['items'] as JsonSchema, depth - 1)) yield [value];
}

function findingsOf(schema: z.ZodType, value: unknown): readonly ValidationIssue[] {
  try {
    validateInput(schema, value);
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    assert.doesNotMatch(error.message, /^:/);
    assert.doesNotMatch(error.message, foreign);
    return error.details as readonly ValidationIssue[];
  }
}

describe('validation messages', () => {
  it('are in the service’s own words for every body and query', async () => {
    const { api, root } = await everyRoute();
    const routes = [...api, ...root].flatMap(({ method, path, body, query }) =>
      [body, query].flatMap((schema) => (schema ? [[schema, `${method} ${path}`] as const] : [])),
    );
    // Several routes take the same.
    const schemas = new Map<z.ZodType, string>([...routes, [liveClientMessageSchema, 'the WebSocket']]);
    let refused = 0;
    for (const [schema, name] of schemas)
      for (const value of inputsFor(toJsonSchema(schema, 'input').root))
        for (const { path, message } of findingsOf(schema, value)) {
          refused += 1;
          if (foreign.test(message))
            assert.fail(`${name} ${path} given ${JSON.stringify(value)?.slice(0, 100)}: ${message}`);
        }
    assert.ok(refused > 5000, `only ${refused} findings were seen`);
  });

  it('are in the service’s own words for the settings of every type', () => {
    const assertOwnWords = (type: QuestionTypeName, settings: object): void => {
      const defined = defineQuestion(
        { ...newQuestionBody.parse({ type, text: 'Q' }), settings: { ...settings } },
        { id: newId(), surveyId: newId(), order: 0, newId: () => newId() },
      );
      for (const { path, message } of 'issues' in defined ? defined.issues : [])
        if (foreign.test(message))
          assert.fail(`${type} ${path} given ${JSON.stringify(settings).slice(0, 100)}: ${message}`);
    };
    for (const type of questionTypeNames) {
      for (const settings of inputsFor(toJsonSchema(registry[type].settings, 'input').root, 2))
        if (typeof settings === 'object' && settings !== null && !Array.isArray(settings))
          assertOwnWords(type, settings);
      // Rows are read by themselves, beside settings that are right and beside such as are not.
      for (const rows of bad) for (const settings of [{}, { x: 1 }]) assertOwnWords(type, { ...settings, rows });
    }
  });

  it('cover each way in which a value can be wrong', () => {
    const said = (schema: z.ZodType, value: unknown) =>
      findingsOf(schema, value).map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
    assert.deepEqual(
      said(
        z.strictObject({
          a: z.string(),
          b: z.number(),
          c: z.boolean(),
          d: z.array(z.int()),
          e: z.strictObject({}),
          f: z.string(),
        }),
        { a: 1, b: '1', c: 'yes', d: [1.5], e: [], g: 1 },
      ),
      [
        'a: must be a text',
        'b: must be a number',
        'c: must be true or false',
        'd.0: must be a whole number',
        'e: must be an object',
        'f: is needed',
        'g: this field is not known',
      ],
    );
    assert.deepEqual(said(z.array(z.string()).min(1), []), ['must have at least 1 item']);
    assert.deepEqual(said(z.array(z.string()).max(2), ['a', 'b', 'c']), ['must have at most 2 items']);
    assert.deepEqual(said(z.string().min(1), ''), ['must not be empty']);
    assert.deepEqual(said(z.string().length(2), 'abc'), ['must have exactly 2 characters']);
    assert.deepEqual(said(z.number().min(1), 0), ['must be at least 1']);
    assert.deepEqual(said(z.number().gt(1), 1), ['must be above 1']);
    assert.deepEqual(said(z.number().lt(1), 1), ['must be below 1']);
    assert.deepEqual(said(z.number().multipleOf(5), 7), ['must be a multiple of 5']);
    assert.deepEqual(said(z.enum(['a', 'b']), 'c'), ['must be one of a, b']);
    assert.deepEqual(said(z.literal('a'), 'c'), ['must be a']);
    assert.deepEqual(said(z.email(), 'c'), ['must be an e-mail address']);
    assert.deepEqual(said(z.iso.date(), 'c'), ['must be a date (YYYY-MM-DD)']);
    assert.deepEqual(said(z.string().startsWith('whsec_'), 'c'), ['must start with whsec_']);
    assert.deepEqual(said(z.string().regex(/^a$/), 'c'), ['does not have the form that is asked for']);
    assert.deepEqual(said(z.union([z.string(), z.array(z.string())]), 1), ['must be a text or must be a list']);
    assert.deepEqual(
      said(z.discriminatedUnion('type', [z.object({ type: z.literal('a') }), z.object({ type: z.literal('b') })]), {
        type: 'c',
      }),
      ['type: must be one of a, b'],
    );
    assert.deepEqual(said(z.record(z.string().max(2), z.string()), { abc: 'x' }), [
      'abc: is a name that is not allowed: must have at most 2 characters',
    ]);
    assert.deepEqual(
      said(
        z.string().refine(() => false),
        'x',
      ),
      ['is not allowed'],
    );
    assert.deepEqual(
      said(
        z.string().refine(() => false, 'is what its author says'),
        'x',
      ),
      ['is what its author says'],
    );
    assert.deepEqual(said(z.date(), new Date(Number.NaN)), ['must be a time']);
  });

  it('are the same over the WebSocket', async () => {
    const told: string[] = [];
    const session = {
      client: { isOver: false },
      sendProblem: (code: string, message: string) => void told.push(`${code} ${message}`),
    };
    const conversation = createMessageHandler({
      session: session as never,
      close: () => undefined,
      log: createLog('silent'),
    });
    for (const message of [
      '{}',
      '[]',
      '{"type":"sing"}',
      '{"type":"unsubscribe","surveyId":"0192f0c1-2b7a-7c3e-9d54-3f1a6b8c7d10","channels":[]}',
      '{"type":"subscribe","surveyId":"zz","channels":["status"]}',
      '{"type":"unsubscribe","surveyId":"zz"}',
    ])
      conversation.handle(message, false);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(told, [
      'VALIDATION_ERROR type: must be one of subscribe, unsubscribe, ping',
      'VALIDATION_ERROR must be an object',
      'VALIDATION_ERROR type: must be one of subscribe, unsubscribe, ping',
      'VALIDATION_ERROR channels: must have at least 1 item',
      'NOT_FOUND There is no such survey',
      'NOT_FOUND There is no such survey',
    ]);
  });
});
