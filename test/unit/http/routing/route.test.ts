import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { type Method, ok, page, pageInSlices, type Route, route } from '../../../../src/http/routing/route.ts';
import { createRouteTable } from '../../../../src/http/routing/route-table.ts';
import { bodyText } from '../../../../src/http/server/write-response.ts';

const make = (method: Method, path: string): Route =>
  route({
    method,
    path,
    tag: 'Test',
    summary: path,
    access: { kind: 'public' },
    limit: 'none',
    reply: z.null(),
    replyStatus: 200,
    handle: async () => ok(null),
  });

const table = createRouteTable([
  make('GET', '/surveys'),
  make('POST', '/surveys'),
  make('GET', '/surveys/{id}'),
  make('DELETE', '/surveys/{id}'),
  make('PUT', '/surveys/questions/{questionId}'),
  make('GET', '/surveys/{surveyId}/questions/{questionId}'),
  make('POST', '/surveys/{surveyId}/questions/reorder'),
  make('GET', '/docs'),
  make('GET', '/docs/'),
  make('GET', '/docs/{file}'),
]);

const found = (method: Method, path: string) => {
  const match = table.match(method, path);
  return match && [match.route.path, match.params];
};

describe('the route table', () => {
  it('finds a route and its parameters by method and path', () => {
    assert.deepEqual(found('GET', '/surveys'), ['/surveys', {}]);
    assert.deepEqual(found('GET', '/surveys/a'), ['/surveys/{id}', { id: 'a' }]);
    assert.deepEqual(found('GET', '/surveys/a/questions/b'), [
      '/surveys/{surveyId}/questions/{questionId}',
      { surveyId: 'a', questionId: 'b' },
    ]);
  });

  it('names parameters as the route of the method does', () => {
    const mixed = createRouteTable([make('GET', '/a/{id}'), make('PUT', '/a/{aId}'), make('GET', '/a/{otherId}/b')]);
    assert.deepEqual(mixed.match('GET', '/a/1')?.params, { id: '1' });
    assert.deepEqual(mixed.match('PUT', '/a/1')?.params, { aId: '1' });
    assert.deepEqual(mixed.match('GET', '/a/1/b')?.params, { otherId: '1' });
  });

  it('prefers fixed segments, and backtracks if they lead nowhere', () => {
    assert.deepEqual(found('PUT', '/surveys/questions/q'), ['/surveys/questions/{questionId}', { questionId: 'q' }]);
    assert.deepEqual(found('GET', '/surveys/questions'), ['/surveys/{id}', { id: 'questions' }]);
    assert.deepEqual(found('GET', '/surveys/questions/questions/q'), [
      '/surveys/{surveyId}/questions/{questionId}',
      { surveyId: 'questions', questionId: 'q' },
    ]);
    assert.deepEqual(found('GET', '/surveys/s/questions/reorder'), [
      '/surveys/{surveyId}/questions/{questionId}',
      { surveyId: 's', questionId: 'reorder' },
    ]);
  });

  it('finds nothing for other methods, longer or shorter paths, and empty segments', () => {
    for (const [method, path] of [
      ['PUT', '/surveys'],
      ['GET', '/'],
      ['GET', ''],
      ['GET', '/surveys/'],
      ['GET', '/surveys//questions/q'],
      ['GET', '/surveys/a/b'],
      ['GET', '/Surveys'],
      ['POST', '/surveys/a'],
    ] as const)
      assert.equal(found(method, path), undefined, `${method} ${path}`);
  });

  it('accepts a slash at the end only if the route has one', () => {
    assert.deepEqual(found('GET', '/docs'), ['/docs', {}]);
    assert.deepEqual(found('GET', '/docs/'), ['/docs/', {}]);
    assert.deepEqual(found('GET', '/docs/page.js'), ['/docs/{file}', { file: 'page.js' }]);
  });

  it('decodes parameters after cutting the path, and refuses what cannot be decoded', () => {
    assert.deepEqual(found('GET', '/surveys/a%2Fb%20c'), ['/surveys/{id}', { id: 'a/b c' }]);
    assert.deepEqual(found('GET', '/surveys/%C3%BC'), ['/surveys/{id}', { id: 'ü' }]);
    for (const path of ['/surveys/%', '/surveys/%zz', '/surveys/%c3'])
      assert.equal(found('GET', path), undefined, path);
    assert.equal(found('GET', '/survey%73'), undefined);
  });

  it('gives a page parameters that are no text as they stand in the path', () => {
    const table = createRouteTable([{ ...make('GET', '/s/{link}'), takesRubbish: true }, make('GET', '/t/{link}')]);
    for (const link of ['%', '%zz', '%c3', '%00', 'a%00b'])
      assert.deepEqual(table.match('GET', `/s/${link}`)?.params, { link }, link);
    assert.deepEqual(table.match('GET', '/s/%C3%BC')?.params, { link: 'ü' });
    assert.equal(table.match('GET', '/t/%zz'), undefined);
  });

  it('keeps a parameter from being taken for a property of objects', () => {
    assert.deepEqual(found('GET', '/surveys/__proto__'), ['/surveys/{id}', { id: '__proto__' }]);
    assert.equal(found('GET', '/constructor'), undefined);
  });

  it('refuses two routes for one method and path', () => {
    assert.throws(() => createRouteTable([make('GET', '/a/{id}'), make('GET', '/a/{other}')]), /two routes for GET/);
  });
});

describe('a page of megabytes', () => {
  it('is written in slices, between which other work goes on, with the same text as a short one', async () => {
    const items = Array.from({ length: 200 }, (_, n) => ({ id: `${n}`, text: '語'.repeat(10_000), themes: [] }));
    const pagination = { page: 1, limit: 200, total: 200, nextCursor: null };
    let turns = 0;
    let timer = setImmediate(function count() {
      turns += 1;
      timer = setImmediate(count);
    });
    const outcome = await pageInSlices(items, pagination);
    clearImmediate(timer);
    assert.ok(turns > 0);
    assert.ok(outcome.kind === 'bytes');
    assert.equal(Buffer.from(outcome.bytes).toString(), bodyText(page(items, pagination)));
  });
});
