import { useQuery } from '@tanstack/react-query';
import { Ellipsis } from 'lucide-react';
import { useState } from 'react';
import { toast, toastFailure } from '../../app/toasts.tsx';
import {
  addMember,
  type Member,
  type MemberRole,
  memberListQuery,
  membersPageSize,
  removeMember,
  setMember,
  setOwner,
} from '../../data/members.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { Card } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './settings.module.css';

const roleOptions = [
  { value: 'EDITOR', label: 'May change it' },
  { value: 'VIEWER', label: 'May read it' },
] as const;

/** With whom a survey is shared; for its owner and an ADMIN. */
export function SharingCard({ survey: { id, title } }: { survey: SurveyWithQuestions }) {
  const [page, setPage] = useState(1);
  const list = useQuery(memberListQuery(id, page));
  const [heir, setHeir] = useState<Member>();
  const columns: Column<Member>[] = [
    { id: 'email', title: 'User', width: 'minmax(10rem, 1fr)', cell: ({ email }) => email },
    {
      id: 'role',
      title: 'Right',
      width: '11rem',
      cell: ({ userId, email, role }) => (
        <Select
          label={`Right of ${email}`}
          isLabelHidden
          options={roleOptions}
          value={role}
          onChange={(next: MemberRole) => void setMember(id, userId, next).catch(toastFailure)}
        />
      ),
    },
    {
      id: 'actions',
      title: 'Actions',
      width: '4rem',
      isTitleHidden: true,
      cell: (member) => {
        const label = `Actions of ${member.email}`;
        return (
          <Menu label={label} button={<IconButton label={label} icon={<Ellipsis aria-hidden />} />}>
            <MenuItem onAction={() => setHeir(member)}>Make the owner …</MenuItem>
            <MenuItem isDangerous onAction={() => void removeMember(id, member.userId).catch(toastFailure)}>
              End the sharing
            </MenuItem>
          </Menu>
        );
      },
    },
  ];
  return (
    <Card title="Sharing">
      <PagedTable
        query={list}
        label="Members"
        columns={columns}
        rowKey={({ userId }) => userId}
        page={page}
        pageSize={membersPageSize}
        onPage={setPage}
        loadingLines={3}
        empty={<p className="muted">Only the owner and every ADMIN see this survey.</p>}
      />
      {(list.data || list.error) && <AddMember surveyId={id} />}
      {heir && (
        <ConfirmDialog
          title={`Hand “${title}” over?`}
          isOpen
          onClose={() => setHeir(undefined)}
          action="Hand it over"
          onConfirm={() => setOwner(id, heir.userId)}
        >
          {heir.email} becomes the owner. The present owner stays as a member who may change the survey.
        </ConfirmDialog>
      )}
    </Card>
  );
}

function AddMember({ surveyId }: { surveyId: string }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<MemberRole>('VIEWER');
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      const address = email.trim();
      await addMember(surveyId, { email: address, role });
      setEmail('');
      // In a long list the row is on another page.
      toast({ text: `The survey is shared with ${address}.` });
    },
    () => ({ email: email.trim() === '' ? 'Please enter the address of a user.' : undefined }),
  );
  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <div className={styles.share}>
        <TextField
          label="Share with"
          type="email"
          autoComplete="off"
          value={email}
          onChange={setEmail}
          placeholder="colleague@example.org"
          error={errorOf('email')}
        />
        <Select label="Right" options={roleOptions} value={role} onChange={(next: MemberRole) => setRole(next)} />
        <Button type="submit" isPending={isPending}>
          Share
        </Button>
      </div>
      {problem !== undefined && <FormError>{problem}</FormError>}
    </form>
  );
}
