import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { assertKeyForm } from '../../../../src/ai/providers/providers.ts';
import { providerNames } from '../../../../src/ai/providers/registry.ts';
import { interpretTables } from '../../../../src/domain/analytics/crosstab.ts';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { registry } from '../../../../src/domain/questions/registry.ts';
import { questionTypeNames } from '../../../../src/domain/questions/type-names.ts';
import { questionVariable } from '../../../../src/domain/questions/variable.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import { problemTable } from '../../../../src/errors.ts';
import { tagDescriptions } from '../../../../src/http/reference/descriptions.ts';
import {
  exampleIds,
  exampleRespondents,
  exampleQuestions as told,
} from '../../../../src/http/reference/example-survey.ts';
import { createOpenApi } from '../../../../src/http/reference/openapi.ts';
import { replyExamples } from '../../../../src/http/reference/reply-examples.ts';
import { namedRequestExamples, requestExamples } from '../../../../src/http/reference/request-examples.ts';
import { createSchemaComponents, toJsonSchema } from '../../../../src/http/reference/schema-components.ts';
import { created, type Route, route } from '../../../../src/http/routing/route.ts';
import { auditActions, auditObjectKinds } from '../../../../src/stores/postgres/audit-actions.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import { reference } from '../../../support/reference.ts';

const { api, root, document } = reference;
/** The WebSocket is no route. */
const operations: { name: string; path: string; operation: any }[] = Object.entries<any>(document.paths)
  .filter(([path]) => path !== '/live')
  .flatMap(([path, item]) =>
    Object.entries<any>(item)
      .filter(([key]) => key !== 'servers')
      .map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, operation })),
  );

/** Rows as they are sent at first, without the ids that they are given. */
const unnamed = (settings: object): Record<string, unknown> =>
  'rows' in settings && Array.isArray(settings.rows)
    ? { ...settings, rows: settings.rows.map(({ text, value }: any) => ({ text, value })) }
    : { ...settings };

/** The survey of the examples, made as the interface would. */
function toldSurvey() {
  let survey = blankSurvey();
  const questions: Record<string, Question> = {};
  for (const [name, { type, text, options, settings, isRequired }] of Object.entries(told)) {
    const added = withQuestion(survey, {
      type: type as 'NPS',
      text,
      isRequired,
      settings: unnamed(settings),
      ...(options.length > 0 && { options: options.map(({ text: label, value }) => ({ text: label, value })) }),
    });
    survey = added.survey;
    questions[name] = added.question;
  }
  return { survey, questions: questions as Record<keyof typeof told, Question> };
}

function* nodes(value: unknown, path: string): Generator<{ path: string; node: any }> {
  if (typeof value !== 'object' || value === null) return;
  yield { path, node: value };
  for (const [key, item] of Object.entries(value)) yield* nodes(item, `${path}/${key}`);
}

