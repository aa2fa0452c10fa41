import type { z } from 'zod';
import { providerNames } from '../../ai/providers/registry.ts';
import { translationLanguages } from '../../domain/translation/languages.ts';
import type { Route } from '../routing/route.ts';
import { exampleIds } from './example-survey.ts';
import { type JsonSchema, toJsonSchema } from './schema-components.ts';

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  example?: string;
  schema: JsonSchema;
}

/** The parameters of a route: of its path and query, and the headers that such a route reads. */
export function parametersOf(route: Route): Parameter[] {
  return [
    ...pathParameters(route.path),
    ...(route.query ? queryParameters(route.query) : []),
    ...headerParameters(route),
  ];
}

function pathParameters(path: string): Parameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const [description, example] = pathParameterDescriptions[`${path} ${name}`] ??
      pathParameterDescriptions[name === 'id' ? `${path.slice(0, path.indexOf('/{'))}/{id}` : name] ?? ['', undefined];
    return {
      name,
      in: 'path',
      required: true,
      description,
      ...(example !== undefined && { example }),
      schema: name === 'id' || name.endsWith('Id') ? { type: 'string', format: 'uuid' } : { type: 'string' },
    };
  });
}

const ofSurvey = ['The survey', exampleIds.survey] as const;

/** Descriptions of path parameters, with an example where ids are not made for one call. */
const pathParameterDescriptions: Readonly<Record<string, readonly [description: string, example?: string]>> = {
  '/surveys/{id}': ofSurvey,
  '/public/surveys/{id}': ofSurvey,
  '/ai/surveys/{id}': ofSurvey,
  surveyId: ofSurvey,
  '/users/{id}': ['The user', exampleIds.owner],
  userId: ['The user', exampleIds.owner],
  '/api-keys/{id}': ['The key, by the `id` that lists give'],
  '/webhooks/{id}': ['The webhook', exampleIds.webhook],
  '/ai/conversations/{id}': ['The conversation, by its `conversationId`'],
  questionId: ['The question', exampleIds.heard],
  '/analytics/surveys/{surveyId}/questions/{questionId} questionId': ['The question', exampleIds.again],
  sectionId: ['The section', exampleIds.stay],
  quotaId: ['The quota by cell', exampleIds.quota],
  version: ['The version, by the `version` that lists and responses give', '1'],
  link: ['The `linkId` of the collector', 'k3Jd9_xQ2w'],
  hash: ['As `appearance.logo.url` of the survey ends'],
  collectorId: ['The collector', exampleIds.collector],
  invitationId: ['The invitation, by the `id` that lists give', exampleIds.invitation],
  responseId: ['The response: the `responseId` of the submission', exampleIds.response],
  exportId: ['The export', exampleIds.file],
  uploadId: ['The file, by the `uploadId` of the upload'],
  deliveryId: ['The delivery, by the `id` that lists give'],
  jobId: ['The job, by the `jobId` of the 202 reply'],
  reportId: ['The report'],
  suggestionId: ['The suggestion, by its `id`'],
  language: [`The language of the translation: ${translationLanguages.join(', ')}`, 'de'],
  provider: [`The AI provider: ${providerNames.join(', ')}`, 'openai'],
  respondent: ['The `respondent` of the submissions, percent-encoded', 'guest-17'],
};

/**
 * A query arrives as text, so its schemas transform text: the input schema has its form, the output schema its meaning.
 * Numbers and booleans are documented by their meaning.
 */
function queryParameters(schema: z.ZodType): Parameter[] {
  const inputSchema = propertiesOf(toJsonSchema(schema, 'input').root);
  const outputSchema = propertiesOf(toJsonSchema(schema, 'output').root);
  const { required } = toJsonSchema(schema, 'input').root;
  return Object.entries(inputSchema).map(([name, property]): Parameter => {
    const { description, ...shown } = simplified(property, outputSchema[name] ?? {});
    return {
      name,
      in: 'query',
      ...(typeof description === 'string' && { description }),
      ...(Array.isArray(required) && required.includes(name) && { required: true }),
      schema: shown,
    };
  });
}

const propertiesOf = (schema: JsonSchema) => (schema['properties'] ?? {}) as Record<string, JsonSchema>;

function simplified(inputSchema: JsonSchema, outputSchema: JsonSchema): JsonSchema {
  const kept = {
    ...(inputSchema['description'] !== undefined && { description: inputSchema['description'] }),
    ...(inputSchema['default'] !== undefined && { default: inputSchema['default'] }),
  };
  if (outputSchema['type'] === 'number' || outputSchema['type'] === 'integer')
    return { ...outputSchema, ...kept, type: isWhole(inputSchema) ? 'integer' : outputSchema['type'] };
  if (String(inputSchema['enum']) === 'true,false') return { type: 'boolean', ...kept };
  const list = Array.isArray(inputSchema['anyOf'])
    ? (inputSchema['anyOf'] as JsonSchema[]).find(({ type }) => type === 'array')
    : undefined;
  return list ? { ...list, ...kept } : inputSchema;
}

const isWhole = ({ pattern }: JsonSchema): boolean => typeof pattern === 'string' && pattern.startsWith('^\\d');

function headerParameters(route: Route): Parameter[] {
  const header = (name: string, description: string, schema: JsonSchema = { type: 'string' }): Parameter => ({
    name,
    in: 'header',
    description,
    schema,
  });
  const surveyToken = route.readsSurveyToken ? [header('X-Survey-Token', 'The token of a PRIVATE survey')] : [];
  if (route.limit === 'submit')
    return [
      header(
        'Idempotency-Key',
        'Makes repeats safe: the same key with the same body gives the same reply. Best a UUID: a repeat whose key has fewer than 16 characters gets no `resumeToken`',
        {
          type: 'string',
          pattern: '^[\\x21-\\x7e]{1,255}$',
        },
      ),
      ...surveyToken,
    ];
  if (route.bodyKind === 'stream' && !route.bodyMediaTypes)
    return [header('X-Filename', 'The file’s name, percent-encoded UTF-8'), ...surveyToken];
  if (route.readsSurveyToken) return surveyToken;
  if (route.replyMediaType === 'text/event-stream')
    return [header('Last-Event-ID', 'The cursor behind which the stream resumes')];
  if (route.replyMediaType !== 'application/octet-stream') return [];
  return [
    header('Range', 'One range of bytes; for several ranges the whole file is sent'),
    header('If-Range', 'An ETag: the whole file is sent if it differs'),
    header('If-None-Match', 'ETags of files that the client has: 304 if one of them matches'),
  ];
}
