import type { PubSub } from './pub-sub.ts';

/** Whose rights have changed: a user's (with all sessions and keys), an API key's, or everybody's to a survey. */
export type PermissionChange = { userId: string } | { keyId: string } | { surveyId: string };

const channel = 'rights:changed';

/**
 * Notifications that make changed rights effective at once in every process. They may be lost, since cached rights
 * expire soon.
 */
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
