import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { type AuditAction, type AuditEntry, auditActions, auditQuery } from '../../data/audit.ts';
import { useSurveyOptions, useUserOptions } from '../../data/name-options.ts';
import { useEmails, useTitles } from '../../data/names.ts';
import { Button, TextButton } from '../../parts/button.tsx';
import { ComboBox } from '../../parts/choice-fields.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { DayFilter } from '../../parts/day-filter.tsx';
import { EmptyState } from '../../parts/feedback.tsx';
import { Page } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import styles from './audit.module.css';
import { EventDialog } from './event-dialog.tsx';
import { actorText, ObjectLink } from './event-object.tsx';
import { actionText, detailRows, surveyOf, userIdsOf } from './event-words.ts';

const route = getRouteApi('/app/audit');
const pageSize = 50;
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** The first moment of a day here, or of the next one. */
function startOf(day: string | undefined, plusDays = 0): string | undefined {
  if (day === undefined) return undefined;
  const start = new Date(`${day}T00:00:00`);
  start.setDate(start.getDate() + plusDays);
  return start.toISOString();
}

/** Who did what when. The address names the filters. */
export function Screen() {
  const { user, action, survey, from, to, page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useQuery(
    auditQuery({
      actorId: user,
      action: action as AuditAction | undefined,
      surveyId: survey,
      since: startOf(from),
      until: startOf(to, 1),
      page,
      limit: pageSize,
    }),
  );
  const events = list.data?.items ?? [];
  const nameOf = useEmails(events.flatMap(userIdsOf));
  const titleOf = useTitles(events.map(surveyOf).filter((id) => id !== undefined));
  const users = useUserOptions(user ?? null);
  const surveys = useSurveyOptions(survey ?? null);
  const [shown, setShown] = useState<AuditEntry>();
  const filter = (change: Record<string, string | undefined>) =>
    void navigate({ search: (old) => ({ ...old, ...change, page: undefined }) });
  const isFiltered = [user, action, survey, from, to].some((value) => value !== undefined);

  const columns: Column<AuditEntry>[] = [
    {
      id: 'at',
      title: 'When',
      width: '13rem',
      cell: (event) => <TextButton onPress={() => setShown(event)}>{moment.format(new Date(event.at))}</TextButton>,
    },
    { id: 'actor', title: 'Who', width: 'minmax(10rem, 1fr)', cell: (event) => actorText(event, nameOf) },
    { id: 'action', title: 'What', width: 'minmax(11rem, 1fr)', cell: (event) => actionText(event.action) },
    {
      id: 'object',
      title: 'About',
      width: 'minmax(10rem, 1fr)',
      cell: (event) => <ObjectLink event={event} nameOf={nameOf} titleOf={titleOf} />,
    },
    {
      id: 'details',
      title: 'Details',
      width: 'minmax(12rem, 2fr)',
      cell: (event) => (
        <span className="muted">
          {detailRows(event, nameOf)
            .map(({ name, value }) => `${name}: ${value}`)
            .join(' · ')}
        </span>
      ),
    },
  ];

  return (
    <Page title="Audit">
      <div className={styles.filters}>
        <ComboBox
          label="User"
          {...users}
          value={user ?? null}
          onChange={(next) => filter({ user: next ?? undefined })}
          placeholder="Everybody"
        />
        <ComboBox
          label="Action"
          options={actionOptions}
          value={action ?? null}
          onChange={(next) => filter({ action: next ?? undefined })}
          placeholder="Every action"
        />
        <ComboBox
          label="Survey"
          {...surveys}
          value={survey ?? null}
          onChange={(next) => filter({ survey: next ?? undefined })}
          placeholder="All surveys"
        />
        <DayFilter label="From" value={from ?? ''} onChange={(next) => filter({ from: next || undefined })} />
        <DayFilter label="To" value={to ?? ''} onChange={(next) => filter({ to: next || undefined })} />
        {isFiltered && (
          <Button look="quiet" onPress={() => void navigate({ search: {} })}>
            Clear the filters
          </Button>
        )}
      </div>
      <PagedTable
        query={list}
        label="Events"
        columns={columns}
        rowKey={({ id }) => id}
        onOpen={(event) => setShown(event)}
        page={page}
        pageSize={pageSize}
        onPage={(next, replace) => void navigate({ search: (old) => ({ ...old, page: next }), replace })}
        loadingLines={10}
        empty={
          <EmptyState title="No event fits">
            {isFiltered ? 'Try other filters or a longer time.' : 'What users and the service do stands here.'}
          </EmptyState>
        }
      />
      {shown && <EventDialog event={shown} nameOf={nameOf} titleOf={titleOf} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

const actionOptions = auditActions
  .map((value: string) => ({ value, label: actionText(value) }))
  .sort((a, b) => a.label.localeCompare(b.label));
