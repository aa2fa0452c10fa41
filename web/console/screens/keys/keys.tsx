import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { KeyRound } from 'lucide-react';
import { useCallback, useState } from 'react';
import { useKey } from '../../app/keys.tsx';
import { useUser } from '../../app/session-state.tsx';
import { type ApiKey, apiKeyListQuery, deleteApiKey } from '../../data/api-keys.ts';
import { canEdit, isAdmin } from '../../data/me.ts';
import { useEmails } from '../../data/names.ts';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { Badge, EmptyState } from '../../parts/feedback.tsx';
import { formatLocalDay, formatMoment } from '../../parts/format.ts';
import { Page } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import styles from './keys.module.css';
import { NewKey } from './new-key.tsx';

const route = getRouteApi('/app/keys');
const pageSize = 50;

/** The API keys of the user; an ADMIN sees everybody's. */
export function Screen() {
  const user = useUser();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useQuery(apiKeyListQuery({ page, limit: pageSize }));
  const emailOf = useEmails(list.data?.items.map(({ userId }) => userId) ?? [], isAdmin(user));
  const [isMaking, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<ApiKey>();
  const mayMake = canEdit(user);
  const make = useCallback(() => setMaking(true), []);
  useKey('n', 'New key', mayMake ? make : undefined);

  const columns: Column<ApiKey>[] = [
    {
      id: 'name',
      title: 'Name',
      width: 'minmax(10rem, 2fr)',
      cell: ({ name, lastFour }) => (
        <>
          {name} <code className={styles.ending}>…{lastFour}</code>
        </>
      ),
    },
    ...(isAdmin(user)
      ? [{ id: 'user', title: 'User', cell: ({ userId }: ApiKey) => emailOf(userId) ?? 'Another user' }]
      : []),
    { id: 'role', title: 'Role', width: '6rem', cell: ({ role }) => role },
    {
      id: 'limit',
      title: 'Calls a minute',
      width: '8rem',
      isNumber: true,
      cell: ({ requestsPerMinute }) => requestsPerMinute ?? 'General',
    },
    { id: 'createdAt', title: 'Made', width: '8rem', cell: ({ createdAt }) => formatLocalDay(createdAt) },
    {
      id: 'lastUsedAt',
      title: 'Last used',
      width: '12rem',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : formatMoment(lastUsedAt)),
    },
    { id: 'expiresAt', title: 'Ends', width: '9rem', cell: (key) => <KeyEnd apiKey={key} /> },
    {
      id: 'actions',
      title: 'Actions',
      width: '7rem',
      isTitleHidden: true,
      cell: (key) => (
        <Button look="quiet" aria-label={`Revoke ${key.name}`} onPress={() => setRevoked(key)}>
          Revoke
        </Button>
      ),
    },
  ];
  const newButton = mayMake && (
    <Button look="primary" icon={<KeyRound aria-hidden />} onPress={make}>
      New key
    </Button>
  );
  return (
    <Page title="API keys" actions={newButton}>
      <PagedTable
        query={list}
        label="API keys"
        columns={columns}
        rowKey={({ id }) => id}
        page={page}
        pageSize={pageSize}
        onPage={(next, replace) => void navigate({ search: { page: next }, replace })}
        loadingLines={5}
        empty={
          <EmptyState title="No API keys" action={newButton}>
            {mayMake
              ? 'A key lets a program call the API in your name, with a role of its own.'
              : 'Keys are made by users with the role EDITOR or ADMIN.'}
          </EmptyState>
        }
      />
      {isMaking && <NewKey onClose={() => setMaking(false)} />}
      {revoked && (
        <ConfirmDialog
          title={`Revoke “${revoked.name}”?`}
          isOpen
          onClose={() => setRevoked(undefined)}
          action="Revoke the key"
          isDangerous
          onConfirm={() => deleteApiKey(revoked.id)}
        >
          Programs that use it are refused within a second. This cannot be undone.
        </ConfirmDialog>
      )}
    </Page>
  );
}

function KeyEnd({ apiKey: { expiresAt } }: { apiKey: ApiKey }) {
  if (expiresAt === null) return 'Never';
  return Date.parse(expiresAt) <= Date.now() ? <Badge tone="warning">Ended</Badge> : formatLocalDay(expiresAt);
}