const resolve = (ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<any>((at, key) => at?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document);

describe('the OpenAPI document', () => {
  it('describes exactly the existing routes', () => {
    assert.deepEqual(
      operations.map(({ name }) => name).sort(),
      [...api, ...root].map(({ method, path }) => `${method} ${path}`).sort(),
    );
  });

  it('has title, server and security', () => {
    assert.equal(document.openapi, '3.1.0');
    assert.equal(document.info.version, '1.2.3');
    assert.deepEqual(document.servers, [{ url: 'https://surveys.example.org/api/v1' }]);
    assert.deepEqual(document.paths['/metrics'].servers, [{ url: 'https://surveys.example.org' }]);
    assert.deepEqual(document.security, [{ bearer: [] }]);
    const open = operations.filter(({ operation }) => operation.security !== undefined).map(({ name }) => name);
    assert.deepEqual(
      open.sort(),
      [...api, ...root]
        .filter(({ access }) => access.kind === 'public')
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    );
    const relative = createOpenApi({ routes: api.slice(0, 1), version: '1' });
    assert.deepEqual(relative.servers, [{ url: '/api/v1' }]);
  });

  it('is plain JSON without dangling references', () => {
    assert.deepEqual(JSON.parse(JSON.stringify(document)), document);
    for (const { path, node } of nodes(document, '#')) {
      if ('$ref' in node && typeof node.$ref === 'string')
        assert.ok(resolve(node.$ref), `${path} refers to ${node.$ref}`);
      assert.ok(!('$defs' in node) && !('$schema' in node), path);
    }
  });

  it('has pagination on every list', () => {
    const lists = [...api, ...root].filter(({ method, reply }) => method === 'GET' && reply instanceof z.ZodArray);
    assert.ok(lists.length > 8);
    for (const { method, path, query, isPaged } of lists) {
      assert.equal(isPaged, true, `${method} ${path}`);
      for (const wrong of [{ limit: '0' }, { limit: '1001' }, { page: '0' }, { zz: '1' }])
        assert.equal(query?.safeParse(wrong).success, false, `${method} ${path} ${JSON.stringify(wrong)}`);
    }
  });

  it('names every parameter of a path, and only those', () => {
    for (const { name, path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
      const named = (operation.parameters ?? []).filter((parameter: any) => parameter.in === 'path');
      assert.deepEqual(
        named.map((parameter: any) => parameter.name),
        inPath,
        name,
      );
      assert.ok(
        named.every((parameter: any) => parameter.required === true && parameter.description.length > 5),
        name,
      );
      const all = (operation.parameters ?? []).map((parameter: any) => `${parameter.in} ${parameter.name}`);
      assert.equal(new Set(all).size, all.length, `${name} names a parameter twice`);
    }
  });

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

  it('gives no two operations the same id, nor two paths the same template', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[a-z][A-Za-z0-9]*$/);
    const templates = Object.keys(document.paths).map((path) => path.replace(/\{\w+\}/g, '{}'));
    assert.deepEqual(
      templates.filter((template, index) => templates.indexOf(template) !== index),
      [],
    );
  });

  it('describes every tag and operation in words', () => {
    for (const { name, description } of document.tags)
      assert.ok(description, `the tag ${name} is not described in reference/text.ts`);
    for (const { name, operation } of operations) {
      assert.ok(operation.summary.length > 3, name);
      assert.equal(operation.tags.length, 1, name);
      assert.ok(operation.tags[0] in tagDescriptions, name);
    }
  });

  it('has the success with its envelope and the refusals of each operation', () => {
    for (const { name, operation } of operations) {
      const declared = [...api, ...root].find(({ method, path }) => `${method} ${path}` === name);
      assert.ok(declared, name);
      const success = operation.responses[String(declared.replyStatus)];
      assert.ok(success.description && success.headers['X-Request-Id'], name);
      if (declared.limit !== 'none') assert.ok(success.headers['X-RateLimit-Remaining'], name);
      if (declared.reply) {
        const { schema } = success.content['application/json'];
        assert.deepEqual(
          schema.required,
          ['success', 'data', ...(declared.isPaged === true ? ['pagination'] : [])],
          name,
        );
        assert.deepEqual(schema.properties.success, { const: true }, name);
      } else assert.ok(Object.keys(success.content).length > 0, name);
      assert.ok(operation.responses['500'], name);
      assert.equal(
        operation.responses['401'] !== undefined,
        declared.access.kind !== 'public' || declared.limit === 'auth' || name === 'GET /metrics',
        name,
      );
      assert.equal(
        operation.responses['429'] !== undefined,
        declared.limit !== 'none' || name === 'GET /metrics',
        name,
      );
    }
  });

  it('lists every refusal under its status', () => {
    for (const { name, operation } of operations)
      for (const [status, reply] of Object.entries<any>(operation.responses)) {
        // The refusal of a range has no body.
        if (Number(status) < 400 || status === '416') continue;
        const problem: any = resolve(reply.$ref);
        const { enum: codes } = problem.content['application/json'].schema.allOf[1].properties.code;
        assert.ok(codes.length > 0, name);
        for (const code of codes)
          assert.equal(String(problemTable[code as keyof typeof problemTable].status), status, `${name}: ${code}`);
        if (status === '429' || status === '503') assert.ok(problem.headers['Retry-After'], name);
      }
  });

  it('describes media types, ranges and 304 of files', () => {
    const typesOf = (path: string, status: string, method = 'get') =>
      Object.keys(document.paths[path][method].responses[status].content);
    const formats = [
      'text/csv',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'application/pdf',
      'application/json',
      'application/x-ndjson',
      'application/vnd.apache.parquet',
      'application/x-spss-sav',
    ];
    for (const status of ['200', '206']) {
      assert.deepEqual(typesOf('/exports/{exportId}/download', status), formats);
      assert.deepEqual(typesOf('/uploads/{uploadId}', status), ['*/*']);
    }
    for (const path of ['/exports/{exportId}/download', '/uploads/{uploadId}']) {
      const { responses, parameters } = document.paths[path].get;
      for (const status of ['304', '416'])
        assert.ok(responses[status].description && !('content' in responses[status]), `${path} ${status}`);
      assert.ok(
        responses['206'].headers['Content-Range'] &&
          responses['416'].headers['Content-Range'] &&
          responses['200'].headers.ETag &&
          responses['304'].headers.ETag,
      );
      assert.deepEqual(
        parameters.filter((parameter: any) => parameter.in === 'header').map((parameter: any) => parameter.name),
        ['Range', 'If-Range', 'If-None-Match'],
      );
    }
    assert.deepEqual(typesOf('/ai/surveys/{id}/report', '200', 'post'), ['application/json', 'application/pdf']);
    assert.deepEqual(typesOf('/ai/surveys/{id}/reports/{reportId}', '200'), ['application/json', 'application/pdf']);
    assert.deepEqual(
      Object.keys(document.paths['/ai/surveys/{id}/report'].post.responses).filter((status) => status < '300'),
      ['200', '202'],
    );
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

  it('gives an example of every body', () => {
    const bodies = operations.flatMap(({ name, operation }) =>
      operation.requestBody?.content['application/json']
        ? [{ name, body: operation.requestBody.content['application/json'] }]
        : [],
    );
    assert.deepEqual(
      bodies
        .filter(({ body }) => (body.example === undefined) === (body.examples === undefined))
        .map(({ name }) => name),
      [],
    );
    const crosstab = bodies.find(({ name }) => name.endsWith('/crosstab'))?.body.examples;
    assert.deepEqual(
      ['weightQuestionId', 'weightMetadataKey', 'banner', 'significance', 'correction', 'filters'].filter(
        (field) => !JSON.stringify(crosstab).includes(`"${field}"`),
      ),
      [],
    );
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
      assert.deepEqual(Object.keys(settings.rows.items.properties), ['id', 'text', 'value']);
    }
    assert.ok(
      changed.multiple.anyOf.some(({ type }: any) => type === 'null') && !JSON.stringify(sent).includes('"null"'),
    );
  });

  it('describes the WebSocket among the paths, and has only known formats', () => {
    const { get } = document.paths['/live'];
    assert.deepEqual(
      get.parameters.map((parameter: any) => [parameter.in, parameter.name, parameter.required]),
      [
        ['query', 'ticket', true],
        ['header', 'Sec-WebSocket-Protocol', true],
      ],
    );
    assert.deepEqual(Object.keys(get.responses), ['101', '400', '401', '403', '429', '500', '503']);
    const known = new Set(['date-time', 'date', 'uuid', 'email', 'uri']);
    for (const { path, node } of [...nodes(document.components, '#/components'), ...nodes(document.paths, '#/paths')])
      if (typeof node.format === 'string' && !/\/example(\/|$)/.test(path))
        assert.ok(known.has(node.format), `${path} has the format ${node.format}`);
    assert.equal(
      document.paths['/surveys/{id}/live'].get.parameters.find(({ name }: any) => name === 'channels').schema.default,
      'responses,analytics,status',
    );
    assert.deepEqual(
      Object.keys(document.paths['/ai/suggestions/{suggestionId}/undo'].post.responses).filter(
        (status) => status < '300',
      ),
      ['200'],
    );
  });

  it('has request examples that the service accepts', () => {
    const named = Object.entries(namedRequestExamples).flatMap(([name, several]) =>
      Object.values(several).map(({ value }): [string, unknown] => [name, value]),
    );
    for (const [name, example] of [...Object.entries(requestExamples), ...named]) {
      const body = api.find(({ method, path }) => `${method} ${path}` === name)?.body;
      assert.ok(body, `${name} takes a body`);
      const result = body.safeParse(example);
      assert.ok(result.success, `${name}: ${result.error?.message}`);
    }
  });

  it('has reply examples that fit their schemas, all about one survey', () => {
    const main = [
      'POST /surveys',
      'GET /surveys/{id}',
      'POST /surveys/{surveyId}/questions',
      'POST /responses/surveys/{surveyId}/submit',
      'GET /responses/{responseId}',
      'GET /analytics/surveys/{surveyId}/questions/{questionId}',
      'POST /analytics/surveys/{surveyId}/crosstab',
      'POST /exports/surveys/{surveyId}',
      'GET /exports/{exportId}',
      'POST /webhooks',
      'POST /live/tickets',
    ];
    assert.deepEqual(
      main.filter((name) => !(name in replyExamples)),
      [],
    );
    const named = new Set<string>(Object.values(exampleIds));
    for (const [name, data] of Object.entries(replyExamples)) {
      const declared = api.find(({ method, path }) => `${method} ${path}` === name);
      assert.ok(declared?.reply, name);
      const result = declared.reply.safeParse(data);
      assert.ok(result.success, `${name}: ${result.error?.message}`);
      const { operation } = operations.find((item) => item.name === name) ?? assert.fail(name);
      assert.deepEqual(
        operation.responses[String(declared.replyStatus)].content['application/json'].example,
        { success: true, data },
        name,
      );
    }
    assert.match(document.info.description, /## Examples\n\n.*by yours/);
    const told =
      JSON.stringify([requestExamples, namedRequestExamples, replyExamples]).match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
    assert.ok(told.length > 30);
    assert.deepEqual(
      told.filter((id) => !named.has(id)),
      [],
    );
  });

  it('has reply examples about the objects that the path examples name', () => {
    const exampleOf = (path: string, name: string): unknown =>
      document.paths[path].get.parameters.find((parameter: any) => parameter.name === name).example;
    const replied = (name: string): any => replyExamples[`GET ${name}`];
    const one = '/analytics/surveys/{surveyId}/questions/{questionId}';
    assert.deepEqual(
      [exampleOf(one, 'surveyId'), exampleOf(one, 'questionId')],
      [exampleIds.survey, replied(one).questionId],
    );
    assert.equal(exampleOf('/surveys/{id}', 'id'), replied('/surveys/{id}').id);
    assert.equal(exampleOf('/responses/{responseId}', 'responseId'), replied('/responses/{responseId}').id);
    assert.equal(exampleOf('/exports/{exportId}', 'exportId'), replied('/exports/{exportId}').exportId);
  });

  it('has statistics that follow from the answers of its examples', () => {
    const { survey, questions } = toldSurvey();
    const plan = (name: 'heard' | 'first') => questionVariable(questions[name]) as Dimension;
    const count = (items: readonly string[]) =>
      new Map(
        ['friend', 'press', 'yes', 'no'].flatMap((value) =>
          items.includes(value) ? [[codeOf(value), items.filter((item) => item === value).length] as const] : [],
        ),
      );
    const codeOf = (value: string) =>
      survey.questions.flatMap(({ options }) => options).find((option) => option.value === value)?.code ?? 0;
    const cells = [...new Set(exampleRespondents.map(({ heard, first }) => `${heard} ${first}`))].map((pair) => {
      const [row = '', column = ''] = pair.split(' ');
      return {
        row: codeOf(row),
        column: codeOf(column),
        count: exampleRespondents.filter(({ heard, first }) => heard === row && first === column).length,
      };
    });
    const [table] = interpretTables(plan('heard'), [
      {
        cells,
        rowTotals: count(exampleRespondents.map(({ heard }) => heard)),
        columnTotals: count(exampleRespondents.map(({ first }) => first)),
        total: exampleRespondents.length,
        columns: plan('first'),
      },
    ]);
    const told: any = replyExamples['POST /analytics/surveys/{surveyId}/crosstab'];
    const rounded = (value: unknown) =>
      JSON.parse(
        JSON.stringify(value, (_key, item: unknown) => (typeof item === 'number' ? Number(item.toFixed(9)) : item)),
      );
    assert.deepEqual(rounded(table), rounded(told));
    const points = new Map(
      [...new Set(exampleRespondents.map(({ again }) => again))].map((again) => [
        again + 1,
        exampleRespondents.filter((guest) => guest.again === again).length,
      ]),
    );
    const {
      questionId: _id,
      type: _type,
      responseCount: _count,
      skippedCount: _skipped,
      askedCount: _asked,
      notAskedCount: _notAsked,
      base: _base,
      ...statistic
    }: any = replyExamples['GET /analytics/surveys/{surveyId}/questions/{questionId}'];
    assert.deepEqual(
      rounded(registry.NPS.statistic(questions.again, [{ kind: 'codes', counts: points }], exampleRespondents.length)),
      rounded(statistic),
    );
  });

  it('has example keys in the form of each AI provider', () => {
    const told = namedRequestExamples['PUT /ai/settings/{provider}'] ?? {};
    assert.deepEqual(Object.keys(told), providerNames);
    for (const name of providerNames)
      assertKeyForm(name, (told[name]?.value as { apiKey: string } | undefined)?.apiKey ?? '', undefined);
  });

  it('names every action and object kind of the audit', () => {
    const { parameters } = document.paths['/audit'].get;
    const shown = (name: string) =>
      (resolve(parameters.find((parameter: any) => parameter.name === name).schema.$ref) as any).enum;
    assert.deepEqual([shown('action'), shown('objectKind')], [[...auditActions], [...auditObjectKinds]]);
  });

  it('describes what webhooks receive', () => {
    assert.deepEqual(Object.keys(document.webhooks).sort(), [
      'batch',
      'quota.reached',
      'response.completed',
      'response.submitted',
      'survey.published',
    ]);
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

  it('renames a body schema that differs from the reply, and those that refer to it', () => {
    const made: any = createOpenApi({ routes: [make(shelf, shelf)], version: '1' });
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

  it('shows further successful replies, also of the same status in another media type', () => {
    const declared = {
      ...make(shelf, thing),
      otherReplies: [
        { status: 201, description: 'As a file', mediaType: 'application/pdf' },
        { status: 202, description: 'Later', data: shelf },
      ],
      refusals: ['AI_DISABLED'] as const,
    };
    const { responses } = (createOpenApi({ routes: [declared], version: '1' }) as any).paths['/shelves'].post;
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
