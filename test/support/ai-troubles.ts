import type { AiProvider } from './ai-features.ts';
import { type Fault, standInKey } from './ai-provider.ts';

/** An error in the provider's own form. */
const refused =
  (status: number, said: Record<AiProvider, [code: string, message: string]>, headers: Record<string, string> = {}) =>
  (provider: AiProvider): Fault => {
    const [code, message] = said[provider];
    const body = {
      openai: { error: { message, type: 'invalid_request_error', param: null, code } },
      azure: { error: { code, message } },
      gemini: [{ error: { code: status, message, status: code } }],
      anthropic: { type: 'error', error: { type: code, message }, request_id: 'req_1' },
    };
    return {
      status: provider === 'gemini' && /^(INVALID_ARGUMENT|FAILED_PRECONDITION)$/.test(code) ? 400 : status,
      body: body[provider],
      headers,
    };
  };

/** What a provider does instead of answering, and what a call of the API is told then. */
export interface Trouble {
  what: string;
  fault: (provider: AiProvider) => Fault;
  code: string;
  /** How often the provider is asked, and how many of the calls bring no reply. */
  calls?: number;
  failed?: number;
  /** Whether work of many calls tries again, here once. */
  isPassing?: boolean;
  /** Whether it refuses the answers that were sent: a batch is then halved. */
  verdict?: 'refused' | 'unfit';
}

const same = (fault: Fault) => () => fault;
const passing = { code: 'AI_PROVIDER_ERROR', isPassing: true };
const unusable = { code: 'AI_PROVIDER_ERROR', calls: 2, failed: 0, verdict: 'unfit' } as const;
const key = `sk-…${standInKey}`;

export const troubles: readonly Trouble[] = [
  {
    what: 'a wrong key',
    code: 'AI_KEY_INVALID',
    fault: refused(401, {
      openai: ['invalid_api_key', `Incorrect API key provided: ${key}`],
      azure: ['401', 'Access denied due to invalid subscription key'],
      gemini: ['INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
      anthropic: ['authentication_error', 'invalid x-api-key'],
    }),
  },
  {
    what: 'a key without permission',
    code: 'AI_KEY_INVALID',
    fault: refused(403, {
      openai: ['insufficient_permissions', 'You have insufficient permissions for this operation.'],
      azure: ['PermissionDenied', 'Principal does not have access to API/Operation.'],
      gemini: ['PERMISSION_DENIED', 'Permission denied: Consumer has been suspended.'],
      anthropic: ['permission_error', 'Your API key does not have permission to use the specified resource.'],
    }),
  },
  {
    what: 'a country without the service',
    code: 'AI_MODEL_UNAVAILABLE',
    fault: refused(403, {
      openai: ['unsupported_country_region_territory', 'Country, region, or territory not supported'],
      azure: ['403', 'This model is not available in the region of the resource.'],
      gemini: ['FAILED_PRECONDITION', 'User location is not supported for the API use.'],
      anthropic: ['forbidden', 'Request not allowed'],
    }),
  },
  {
    what: 'an unknown model',
    code: 'AI_MODEL_UNAVAILABLE',
    fault: refused(404, {
      openai: ['model_not_found', 'The model does not exist or you do not have access to it.'],
      azure: ['DeploymentNotFound', 'The API deployment for this resource does not exist.'],
      gemini: ['NOT_FOUND', 'models/gemini-0 is not found for API version v1main'],
      anthropic: ['not_found_error', 'model: claude-0'],
    }),
  },
  {
    what: 'an account without credit',
    code: 'AI_PROVIDER_ERROR',
    fault: (provider) =>
      refused(({ openai: 429, azure: 402, gemini: 429, anthropic: 400 } as const)[provider], {
        openai: ['insufficient_quota', 'You exceeded your current quota, please check your plan and billing details.'],
        azure: ['402', 'Payment required'],
        gemini: ['RESOURCE_EXHAUSTED', 'Your prepayment credits are depleted.'],
        anthropic: ['invalid_request_error', 'Your credit balance is too low to access the Claude API.'],
      })(provider),
  },
  {
    what: 'a breakdown',
    ...passing,
    fault: refused(500, {
      openai: ['server_error', 'The server had an error'],
      azure: ['InternalServerError', 'Internal server error'],
      gemini: ['INTERNAL', 'An internal error has occurred.'],
      anthropic: ['api_error', 'Internal server error'],
    }),
  },
  {
    what: 'too much to do',
    ...passing,
    fault: (provider) =>
      refused(
        provider === 'anthropic' ? 529 : 503,
        {
          openai: ['overloaded', 'The engine is overloaded'],
          azure: ['ServiceUnavailable', 'Try later'],
          gemini: ['UNAVAILABLE', 'The model is overloaded.'],
          anthropic: ['overloaded_error', 'Overloaded'],
        },
        { 'retry-after': '600' },
      )(provider),
  },
  { what: 'no answer in time', ...passing, fault: same({ hang: true }) },
  { what: 'an answer that does not end in time', ...passing, fault: same({ drip: true }) },
  { what: 'a connection cut before the answer', ...passing, fault: same({ cut: 'before' }) },
  { what: 'a body cut short', ...passing, fault: same({ cut: true }) },
  { what: 'a stream cut short', ...passing, fault: same({ cut: 'chunks' }) },
  { what: 'a gigabyte', ...passing, fault: same({ bytes: 1024 ** 3 }) },
  {
    what: '64 KiB of headers',
    ...passing,
    fault: same({ status: 200, headers: { 'x-long': 'a'.repeat(65_536) }, body: {} }),
  },
  { what: 'a status beyond all', ...passing, fault: same({ status: 799 }) },
  { what: 'a status that has no body', code: 'AI_PROVIDER_ERROR', fault: same({ status: 205, body: {} }) },
  {
    what: 'a page of HTML',
    code: 'AI_PROVIDER_ERROR',
    fault: same({ status: 200, body: '<html>Sign in to the hotel’s network</html>' }),
  },
  { what: 'a body that is null', code: 'AI_PROVIDER_ERROR', fault: same({ status: 200, body: 'null' }), calls: 1 },
  { what: 'nothing at all', code: 'AI_PROVIDER_ERROR', fault: same({ status: 200, body: '' }) },
  { what: 'an empty object', ...unusable, fault: same({ status: 200, body: {} }) },
  { what: 'an empty text', ...unusable, fault: same({ text: '' }) },
  { what: 'words instead of JSON', ...unusable, fault: same({ text: 'I would love to help! Here you are' }) },
  { what: 'JSON of another form', ...unusable, fault: same({ text: '{"survey":{"id":1},"answers":"all good"}' }) },
  { what: 'JSON that stops at the most tokens', ...unusable, fault: same({ text: '{"title":"Lu', ending: 'length' }) },
  { what: 'a refusal', code: 'AI_PROVIDER_ERROR', verdict: 'refused', fault: same({ refusal: true }) },
  {
    what: 'a filter of contents',
    code: 'AI_PROVIDER_ERROR',
    verdict: 'refused',
    fault: (provider) =>
      provider === 'azure'
        ? {
            status: 400,
            body: {
              error: {
                code: 'content_filter',
                message: 'The response was filtered due to the prompt triggering the content management policy.',
                status: 400,
              },
            },
          }
        : { text: '{}', ending: 'filter' },
  },
];
