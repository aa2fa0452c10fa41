import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useRouter } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useCallback, useState } from 'react';
import { useKey } from '../../app/keys.tsx';
import { useUser } from '../../app/session-state.tsx';
import { canEdit } from '../../data/me.ts';
import { type Webhook, webhookListQuery } from '../../data/webhooks.ts';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/feedback.tsx';
import { formatLocalDay } from '../../parts/format.ts';
import { Page } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { WebhookState } from './webhook-state.tsx';
import styles from './webhooks.module.css';
import { eventNames } from './words.ts';

const route = getRouteApi('/app/webhooks');
const pageSize = 50;

const columns: readonly Column<Webhook>[] = [
  {
    id: 'url',
    title: 'Address',
    width: 'minmax(16rem, 3fr)',
    cell: ({ id, url, description }) => (
      <span className={styles.address}>
        <Link to="/webhooks/$webhookId" params={{ webhookId: id }}>
          {url}
        </Link>
        {description !== null && <span className="muted">{description}</span>}
      </span>
    ),
  },
  { id: 'state', title: 'State', width: '8rem', cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    id: 'events',
    title: 'Events',
    width: 'minmax(12rem, 2fr)',
    cell: ({ events }) => events.map((event) => eventNames[event]).join(', '),
  },
  { id: 'scope', title: 'Surveys', width: '7rem', cell: ({ surveyId }) => (surveyId === null ? 'All' : 'One') },
  { id: 'createdAt', title: 'Made', width: '8rem', cell: ({ createdAt }) => formatLocalDay(createdAt) },
];

/** The endpoints that receive events. */
export function Screen() {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const router = useRouter();
  const list = useQuery(webhookListQuery({ page, limit: pageSize }));
  const [isMaking, setMaking] = useState(false);
  const make = useCallback(() => setMaking(true), []);
  const mayMake = canEdit(useUser());
  useKey('n', 'New webhook', mayMake ? make : undefined);
  const newButton = mayMake && (
    <Button look="primary" icon={<Plus aria-hidden />} onPress={make}>
      New webhook
    </Button>
  );
  return (
    <Page title="Webhooks" actions={newButton}>
      <PagedTable
        query={list}
        label="Webhooks"
        columns={columns}
        rowKey={({ id }) => id}
        rowHeight={56}
        onOpen={({ id }) => void router.navigate({ to: '/webhooks/$webhookId', params: { webhookId: id } })}
        page={page}
        pageSize={pageSize}
        onPage={(next, replace) => void navigate({ search: { page: next }, replace })}
        loadingLines={5}
        empty={
          <EmptyState title="No webhooks" action={newButton}>
            A webhook tells another system of responses, published surveys and reached quotas as they happen.
          </EmptyState>
        }
      />
      {isMaking && <WebhookForm onClose={() => setMaking(false)} />}
    </Page>
  );
}
