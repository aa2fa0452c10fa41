import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertKeyForm } from '../../../../src/ai/providers/providers.ts';
import { providerNames } from '../../../../src/ai/providers/registry.ts';
import type { Dimension } from '../../../../src/domain/questions/contract.ts';
import { registry } from '../../../../src/domain/questions/registry.ts';
import { questionVariable } from '../../../../src/domain/questions/variable.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import {
  exampleIds,
  exampleRespondents,
  exampleQuestions as told,
} from '../../../../src/http/reference/example-survey.ts';
import { replyExamples } from '../../../../src/http/reference/reply-examples.ts';
import { namedRequestExamples, requestExamples } from '../../../../src/http/reference/request-examples.ts';
import { interpretTables } from '../../../support/crosstab.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';
import { operations, reference } from '../../../support/reference.ts';

const { api, document } = reference;

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

describe('the OpenAPI document', () => {
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

  it('has request examples that do not cease to be accepted on a day', () => {
    const dated = Object.entries(requestExamples).filter(([, body]) =>
      /"(opens|closes|starts|ends|expires)At":"/.test(JSON.stringify(body)),
    );
    assert.deepEqual(dated, []);
  });

  it('has a survey with the sections that its request examples name', () => {
    const named = JSON.stringify(requestExamples['POST /surveys/{surveyId}/sections/reorder']);
    const { sections } = replyExamples['GET /surveys/{id}'] as { sections: { id: string }[] };
    assert.deepEqual(
      sections.filter(({ id }) => !named.includes(id)),
      [],
    );
    assert.equal(sections.length, 2);
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
});
