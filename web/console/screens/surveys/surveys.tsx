import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useRouter } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { lazy, Suspense, useCallback, useState } from 'react';
import { deleteInAMoment, useWaitingDeletions } from '../../app/deletions.ts';
import { DialogLoading, useKey } from '../../app/keys.tsx';
import { useUser } from '../../app/session-state.tsx';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { useIsShown } from '../../app/use-is-shown.ts';
import { canEdit, isAdmin } from '../../data/me.ts';
import { useEmails } from '../../data/names.ts';
import {
  deleteSurvey,
  deleteSurveyWhileLeaving,
  duplicateSurvey,
  type SurveyListItem,
  type SurveySort,
  surveyListQuery,
} from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/feedback.tsx';
import { focusIfLost } from '../../parts/focus.ts';
import { formatCount, formatLocalDay } from '../../parts/format.ts';
import { Page, Toolbar } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import { SearchBox } from '../../parts/search-box.tsx';
import { short } from '../../parts/short.ts';
import { useStandIn } from '../../parts/use-stand-in.ts';
import type { SurveyActionsProps } from './survey-actions.tsx';
import { SurveyActionsButton } from './survey-actions-button.tsx';
import { SurveyStatusBadge } from './survey-status.tsx';
import styles from './surveys.module.css';

const route = getRouteApi('/app/surveys');
const pageSize = 50;

// What opens or filters is loaded after the list is there.
const SurveyActions = lazy(async () => ({ default: (await import('./survey-actions.tsx')).SurveyActions }));
const StatusFilter = lazy(async () => ({ default: (await import('./status-filter.tsx')).StatusFilter }));
const DeleteSurvey = lazy(async () => ({ default: (await import('./delete-survey.tsx')).DeleteSurvey }));
const NewSurvey = lazy(async () => ({ default: (await import('./new-survey.tsx')).NewSurvey }));

