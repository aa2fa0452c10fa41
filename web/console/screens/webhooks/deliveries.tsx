import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { toast, toastFailure } from '../../app/toasts.tsx';
import {
  type Delivery,
  type DeliveryStatus,
  deliveryListQuery,
  deliveryStatuses,
  redeliver,
  type WebhookEvent,
  webhookEvents,
} from '../../data/webhooks.ts';
import { Button, ignoreSecondClick, TextButton } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Badge, EmptyState } from '../../parts/feedback.tsx';
import { Card, Toolbar } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import styles from './webhooks.module.css';
import { deliveryStates, eventNames } from './words.ts';

const route = getRouteApi('/app/webhooks/$webhookId');
const pageSize = 50;
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const timeOf = (text: string | null | undefined): string => (text ? moment.format(new Date(text)) : '–');

const everyStatus = { value: 'ALL' as const, label: 'Every state' };
const everyEvent = { value: 'ALL' as const, label: 'Every event' };

/** The deliveries of a webhook; the list follows what the service sends. */
export function Deliveries({ webhookId }: { webhookId: string }) {
  const { status, event, page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useQuery(deliveryListQuery(webhookId, { page, limit: pageSize, status, event }));
  const [opened, setOpened] = useState<Delivery>();
  // The list moves on while a delivery is read, which stays as it was listed last.
  const shown = opened && (list.data?.items.find(({ id }) => id === opened.id) ?? opened);
  if (shown !== opened) setOpened(shown);

  const sendAgain = async ({ id }: Delivery) => {
    try {
      await redeliver(webhookId, id);
      toast({ text: 'The event is sent again.' });
    } catch (failure) {
      toastFailure(failure);
    }
  };
  const columns: Column<Delivery>[] = [
    {
      id: 'createdAt',
      title: 'When',
      width: '13rem',
      cell: (delivery) => <TextButton onPress={() => setOpened(delivery)}>{timeOf(delivery.createdAt)}</TextButton>,
    },
    { id: 'event', title: 'Event', width: 'minmax(11rem, 1fr)', cell: (delivery) => eventNames[delivery.event] },
    { id: 'status', title: 'State', width: '8rem', cell: ({ status: state }) => <DeliveryState status={state} /> },
    {
      id: 'last',
      title: 'Last reply',
      width: 'minmax(12rem, 2fr)',
      cell: ({ attempts }) => <span className="muted">{replyOf(attempts.at(-1))}</span>,
    },
    {
      id: 'attempts',
      title: 'Attempts',
      width: '6rem',
      isNumber: true,
      cell: ({ attempts }) => attempts.length,
    },
    {
      id: 'actions',
      title: 'Actions',
      width: '8rem',
      isTitleHidden: true,
      cell: (delivery) => (
        <Button
          look="quiet"
          isDisabled={isUntried(delivery)}
          aria-label={`Send again: ${eventNames[delivery.event]}, ${timeOf(delivery.createdAt)}`}
          onClickCapture={ignoreSecondClick}
          onPress={() => void sendAgain(delivery)}
        >
          Send again
        </Button>
      ),
    },
  ];
  return (
    <Card title="Deliveries">
      <Toolbar>
        <Select
          label="State"
          isLabelHidden
          options={[everyStatus, ...deliveryStatuses.map((value) => ({ value, label: deliveryStates[value].name }))]}
          value={status ?? 'ALL'}
          onChange={(next: DeliveryStatus | 'ALL') =>
            void navigate({ search: (old) => ({ ...old, status: next === 'ALL' ? undefined : next, page: undefined }) })
          }
        />
        <Select
          label="Event"
          isLabelHidden
          options={[everyEvent, ...webhookEvents.map((value) => ({ value, label: eventNames[value] }))]}
          value={event ?? 'ALL'}
          onChange={(next: WebhookEvent | 'ALL') =>
            void navigate({ search: (old) => ({ ...old, event: next === 'ALL' ? undefined : next, page: undefined }) })
          }
        />
      </Toolbar>
      <PagedTable
        query={list}
        label="Deliveries"
        columns={columns}
        rowKey={({ id }) => id}
        onOpen={(delivery) => setOpened(delivery)}
        page={page}
        pageSize={pageSize}
        onPage={(next, replace) => void navigate({ search: (old) => ({ ...old, page: next }), replace })}
        loadingLines={4}
        empty={
          <EmptyState title={status || event ? 'No delivery fits' : 'No deliveries yet'}>
            {status || event ? 'Try another state or event.' : 'Send a test, or wait for the first event.'}
          </EmptyState>
        }
      />
      {shown && (
        <DeliveryDialog delivery={shown} onClose={() => setOpened(undefined)} onAgain={() => void sendAgain(shown)} />
      )}
    </Card>
  );
}

/** It is sent anyway as soon as the endpoint's turn comes. */
const isUntried = ({ attempts }: Delivery): boolean => attempts.length === 0;

type Attempt = Delivery['attempts'][number];

const replyOf = (attempt: Attempt | undefined): string => {
  if (!attempt) return 'Not tried yet';
  const { httpStatus, error, latencyMs } = attempt;
  const result = httpStatus === null ? (error ?? 'No reply') : `Status ${httpStatus}`;
  return `${result} after ${Math.round(latencyMs)} ms`;
};

function DeliveryState({ status }: { status: DeliveryStatus }) {
  const { name, tone } = deliveryStates[status];
  return <Badge tone={tone}>{name}</Badge>;
}

/** A delivery with every attempt, the latest first. */
function DeliveryDialog({ delivery, onClose, onAgain }: { delivery: Delivery; onClose(): void; onAgain(): void }) {
  const { id, event, status, attempts, nextAttemptAt } = delivery;
  return (
    <Dialog title={eventNames[event]} isOpen onClose={onClose} isWide>
      <p>
        <DeliveryState status={status} /> <code>{id}</code>
        {nextAttemptAt !== null && <span className="muted"> · next attempt {timeOf(nextAttemptAt)}</span>}
      </p>
      <ol reversed className={styles.attempts} aria-label="Attempts">
        {[...attempts].reverse().map((attempt) => (
          <li key={attempt.at}>
            <strong>{timeOf(attempt.at)}</strong> {replyOf(attempt)}
            {attempt.error !== null && attempt.httpStatus !== null && <p>{attempt.error}</p>}
            {attempt.response && (
              // Replies can be long: the area scrolls, by the keyboard too.
              // biome-ignore lint/a11y/noNoninteractiveTabindex: an area that scrolls must be reachable
              <pre className={styles.reply} tabIndex={0} dir="auto">
                {attempt.response}
              </pre>
            )}
          </li>
        ))}
      </ol>
      {attempts.length === 0 && <p className="muted">Not tried yet.</p>}
      <DialogActions>
        <Button onPress={onClose}>Close</Button>
        <Button look="primary" isDisabled={isUntried(delivery)} onClickCapture={ignoreSecondClick} onPress={onAgain}>
          Send again
        </Button>
      </DialogActions>
    </Dialog>
  );
}
