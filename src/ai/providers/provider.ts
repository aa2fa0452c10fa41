import { Problem } from '../../errors.ts';
import type { ProviderName } from '../../settings/ai-settings.ts';

/** JSON Schema 2020-12, as sent to providers. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** `high`: the better model, which writes texts; `low`: the cheaper one, which classifies many answers. */
export type ModelTier = 'high' | 'low';

export interface Turn {
  role: 'user' | 'assistant';
  text: string;
}

export interface CompletionRequest {
  model: string;
  /** Instructions to the model; never contains text of respondents. */
  system: string;
  turns: readonly Turn[];
  /** Name of the schema: letters and hyphens. */
  schemaName: string;
  /** JSON Schema of the reply, which is an object. */
  schema: JsonSchema;
  maxOutputTokens: number;
  signal: AbortSignal;
  /**
   * Takes the text of the reply piece by piece as it is streamed; without it the reply comes whole. A call that fails
   * may have streamed a part.
   */
  onText?: (piece: string) => void;
  /** Takes what the provider has counted so far, whenever it says so: a call that fails is charged for too. */
  onTokens?: (tokens: Tokens) => void;
}

/** A number of tokens as a provider reports it; 0 where the reported value is no count. */
export const countOf = (given: unknown): number =>
  typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= 1e9 ? given : 0;

export interface Completion {
  /** JSON, as far as the provider keeps its promise; unchecked. */
  text: string;
  inputTokens: number;
  outputTokens: number;
  /** Resolves when the usage of the call is recorded; never rejects. */
  recorded?: Promise<unknown>;
}

/** Tokens of one call, as the provider counts them. */
export type Tokens = Pick<Completion, 'inputTokens' | 'outputTokens'>;

/** The provider refused the content, and charges for the call all the same. */
export class RefusedReply extends Problem {
  constructor() {
    super('AI_PROVIDER_ERROR', 'The AI provider refused the content');
  }
}

/** The reply does not fit the schema, nor does the second one, which was asked for with a list of the mistakes. */
export class InvalidReply extends Problem {
  constructor() {
    super('AI_PROVIDER_ERROR', 'The AI provider did not reply with what was asked for');
  }
}

/** Keeps valid replies for some time, so that an equal call is not made twice. */
export interface ReplyCache {
  get(key: string): Promise<string | undefined>;
  /** Without `maxSeconds` it is kept as long as the setting says. */
  set(key: string, text: string, maxSeconds?: number): Promise<void>;
}

/** One AI provider behind its SDK. Failures are Problems with one of the AI codes; callers retry. */
export interface Provider {
  name: ProviderName;
  models: Readonly<Record<ModelTier, string>>;
  /** Identifies the key and address that it calls with. */
  account?: string;
  /** Undefined where replies are not cached. */
  replyCache?: ReplyCache | undefined;
  complete(request: CompletionRequest): Promise<Completion>;
}
