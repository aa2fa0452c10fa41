import type { Webhook } from '../../data/webhooks.ts';
import { Badge } from '../../parts/feedback.tsx';

/** Whether the service sends to the endpoint. */
export function WebhookState({ webhook: { isActive, disabledReason, disabledAt } }: { webhook: Webhook }) {
  if (isActive && !disabledReason) return <Badge tone="success">Active</Badge>;
  if (isActive) return <Badge tone="warning">Waiting</Badge>;
  return disabledAt ? <Badge tone="error">Switched off</Badge> : <Badge>Inactive</Badge>;
}
