import { documented, flag, integer, secondsList } from './value-kinds.ts';

export const webhookSettings = {
  WEBHOOK_ALLOW_PRIVATE: flag.default(false).meta(
    documented({
      description:
        'Allows private addresses as webhook targets and as AI endpoints that are entered in-app. For development and tests.',
    }),
  ),
  WEBHOOK_MAX_PER_SURVEY: integer(1, 10_000)
    .default(20)
    .meta(documented({ description: 'Webhooks that name the same survey; an ADMIN may create more.' })),
  WEBHOOK_MAX_PER_USER: integer(1, 100_000)
    .default(100)
    .meta(documented({ description: 'Webhooks of a user; an ADMIN may create more.' })),
  WEBHOOK_HOST_CONNECTIONS: integer(1, 10_000)
    .default(20)
    .meta(
      documented({
        description:
          'Connections of each jobs process to one host name, over all webhooks, and so requests to it at once.',
      }),
    ),
  WEBHOOK_HOST_REQUESTS_PER_SECOND: integer(1, 100_000)
    .default(500)
    .meta(
      documented({ description: 'Requests of each jobs process to one host, over all webhooks.', unit: 'a second' }),
    ),
  WEBHOOK_BUSY_REQUESTS_PER_SECOND: integer(1, 100_000)
    .default(20)
    .meta(
      documented({
        description:
          'Requests of each jobs process to all hosts together while respondents need the machine (responses come in, and more than half of its processor time is taken), and more where there is room. A batch is one request. One process makes the deliveries of events: five for each of these requests, twenty where endpoints take batches.',
        unit: 'a second',
      }),
    ),
  WEBHOOK_RETRY_SCHEDULE_SECONDS: secondsList(30 * 86_400)
    .default([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400])
    .meta(
      documented({
        description: 'Waits between the attempts of a delivery, with commas; each varies by ± 20 %.',
        unit: 'seconds',
      }),
    ),
};
