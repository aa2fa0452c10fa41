import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Ellipsis, Plus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useMayEditSurvey, useSurveyId } from '../../app/survey-layout.tsx';
import { toastFailure } from '../../app/toasts.tsx';
import { sentenceOf, textOfWords, type Word } from '../../conditions/condition-words.ts';
import { Sentence } from '../../conditions/sentence.tsx';
import { callsForAll } from '../../data/all-of.ts';
import { subscribeLive } from '../../data/live.ts';
import { msOfCall, pollUnlessRefused, rereadMs } from '../../data/query-client.ts';
import { definitionOf } from '../../data/questions.ts';
import { changeQuota, deleteQuota, type Quota, quotaListQuery } from '../../data/quotas.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { Badge, EmptyState, ErrorState, Loading, ProgressBar, StaleNote } from '../../parts/feedback.tsx';
import { formatCount } from '../../parts/format.ts';
import { Menu, MenuItem, MenuSeparator } from '../../parts/menu.tsx';
import { Toolbar } from '../../parts/page.tsx';
import { NewGrid } from './new-grid.tsx';
import { QuotaForm } from './quota-form.tsx';
import { countsNames, whenFullNames } from './rule-fields.tsx';

/** Between two reads of the list: all its pages are read each time. */
const pauseMsOf = (quotas: readonly Quota[]): number =>
  Math.max(quotas.some(({ isCounting }) => isCounting) ? 1000 : rereadMs, callsForAll(quotas.length) * msOfCall);

/** The quotas by cell of a survey, with how full each is. */
export function Screen() {
  const surveyId = useSurveyId();
  const isEditor = useMayEditSurvey();
  const { data: survey } = useQuery(surveyQuery(surveyId));
  const {
    data: quotas,
    error,
    refetch,
  } = useQuery({
    ...quotaListQuery(surveyId),
    // The live stream says neither that counting in the background has ended, nor what somebody else renames.
    refetchInterval: (query) => pollUnlessRefused(pauseMsOf(query.state.data ?? []))(query),
  });
  const [made, setMade] = useState<'grid' | 'quota'>();
  const [edited, setEdited] = useState<Quota>();
  const [deleted, setDeleted] = useState<Quota>();
  useLiveCounts(surveyId);
  if (error && !quotas) return <ErrorState error={error} onRetry={refetch} />;
  if (!quotas || !survey) return <Loading lines={6} />;
  const definition = definitionOf(survey);

  const setActive = (quota: Quota) => changeQuota(quota, { isActive: !quota.isActive }).catch(toastFailure);
  const columns: Column<Quota>[] = [
    { id: 'name', title: 'Quota', width: 'minmax(10rem, 2fr)', cell: ({ name }) => <span dir="auto">{name}</span> },
    {
      id: 'where',
      title: 'Condition',
      width: 'minmax(10rem, 3fr)',
      cell: ({ where }) => <Where words={sentenceOf(definition, where)} />,
    },
    { id: 'filled', title: 'Filled', width: 'minmax(9rem, 1fr)', cell: (quota) => <Filled quota={quota} /> },
    {
      id: 'count',
      title: 'Responses',
      width: '9rem',
      isNumber: true,
      cell: (quota) => `${formatCount(quota.count)} of ${formatCount(quota.limit)}`,
    },
    { id: 'counts', title: 'Counts', width: '10rem', cell: ({ counts }) => countsNames[counts] },
    { id: 'whenFull', title: 'When full', width: '10rem', cell: ({ whenFull }) => whenFullNames[whenFull] },
    ...(isEditor
      ? [
          {
            id: 'actions',
            title: 'Actions',
            width: '4rem',
            isTitleHidden: true,
            cell: (quota: Quota) => (
              <Menu
                label={`Actions of ${quota.name}`}
                button={<IconButton label={`Actions of ${quota.name}`} icon={<Ellipsis aria-hidden />} />}
              >
                <MenuItem onAction={() => setEdited(quota)}>Edit</MenuItem>
                <MenuItem onAction={() => void setActive(quota)}>{quota.isActive ? 'Pause' : 'Resume'}</MenuItem>
                <MenuSeparator />
                <MenuItem isDangerous onAction={() => setDeleted(quota)}>
                  Delete
                </MenuItem>
              </Menu>
            ),
          },
        ]
      : []),
  ];
  const newButtons = isEditor && (
    <Toolbar>
      <Button look="primary" icon={<Plus aria-hidden />} onPress={() => setMade('grid')}>
        New quotas
      </Button>
      <Button icon={<Plus aria-hidden />} onPress={() => setMade('quota')}>
        New quota by condition
      </Button>
    </Toolbar>
  );
  return (
    <>
      <StaleNote error={error} />
      {quotas.length === 0 ? (
        <EmptyState title="No quotas" action={newButtons}>
          Quotas limit the responses of each cell, such as women between 18 and 39, or those for which a condition
          holds.
        </EmptyState>
      ) : (
        <>
          {newButtons}
          <DataTable label="Quotas" columns={columns} rows={quotas} rowKey={({ id }) => id} height="70vh" />
        </>
      )}
      {made === 'grid' && <NewGrid survey={survey} onClose={() => setMade(undefined)} />}
      {made === 'quota' && <QuotaForm survey={definition} onClose={() => setMade(undefined)} />}
      {edited && <QuotaForm survey={definition} quota={edited} onClose={() => setEdited(undefined)} />}
      {deleted && (
        <ConfirmDialog
          title={`Delete “${deleted.name}”?`}
          isOpen
          onClose={() => setDeleted(undefined)}
          action="Delete the quota"
          isDangerous
          onConfirm={() => deleteQuota(deleted)}
        >
          Responses that it turned away stay over quota.
        </ConfirmDialog>
      )}
    </>
  );
}

/** The sentence of a condition, which a pointer shows in full where the column is too narrow. */
const Where = ({ words }: { words: readonly Word[] }) => (
  <span title={textOfWords(words)}>
    <Sentence words={words} />
  </span>
);

function Filled({ quota: { name, isActive, isCounting, count: taken, limit } }: { quota: Quota }) {
  if (!isActive) return <Badge>Paused</Badge>;
  if (isCounting) return <Badge tone="accent">Counting …</Badge>;
  if (taken >= limit) return <Badge tone="warning">Full</Badge>;
  return <ProgressBar label={`${name}: filled`} value={taken / limit} />;
}

/** Keeps the counts of the list as the live stream says them. */
function useLiveCounts(surveyId: string): void {
  const client = useQueryClient();
  useEffect(
    () =>
      subscribeLive(surveyId, ['status'], (message) => {
        if (message.type !== 'status') return;
        const live = new Map((message.quotas ?? []).map((one) => [one.id, one]));
        const { queryKey } = quotaListQuery(surveyId);
        const active = (client.getQueryData(queryKey) ?? []).filter(({ isActive }) => isActive);
        client.setQueryData(queryKey, (old) => old?.map((quota) => ({ ...quota, ...live.get(quota.id) })));
        // Somebody else has made, changed or deleted some.
        const isOther = live.size !== active.length || active.some(({ id }) => !live.has(id));
        if (isOther) void client.invalidateQueries({ queryKey });
      }),
    [surveyId, client],
  );
}
