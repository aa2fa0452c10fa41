import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { problemTable } from '../../../../src/errors.ts';
import { tagDescriptions } from '../../../../src/http/reference/descriptions.ts';
import { createOpenApi } from '../../../../src/http/reference/openapi.ts';
import { auditActions, auditObjectKinds } from '../../../../src/stores/postgres/audit-actions.ts';
import { nodes, operations, reference, resolve } from '../../../support/reference.ts';

const { api, root, document } = reference;

describe('the OpenAPI document', () => {
  it('describes exactly the existing routes', () => {
    assert.deepEqual(
      operations.map(({ name }) => name).sort(),
      [...api, ...root].map(({ method, path }) => `${method} ${path}`).sort(),
    );
  });

  it('has title, server and security', async () => {
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
    const relative = await createOpenApi({ routes: api.slice(0, 1), version: '1' });
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

  it('says how large a body and a response may be', () => {
    assert.match(document.info.description ?? '', /JSON takes at most 256 KiB .* 1024 KiB as it is stored/);
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

  it('has the headers of refusals', () => {
    const headersOf = (code: string) => Object.keys(document.components.responses[code].headers);
    assert.ok(headersOf('UNAUTHORIZED').includes('WWW-Authenticate'));
    for (const header of ['X-RateLimit-Reset', 'Retry-After']) assert.ok(headersOf('RATE_LIMITED').includes(header));
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

  it('names the refusal of a declared body that is too large for every method, since none is exempt from it', () => {
    for (const { name, operation } of operations) {
      const problem: any = resolve(operation.responses['413']?.$ref ?? assert.fail(name));
      const { enum: codes } = problem.content['application/json'].schema.allOf[1].properties.code;
      assert.deepEqual(codes, ['PAYLOAD_TOO_LARGE'], name);
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

  it('names what an AI provider may refuse where one is asked, and a 202 where that is a job', () => {
    const namesOf = (has: (responses: any) => boolean): string[] =>
      operations.filter(({ operation }) => has(operation.responses)).map(({ name }) => name);
    const hasCode = (code: string) => (responses: any) =>
      Object.values<any>(responses).some(({ $ref = '' }) => $ref.split('/').at(-1).split('.').includes(code));
    const jobs = [
      'POST /ai/generate-survey',
      'POST /ai/questions/{questionId}/optimize',
      'POST /ai/surveys/{id}/analyze',
      'POST /ai/surveys/{id}/report',
      'POST /ai/surveys/{id}/translate',
    ];
    const inReply = [
      'POST /ai/conversations',
      'POST /ai/conversations/{id}/messages',
      'POST /ai/settings/{provider}/test',
    ];
    for (const code of [
      'AI_NOT_CONFIGURED',
      'AI_KEY_INVALID',
      'AI_RATE_LIMITED',
      'AI_MODEL_UNAVAILABLE',
      'AI_PROVIDER_ERROR',
    ])
      assert.deepEqual(namesOf(hasCode(code)).sort(), [...inReply, ...jobs].sort(), code);
    const decisions = ['accept', 'reject', 'undo'].map((word) => `POST /ai/suggestions/{suggestionId}/${word}`);
    const ofSurveys = jobs.filter((name) => name !== 'POST /ai/generate-survey');
    assert.deepEqual(namesOf(hasCode('AI_DISABLED')).sort(), [...ofSurveys, ...decisions].sort());
    assert.deepEqual(
      namesOf((responses) => responses['202'] !== undefined)
        .filter((name) => name.includes(' /ai/'))
        .sort(),
      jobs,
    );
  });

  it('says of signing in and out, conversations and logos what their calls get', () => {
    const { paths } = document;
    assert.ok(paths['/auth/login'].post.responses['403'], 'a cookie is asked for from elsewhere');
    for (const path of ['/auth/logout', '/auth/password'])
      assert.match(paths[path].post.description, /For every signed-in caller, not with an API key\.$/);
    for (const path of ['/ai/conversations', '/ai/conversations/{id}/messages', '/ai/conversations/{id}/save'])
      assert.equal(paths[path].post.responses['202'], undefined, path);
    const tokenHeaders = operations
      .filter(({ operation }) => operation.parameters?.some(({ name }: { name: string }) => name === 'X-Survey-Token'))
      .map(({ name }) => name);
    assert.deepEqual(tokenHeaders.sort(), [
      'GET /public/collectors/{link}',
      'GET /public/surveys/{id}',
      'POST /public/surveys/{id}/path',
      'POST /responses/surveys/{surveyId}/submit',
      'POST /uploads/surveys/{surveyId}/questions/{questionId}',
    ]);
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
