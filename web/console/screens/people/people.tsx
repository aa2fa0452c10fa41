import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Ellipsis, UserPlus } from 'lucide-react';
import { useCallback, useState } from 'react';
import { useKey } from '../../app/keys.tsx';
import { useUser } from '../../app/session-state.tsx';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { isAdmin } from '../../data/me.ts';
import { changeUser, type User, userListQuery } from '../../data/users.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Badge } from '../../parts/feedback.tsx';
import { formatLocalDay } from '../../parts/format.ts';
import { Menu, MenuItem, MenuSeparator } from '../../parts/menu.tsx';
import { Page } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import { EditUser } from './edit-user.tsx';
import { DeleteUser, DisableUser } from './end-user.tsx';
import { NewUser } from './new-user.tsx';
import { SetPassword } from './set-password.tsx';

const route = getRouteApi('/app/people');
const pageSize = 50;

type Task = 'new' | { kind: 'edit' | 'password' | 'disable' | 'delete'; user: User };

/** The users of the service. */
export function Screen() {
  const me = useUser();
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useQuery(userListQuery({ page, limit: pageSize }));
  const [task, setTask] = useState<Task>();
  const add = useCallback(() => setTask('new'), []);
  useKey('n', 'New user', isAdmin(me) ? add : undefined);
  const close = () => setTask(undefined);

  const enable = async ({ id, email }: User) => {
    try {
      await changeUser(id, { isDisabled: false });
      toast({ text: `${email} may sign in again.` });
    } catch (failure) {
      toastFailure(failure);
    }
  };

  const columns: Column<User>[] = [
    {
      id: 'email',
      title: 'E-mail',
      width: 'minmax(14rem, 2fr)',
      cell: ({ id, email }) => emailOf(email, id === me?.id),
    },
    { id: 'role', title: 'Role', width: '7rem', cell: ({ role }) => role },
    { id: 'state', title: 'State', width: '13rem', cell: (user) => <UserState user={user} /> },
    { id: 'createdAt', title: 'Since', width: '8rem', cell: ({ createdAt }) => formatLocalDay(createdAt) },
    {
      id: 'actions',
      title: 'Actions',
      width: '4rem',
      isTitleHidden: true,
      cell: (user) => {
        const label = `Actions of ${user.email}`;
        const isMe = user.id === me?.id;
        return (
          <Menu label={label} button={<IconButton label={label} icon={<Ellipsis aria-hidden />} />}>
            <MenuItem onAction={() => setTask({ kind: 'edit', user })}>Change …</MenuItem>
            <MenuItem isDisabled={isMe} onAction={() => setTask({ kind: 'password', user })}>
              Set a password …
            </MenuItem>
            <MenuSeparator />
            {user.isDisabled ? (
              <MenuItem onAction={() => void enable(user)}>Enable</MenuItem>
            ) : (
              <MenuItem isDisabled={isMe} onAction={() => setTask({ kind: 'disable', user })}>
                Disable …
              </MenuItem>
            )}
            <MenuItem isDangerous isDisabled={isMe} onAction={() => setTask({ kind: 'delete', user })}>
              Delete …
            </MenuItem>
          </Menu>
        );
      },
    },
  ];

  return (
    <Page
      title="People"
      actions={
        isAdmin(me) && (
          <Button look="primary" icon={<UserPlus aria-hidden />} onPress={add}>
            New user
          </Button>
        )
      }
    >
      <PagedTable
        query={list}
        label="Users"
        columns={columns}
        rowKey={({ id }) => id}
        page={page}
        pageSize={pageSize}
        onPage={(next, replace) => void navigate({ search: { page: next }, replace })}
        loadingLines={8}
      />
      {task === 'new' && <NewUser onClose={close} />}
      {typeof task === 'object' && <TaskDialog task={task} onClose={close} />}
    </Page>
  );
}

function TaskDialog({ task: { kind, user }, onClose }: { task: Exclude<Task, 'new'>; onClose(): void }) {
  switch (kind) {
    case 'edit':
      return <EditUser user={user} onClose={onClose} />;
    case 'password':
      return <SetPassword user={user} onClose={onClose} />;
    case 'disable':
      return <DisableUser user={user} onClose={onClose} />;
    case 'delete':
      return <DeleteUser user={user} onClose={onClose} />;
  }
}

const emailOf = (email: string, isMe: boolean): string => (isMe ? `${email} (you)` : email);

function UserState({ user: { isDisabled, mustChangePassword } }: { user: User }) {
  if (isDisabled) return <Badge tone="warning">Disabled</Badge>;
  if (mustChangePassword) return <Badge tone="accent">Given password</Badge>;
  return <Badge tone="success">Active</Badge>;
}
