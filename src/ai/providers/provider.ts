import { Problem } from '../../errors.ts';
import type { ProviderName } from '../../settings.ts';

/** A schema as it travels: JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The better model for writing, the cheaper one for sorting many answers. */
export type ModelTier = 'high' | 'low';

export interface Turn {
  role: 'user' | 'assistant';
  text: string;
}

export interface CompletionRequest {
  model: string;
  /** What the model is to do. Never holds anything that a respondent wrote. */
  system: string;
  turns: readonly Turn[];
  /** Letters and hyphens; names the schema for the provider. */
  schemaName: string;
  /** What the reply has to look like; an object. */
  schema: JsonSchema;
  maxOutputTokens: number;
  signal: AbortSignal;
  /** Resolves when the call is the next to go out: before, nothing is taken that others would have to do without. Rejects where it is not to go out. May be asked again. */
  near?: () => Promise<void>;
  /** Resolves when the call may go out, for which it is made ready before; rejects where it is not to. May be asked again. */
  begin?: () => Promise<void>;
  /** Is told the text of the reply piece by piece while it is written; without it the reply comes at once. A call that fails may have told a part. */
  wrote?: (piece: string) => void;
}

/** What a provider says that it counted; nothing where that is no count. */
export const countOf = (given: unknown): number =>
  typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= 1e9 ? given : 0;

export interface Completion {
  /** JSON by promise of the provider; still to be checked. */
  text: string;
  inputTokens: number;
  outputTokens: number;
  /** Resolves when the call is written down, which nobody has to wait for who has another to make. */
  noted?: Promise<unknown>;
}

/** What a call took, as the provider counts it. */
export type Tokens = Pick<Completion, 'inputTokens' | 'outputTokens'>;

/** The provider refused the content, and wants to be paid for it all the same. */
export class RefusedReply extends Problem {
  readonly tokens: Tokens;

  constructor(tokens: Tokens) {
    super('AI_PROVIDER_ERROR', 'The AI provider refused the content');
    this.tokens = tokens;
  }
}

/** What was replied is not what was asked for, nor was it when the mistakes were pointed out. */
export class InvalidReply extends Problem {
  constructor() {
    super('AI_PROVIDER_ERROR', 'The AI provider did not reply with what was asked for');
  }
}

/** Replies that were good, for a while, so that the same is not asked twice. */
export interface ReplyCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, text: string): Promise<void>;
}

/** One AI provider behind its own SDK. A failure is a Problem with one of the AI codes; retries are the caller's business. */
export interface Provider {
  name: ProviderName;
  models: Readonly<Record<ModelTier, string>>;
  /** Names the key and address that it calls with; left out where nobody else has others. */
  account?: string;
  /** Set where replies are kept. */
  replyCache?: ReplyCache | undefined;
  complete(request: CompletionRequest): Promise<Completion>;
}