export function Screen() {
  const user = useUser();
  const { search, status, sort = '-createdAt', page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const router = useRouter();
  const isShown = useIsShown();
  const [isCreating, setCreating] = useState(false);
  const [toDelete, setToDelete] = useState<SurveyListItem>();
  const hidden = useWaitingDeletions();
  const query = surveyListQuery({ page, limit: pageSize, search, status, sort });
  const { data, error, refetch, isPlaceholderData } = useQuery(query);
  const owner = useOwnerName(data?.items ?? []);
  const create = useCallback(() => setCreating(true), []);
  useKey('n', 'New survey', canEdit(user) ? create : undefined);

  const duplicate = async ({ id, title }: SurveyListItem) => {
    try {
      const copy = await duplicateSurvey(id);
      toast({ text: `“${short(title)}” is copied.` });
      if (isShown()) await router.navigate({ href: `/surveys/${copy.id}/build` });
    } catch (failure) {
      toastFailure(failure);
    }
  };

  const remove = ({ id, title }: SurveyListItem) => {
    const index = rows.findIndex((row) => row.id === id);
    deleteInAMoment({
      id,
      name: title,
      send: () => deleteSurvey(id),
      sendWhileLeaving: () => deleteSurveyWhileLeaving(id),
    });
    focusIfLost(() => rowAt(index) ?? rowAt(index - 1) ?? document.getElementById('content'));
  };

  const columns: Column<SurveyListItem>[] = [
    {
      id: 'title',
      title: 'Title',
      width: 'minmax(12rem, 3fr)',
      isSortable: true,
      cell: ({ id, title }) => (
        <Link to="/surveys/$surveyId" params={{ surveyId: id }} className={styles.link} dir="auto">
          {title}
        </Link>
      ),
    },
    { id: 'status', title: 'Status', width: '7rem', cell: (survey) => <SurveyStatusBadge status={survey.status} /> },
    {
      id: 'responseCount',
      title: 'Responses',
      width: '7rem',
      isNumber: true,
      isSortable: true,
      cell: ({ responseCount }) => formatCount(responseCount),
    },
    { id: 'owner', title: 'Owner', width: 'minmax(8rem, 1fr)', cell: ({ ownerId }) => owner(ownerId) },
    {
      id: 'createdAt',
      title: 'Created',
      width: '8rem',
      isSortable: true,
      cell: ({ createdAt }) => <span className="muted">{formatLocalDay(createdAt)}</span>,
    },
    {
      id: 'actions',
      title: 'Actions',
      width: '4rem',
      isTitleHidden: true,
      cell: (survey) => (
        <SurveyMenu
          survey={survey}
          canDuplicate={canEdit(user)}
          canDelete={isAdmin(user) || (canEdit(user) && survey.ownerId === user?.id)}
          onDuplicate={() => void duplicate(survey)}
          onDelete={() => (survey.responseCount > 0 ? setToDelete(survey) : remove(survey))}
        />
      ),
    },
  ];

  const items = data?.items ?? [];
  const rows = items.filter(({ id }) => !hidden.has(id));
  const total = (data?.total ?? 0) - (items.length - rows.length);
  const isFiltered = search !== undefined || status !== undefined;
  const newButton = canEdit(user) && (
    <Button look="primary" icon={<Plus aria-hidden />} onPress={create}>
      New survey
    </Button>
  );
  return (
    <Page title="Surveys" actions={newButton}>
      <Toolbar>
        <div className={styles.search}>
          <SearchBox
            label="Search surveys"
            text={search ?? ''}
            onSearch={(text) =>
              void navigate({
                search: (old) => ({ ...old, search: text || undefined, page: undefined }),
                replace: true,
              })
            }
          />
        </div>
        <Suspense>
          <StatusFilter
            status={status}
            onChange={(next) => void navigate({ search: (old) => ({ ...old, status: next, page: undefined }) })}
          />
        </Suspense>
      </Toolbar>
      <PagedTable
        query={{ data: data && { items: rows, total }, error, refetch, isPlaceholderData }}
        label="Surveys"
        columns={columns}
        rowKey={({ id }) => id}
        page={page}
        pageSize={pageSize}
        onPage={(next, replace) => void navigate({ search: (old) => ({ ...old, page: next }), replace })}
        sort={{ column: sort.replace('-', ''), isDescending: sort.startsWith('-') }}
        onSort={({ column, isDescending }) =>
          void navigate({
            search: (old) => ({
              ...old,
              sort: `${isDescending ? '-' : ''}${column}` as SurveySort,
              page: undefined,
            }),
          })
        }
        onOpen={({ id }) => void router.navigate({ to: '/surveys/$surveyId', params: { surveyId: id } })}
        loadingLines={8}
        empty={
          <EmptyState title={isFiltered ? 'No survey fits' : 'No surveys yet'} action={!isFiltered && newButton}>
            {isFiltered
              ? 'Try another search or status.'
              : 'Surveys that you make or that are shared with you stand here.'}
          </EmptyState>
        }
      />
      <Suspense fallback={<DialogLoading />}>
        {isCreating && <NewSurvey onClose={() => setCreating(false)} />}
        {toDelete && (
          <DeleteSurvey survey={toDelete} onDelete={() => remove(toDelete)} onClose={() => setToDelete(undefined)} />
        )}
      </Suspense>
    </Page>
  );
}

const rowAt = (index: number) => document.querySelector<HTMLElement>(`[data-row="${index}"]`);

function SurveyMenu(props: Omit<SurveyActionsProps, 'early'>) {
  const { early, handlers } = useStandIn();
  return (
    <Suspense fallback={<SurveyActionsButton survey={props.survey} handlers={handlers} />}>
      <SurveyActions {...props} early={early} />
    </Suspense>
  );
}

/** The name of an owner: addresses of others are known to an ADMIN only. */
function useOwnerName(surveys: readonly SurveyListItem[]): (ownerId: string) => string {
  const user = useUser();
  const emailOf = useEmails(
    surveys.map(({ ownerId }) => ownerId),
    isAdmin(user),
  );
  return (ownerId) => (ownerId === user?.id ? 'You' : (emailOf(ownerId) ?? 'Another user'));
}
