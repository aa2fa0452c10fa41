import { createHmac, randomBytes } from 'node:crypto';
import type { Secrets } from '../platform/secrets.ts';
import type { Webhook } from '../stores/postgres/webhook-row.ts';

const prefix = 'whsec_';
const secretBytes = 32;

/** A new secret in the form of Standard Webhooks 1.0: `whsec_` and base64. */
export const makeSecret = (): string => prefix + randomBytes(secretBytes).toString('base64');

/** Binds a sealed secret to its endpoint: it cannot be opened from the row of another. */
export const secretContext = (webhookId: string): string => `webhook:${webhookId}`;

/** The secret of an endpoint was sealed under another SECRETS_KEY. */
export class UnreadableSecret extends Error {
  constructor() {
    super(
      'the secret of this endpoint was sealed under another SECRETS_KEY: rotate it, and waiting deliveries are sent',
    );
    this.name = 'UnreadableSecret';
  }
}

/**
 * The secrets that sign an endpoint's messages: the current one, and replaced ones until they expire. Throws when the
 * current one was sealed under another SECRETS_KEY; replaced ones that cannot be opened are left out.
 */
export function openSecrets(webhook: Webhook, secrets: Pick<Secrets, 'open'>, nowMs: number): string[] {
  const open = (sealed: Uint8Array): string | undefined => {
    try {
      return secrets.open(sealed, secretContext(webhook.id));
    } catch {
      return undefined;
    }
  };
  const current = open(webhook.secretSealed);
  if (current === undefined) throw new UnreadableSecret();
  const replaced = webhook.oldSecrets.filter(({ until }) => until.getTime() > nowMs);
  return [current, ...replaced.flatMap(({ sealed }) => open(sealed) ?? [])];
}

export interface Signable {
  webhookId: string;
  /** Whole Unix seconds of the attempt. */
  timestamp: number;
  body: string;
}

/** The headers of Standard Webhooks 1.0: HMAC-SHA-256 of `id.timestamp.body`, one signature for each secret. */
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
