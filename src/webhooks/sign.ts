import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secretBytes = 32;

/** A secret in the form of Standard Webhooks 1.0: `whsec_` and base64. */
export const makeSecret = (): string => prefix + randomBytes(secretBytes).toString('base64');

export interface Signable {
  webhookId: string;
  /** Whole Unix seconds of the attempt. */
  timestamp: number;
  body: string;
}

/** The headers of Standard Webhooks 1.0: HMAC-SHA-256 of `id.timestamp.body`, one signature a secret. */
export function signedHeaders(
  { webhookId, timestamp, body }: Signable,
  secrets: readonly string[],
): Record<string, string> {
  const content = `${webhookId}.${timestamp}.${body}`;
  const signature = (secret: string) =>
    `v1,${createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
      .update(content)
      .digest('base64')}`;
  return {
    'webhook-id': webhookId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(signature).join(' '),
  };
}
