import { useQuery } from '@tanstack/react-query';
import { Ellipsis, Plus } from 'lucide-react';
import { useState } from 'react';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { type Collector, changeCollector, collectorListQuery, deleteCollector } from '../../data/collectors.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { cannotCopy, copyText } from '../../parts/copy-text.ts';
import type { Column } from '../../parts/data-table.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { Badge, type Tone } from '../../parts/feedback.tsx';
import { formatCount } from '../../parts/format.ts';
import { Menu, MenuItem, MenuSeparator } from '../../parts/menu.tsx';
import { Card } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import { CollectorForm } from './collector-form.tsx';
import { Invitations } from './invitations.tsx';
import { addressOf } from './links.ts';

const pageSize = 20;
const states: Readonly<Record<Collector['state'], { text: string; tone: Tone }>> = {
  OPEN: { text: 'Open', tone: 'success' },
  PAUSED: { text: 'Paused', tone: 'warning' },
  NOT_OPEN_YET: { text: 'Not open yet', tone: 'neutral' },
  ENDED: { text: 'Ended', tone: 'neutral' },
  QUOTA_REACHED: { text: 'Full', tone: 'neutral' },
};

/** The ways by which responses come. */
export function CollectorsCard({ survey, isReadOnly }: { survey: SurveyWithQuestions; isReadOnly: boolean }) {
  const [page, setPage] = useState(1);
  const [isMaking, setMaking] = useState(false);
  const [changed, setChanged] = useState<Collector>();
  const [deleted, setDeleted] = useState<Collector>();
  const [invited, setInvited] = useState<Collector>();
  const list = useQuery(collectorListQuery(survey.id, { page, limit: pageSize }));

  const copyLink = async ({ linkId }: Collector) => {
    const link = addressOf(survey, linkId);
    if (await copyText(link)) toast({ text: 'The link is copied.' });
    else toast({ text: `${cannotCopy} The link is ${link}`, isError: true });
  };
  const menuOf = (collector: Collector) => (
    <Menu
      label={`Actions of ${collector.name}`}
      button={<IconButton label={`Actions of ${collector.name}`} icon={<Ellipsis aria-hidden />} />}
    >
      {collector.kind === 'OPEN' ? (
        <MenuItem onAction={() => void copyLink(collector)}>Copy the link</MenuItem>
      ) : (
        <MenuItem onAction={() => setInvited(collector)}>Invitations</MenuItem>
      )}
      {!isReadOnly && <MenuItem onAction={() => setChanged(collector)}>Change</MenuItem>}
      {!isReadOnly && (
        <MenuItem
          onAction={() => void changeCollector(collector, { isActive: !collector.isActive }).catch(toastFailure)}
        >
          {collector.isActive ? 'Pause' : 'Resume'}
        </MenuItem>
      )}
      {!isReadOnly && !collector.isDefault && <MenuSeparator />}
      {!isReadOnly && !collector.isDefault && (
        <MenuItem isDangerous onAction={() => setDeleted(collector)}>
          Delete
        </MenuItem>
      )}
    </Menu>
  );
  const columns: Column<Collector>[] = [
    { id: 'name', title: 'Name', width: 'minmax(10rem, 2fr)', cell: ({ name }) => <span dir="auto">{name}</span> },
    { id: 'kind', title: 'For', width: '9rem', cell: ({ kind }) => (kind === 'OPEN' ? 'Everybody' : 'Invited people') },
    {
      id: 'state',
      title: 'State',
      width: '8rem',
      cell: ({ state }) => <Badge tone={states[state].tone}>{states[state].text}</Badge>,
    },
    {
      id: 'count',
      title: 'Complete',
      width: '8rem',
      isNumber: true,
      cell: ({ completeResponses, responseQuota }) =>
        `${completeResponses === null ? '–' : formatCount(completeResponses)}${
          responseQuota === null ? '' : ` of ${formatCount(responseQuota)}`
        }`,
    },
    { id: 'actions', title: 'Actions', width: '4rem', isTitleHidden: true, cell: menuOf },
  ];
  return (
    <Card
      title="Collectors"
      actions={
        !isReadOnly && (
          <Button icon={<Plus aria-hidden />} onPress={() => setMaking(true)}>
            New collector
          </Button>
        )
      }
    >
      <PagedTable
        query={list}
        label="Collectors"
        columns={columns}
        rowKey={({ id }) => id}
        page={page}
        pageSize={pageSize}
        onPage={setPage}
        loadingLines={3}
      />
      {isMaking && <CollectorForm surveyId={survey.id} onClose={() => setMaking(false)} />}
      {changed && <CollectorForm surveyId={survey.id} collector={changed} onClose={() => setChanged(undefined)} />}
      {invited && (
        <Invitations
          survey={survey}
          collector={invited}
          isReadOnly={isReadOnly}
          onClose={() => setInvited(undefined)}
        />
      )}
      {deleted && (
        <ConfirmDialog
          title={`Delete “${deleted.name}”?`}
          isOpen
          onClose={() => setDeleted(undefined)}
          action="Delete the collector"
          isDangerous
          onConfirm={() => deleteCollector(deleted)}
        >
          Its link takes no more responses. Those that came by it stay.
        </ConfirmDialog>
      )}
    </Card>
  );
}
