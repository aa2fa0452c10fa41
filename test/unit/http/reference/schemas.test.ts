import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { registry } from '../../../../src/domain/questions/registry.ts';
import { questionTypeNames } from '../../../../src/domain/questions/type-names.ts';
import { createOpenApi } from '../../../../src/http/reference/openapi.ts';
import { createSchemaComponents, toJsonSchema } from '../../../../src/http/reference/schema-components.ts';
import { created, type Route, route } from '../../../../src/http/routing/route.ts';
import { nodes, operations, reference } from '../../../support/reference.ts';

const { document } = reference;

describe('the OpenAPI document', () => {
  it('can be made into a typed client: bodies have no defaults, and each part of a union has a type', () => {
    const types = ['type', '$ref', 'enum', 'const', 'anyOf', 'oneOf', 'allOf'];
    const isTyped = (part: object) => types.some((key) => key in part);
    const visit = (value: unknown, path: string, visitSchema: (schema: any, path: string) => void): void => {
      if (typeof value !== 'object' || value === null) return;
      visitSchema(value, path);
      for (const [key, item] of Object.entries(value)) visit(item, `${path}/${key}`, visitSchema);
    };
    const untyped: string[] = [];
    visit(document, '', (schema, path) => {
      for (const part of [schema.anyOf, schema.oneOf, schema.allOf].filter(Array.isArray).flat())
        if (!isTyped(part)) untyped.push(path);
    });
    const defaults: string[] = [];
    // A condition contains conditions.
    const visited = new Set<string>();
    const visitBody = (schema: any, path: string): void => {
      if (schema.default !== undefined && !path.endsWith('/properties')) defaults.push(path);
      const name = schema.$ref?.split('/').at(-1);
      if (name === undefined || visited.has(name)) return;
      visited.add(name);
      visit(document.components.schemas[name], `${path}/${name}`, visitBody);
    };
    for (const { name, operation } of operations)
      visit(operation.requestBody?.content?.['application/json']?.schema, name, visitBody);
    assert.deepEqual([untyped, defaults], [[], []]);
    const ids = new Map(operations.map(({ name, operation }) => [name, operation.operationId]));
    assert.equal(ids.get('POST /responses/surveys/{surveyId}/submit'), 'submitResponse');
    const unnamed = operations.filter(({ operation }) => operation.operationId === undefined).map(({ name }) => name);
    assert.deepEqual(unnamed, []);
  });

  it('has valid schemas: known types, existing required fields, short patterns', () => {
    const types = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
    const schemas = [
      ...nodes(document.components.schemas, '#/components/schemas'),
      ...nodes(document.paths, '#/paths'),
    ];
    for (const { path, node } of schemas) {
      if (/\/(properties|example|examples)$/.test(path) || /\/examples?\//.test(path)) continue;
      if (typeof node.type === 'string' || Array.isArray(node.type))
        for (const type of [node.type].flat()) assert.ok(types.has(type), `${path} has the type ${type}`);
      if (Array.isArray(node.required) && node.properties)
        for (const name of node.required) assert.ok(name in node.properties, `${path} requires ${name}`);
      if (node.format === 'date-time' || node.format === 'uuid') assert.equal(node.pattern, undefined, path);
    }
    for (const name of Object.keys(document.components.schemas)) assert.match(name, /^[A-Za-z0-9._-]+$/);
    for (const name of Object.keys(document.components.responses)) assert.match(name, /^[A-Za-z0-9._-]+$/);
  });

  it('leaves replies open for later fields and bodies closed', () => {
    assert.equal('additionalProperties' in document.components.schemas.Survey, false);
    assert.equal(document.components.schemas.Submission.additionalProperties, false);
  });

  it('shows numbers, booleans and lists of a query by their meaning', () => {
    const parameter = (path: string, name: string) =>
      document.paths[path].get.parameters.find((item: any) => item.name === name);
    assert.deepEqual(parameter('/surveys', 'limit').schema, { type: 'integer', minimum: 1, maximum: 100, default: 20 });
    assert.deepEqual(parameter('/responses/surveys/{surveyId}', 'isComplete').schema, { type: 'boolean' });
    assert.equal(parameter('/analytics/surveys/{surveyId}', 'filter').schema.type, 'array');
    assert.match(JSON.stringify(parameter('/responses/surveys/{surveyId}', 'startDate').schema), /"format":"date"/);
  });

  it('names every setting of a question with its types, in requests and replies', () => {
    const sent =
      document.paths['/surveys/{surveyId}/questions'].post.requestBody.content['application/json'].schema.properties
        .settings.properties;
    const changed =
      document.paths['/surveys/questions/{questionId}'].put.requestBody.content['application/json'].schema.properties
        .settings.properties;
    const shown = document.components.schemas.QuestionSettings.properties;
    for (const settings of [sent, changed, shown]) {
      for (const type of questionTypeNames)
        for (const name of Object.keys(
          (toJsonSchema(registry[type].settings, 'input').root['properties'] ?? {}) as object,
        ))
          assert.match(settings[name].description, new RegExp(`\\b${type}\\b`), `${type} ${name}`);
      assert.match(settings.min.description, /RATING_SCALE \(1\), .*SLIDER \(0\)/);
      assert.deepEqual(settings.rows.items.required.at(-1), 'text');
    }
    assert.ok(
      changed.multiple.anyOf.some(({ type }: any) => type === 'null') &&
        !JSON.stringify(sent.multiple).includes('"null"'),
    );
  });

  it('gives rows of a MATRIX the condition and anchor that options have, in requests and replies', () => {
    const body = (path: string, method: string) =>
      document.paths[path][method].requestBody.content['application/json'].schema.properties;
    const bodies = [body('/surveys/{surveyId}/questions', 'post'), body('/surveys/questions/{questionId}', 'put')];
    const { Option, QuestionSettings } = document.components.schemas;
    const lists = [
      ...bodies.map(({ options, settings }) => [settings.properties.rows.items, options.items]),
      [QuestionSettings.properties.rows.items, Option],
    ];
    for (const [row, option] of lists) {
      // Only options of a scale have points.
      const ofBoth = Object.keys(option.properties).filter((name) => name !== 'point');
      assert.deepEqual(Object.keys(row.properties), ofBoth);
      for (const name of ['visibleIf', 'isAnchored']) assert.deepEqual(row.properties[name], option.properties[name]);
    }
  });

  it('takes every field of a survey that is read in the body of an import', () => {
    const resolved = (schema: any) =>
      schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)] : schema;
    /** Names of the fields that the shown schema has and the taken one has not. */
    const missing = (shown: any, taken: any, path = ''): string[] =>
      Object.entries<any>(resolved(shown).properties ?? {}).flatMap(([name, field]) => {
        const counterpart = resolved(taken).properties?.[name];
        if (!counterpart) return resolved(taken).additionalProperties === false ? [path + name] : [];
        return [
          ...missing(field, counterpart, `${path}${name}.`),
          ...(field.items ? missing(field.items, counterpart.items ?? {}, `${path}${name}.`) : []),
        ];
      });
    const body = document.paths['/surveys/import'].post.requestBody.content['application/json'].schema;
    assert.deepEqual(missing(document.components.schemas.SurveyWithQuestions, body), []);
  });
});

