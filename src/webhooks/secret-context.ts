/** What a sealed endpoint's secret is bound to: moved to another endpoint's row it does not open. */
export const secretContext = (webhookId: string): string => `webhook:${webhookId}`;
