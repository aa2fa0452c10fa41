import type { Messages } from './messages.ts';

/** Whose rights have become other ones: a user's (with all sessions and keys), an API key's, or all those to a survey. */
export type RightsChange = { userId: string } | { keyId: string } | { surveyId: string };

const channel = 'rights:changed';

/** News that make a change of rights count at once in every process. They may be lost: rights are asked for again and again anyway. */
export function createRightsNews(messages: Messages) {
  return {
    publish: (change: RightsChange): void => messages.publish(channel, change),
    onChange: (tell: (change: RightsChange) => void): Promise<void> =>
      messages.subscribe(channel, ({ userId, keyId, surveyId }) => {
        if (typeof userId === 'string') tell({ userId });
        else if (typeof keyId === 'string') tell({ keyId });
        else if (typeof surveyId === 'string') tell({ surveyId });
      }),
  };
}