describe('a document of a few routes', () => {
  const thing = z.strictObject({ id: z.string(), size: z.number().default(1) }).meta({ id: 'TestThing' });
  const shelf = z.strictObject({ things: z.array(thing) }).meta({ id: 'TestShelf' });
  const make = (body: z.ZodType, reply: z.ZodType): Route =>
    route({
      method: 'POST',
      path: '/shelves',
      tag: 'Surveys',
      summary: 'Make a shelf',
      access: { kind: 'editor' },
      limit: 'api',
      body,
      reply,
      replyStatus: 201,
      handle: async () => created(null),
    });

  it('renames a body schema that differs from the reply, and those that refer to it', async () => {
    const made: any = await createOpenApi({ routes: [make(shelf, shelf)], version: '1' });
    assert.deepEqual(made.components.schemas.TestThing.required, ['id', 'size']);
    assert.deepEqual(made.components.schemas.TestThingInput.required, ['id']);
    assert.deepEqual(made.components.schemas.TestShelfInput.properties.things.items, {
      $ref: '#/components/schemas/TestThingInput',
    });
    assert.deepEqual(made.paths['/shelves'].post.requestBody.content['application/json'].schema, {
      $ref: '#/components/schemas/TestShelfInput',
    });
    assert.deepEqual(made.paths['/shelves'].post.responses['201'].content['application/json'].schema.properties.data, {
      $ref: '#/components/schemas/TestShelf',
    });
  });

  it('shows further successful replies, also of the same status in another media type', async () => {
    const declared = {
      ...make(shelf, thing),
      otherReplies: [
        { status: 201, description: 'As a file', mediaType: 'application/pdf' },
        { status: 202, description: 'Later', data: shelf },
      ],
      refusals: ['AI_DISABLED'] as const,
    };
    const document: any = await createOpenApi({ routes: [declared], version: '1' });
    const { responses } = document.paths['/shelves'].post;
    assert.deepEqual(Object.keys(responses['201'].content), ['application/json', 'application/pdf']);
    assert.deepEqual(responses['202'].content['application/json'].schema.properties.data, {
      $ref: '#/components/schemas/TestShelf',
    });
    assert.match(responses['409'].$ref, /AI_DISABLED/);
  });

  it('refuses two different schemas of one name', () => {
    const book = createSchemaComponents();
    book.reply(z.object({ a: z.string() }).meta({ id: 'TestTwin' }));
    assert.throws(
      () => book.reply(z.object({ b: z.string() }).meta({ id: 'TestTwin' })),
      /two different schemas are called TestTwin/,
    );
  });
});
