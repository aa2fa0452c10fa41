import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { toast } from '../../app/toasts.tsx';
import { type DeadLetter, deadLetterListQuery, replayDeadLetters } from '../../data/service.ts';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { formatCount } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import styles from './service.module.css';

const route = getRouteApi('/app/service');
const pageSize = 20;
/** Longer lists scroll, so that the state of the service below stays in sight. */
const listHeight = '14rem';

const columns: readonly Column<DeadLetter>[] = [
  {
    id: 'response',
    title: 'Response',
    width: 'minmax(12rem, 1fr)',
    cell: ({ responseId }) => <code className={styles.id}>{responseId ?? 'Unreadable'}</code>,
  },
  {
    id: 'survey',
    title: 'Survey',
    width: 'minmax(8rem, 1fr)',
    cell: ({ surveyId }) =>
      surveyId === null ? (
        'Unknown'
      ) : (
        <Link to="/surveys/$surveyId" params={{ surveyId }} className={styles.id}>
          {surveyId}
        </Link>
      ),
  },
  {
    id: 'reason',
    title: 'Reason',
    width: 'minmax(14rem, 2fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
];

/** Accepted responses that ClickHouse refused: nothing is lost, and all can be stored again. */
export function DeadLettersCard() {
  const { page = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useQuery(deadLetterListQuery({ page, limit: pageSize }));
  const [isAsking, setAsking] = useState(false);
  const replay = async () => {
    const revived = await replayDeadLetters();
    toast({ text: `Replayed: ${formatCount(revived)}. Those that still cannot be stored come back.` });
  };
  return (
    <Card
      title="Dead letters"
      actions={
        list.data && list.data.total > 0 ? (
          <Button icon={<RotateCcw aria-hidden />} onPress={() => setAsking(true)}>
            Replay all
          </Button>
        ) : null
      }
    >
      <PagedTable
        query={list}
        label="Dead letters"
        columns={columns}
        rowKey={({ shard, id }) => `${shard} ${id}`}
        rowHeight={36}
        height={listHeight}
        page={page}
        pageSize={pageSize}
        onPage={(next, replace) => void navigate({ search: { page: next }, replace })}
        loadingLines={2}
        empty={<p className="muted">None. Accepted responses that ClickHouse refuses are kept here.</p>}
      />
      <ConfirmDialog
        title="Replay the dead letters?"
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        action="Replay"
        onConfirm={replay}
      >
        Each is stored again, at most the oldest 1,000 of every shard. Mend the cause first: those that still cannot be
        stored come back. Dead letters of deleted surveys are dropped.
      </ConfirmDialog>
    </Card>
  );
}
