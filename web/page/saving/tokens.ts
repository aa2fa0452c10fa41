/** Tokens of links, which leave the address bar. */
export interface Tokens {
  invitation?: string;
  surveyToken?: string;
}

export const tokenNames = ['invitation', 'surveyToken'] as const;

export const areSameTokens = (one: Tokens, other: Tokens): boolean =>
  tokenNames.every((name) => one[name] === other[name]);

const prefix = 'survey-tokens:';

/**
 * The tokens by which the survey was opened in this tab: in another one the same link may have been opened by somebody
 * else's invitation. They lie in sessionStorage under the key of the draft.
 */
export const tabTokens = {
  read(draftKey: string): Tokens | undefined {
    try {
      return JSON.parse(sessionStorage.getItem(prefix + draftKey) ?? 'null') ?? undefined;
    } catch {
      return undefined;
    }
  },
  /** False: the browser refuses it. */
  write(draftKey: string, tokens: Tokens): boolean {
    try {
      sessionStorage.setItem(prefix + draftKey, JSON.stringify(tokens));
      return true;
    } catch {
      return false;
    }
  },
  forget(draftKey: string): void {
    try {
      sessionStorage.removeItem(prefix + draftKey);
    } catch {
      // Then there are none.
    }
  },
};
