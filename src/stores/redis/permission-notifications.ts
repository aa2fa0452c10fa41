import type { PubSub } from './pub-sub.ts';

/** Whose rights have become other ones: a user's (with all sessions and keys), an API key's, or all those to a survey. */
export type PermissionChange = { userId: string } | { keyId: string } | { surveyId: string };

const channel = 'rights:changed';

/** News that make a change of rights count at once in every process. They may be lost: rights are asked for again and again anyway. */
export function createPermissionNotifications(messages: PubSub) {
  return {
    publish: (change: PermissionChange): void => messages.publish(channel, change),
    onChange: (listener: (change: PermissionChange) => void): Promise<void> =>
      messages.subscribe(channel, ({ userId, keyId, surveyId }) => {
        if (typeof userId === 'string') listener({ userId });
        else if (typeof keyId === 'string') listener({ keyId });
        else if (typeof surveyId === 'string') listener({ surveyId });
      }),
  };
}
