import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { exportFileTypes } from '../../../../src/domain/export-formats.ts';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { FilterBar } from '../../analytics/filter-bar.tsx';
import { useFilterVariables } from '../../analytics/use-filter-variables.ts';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { toastFailure } from '../../app/toasts.tsx';
import { deleteExport, type Export, exportFile, exportFormatNames, exportListQuery } from '../../data/exports.ts';
import { sentence } from '../../data/problems.ts';
import { definitionOf } from '../../data/questions.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { readableQuestions } from '../../data/wording.ts';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Badge, EmptyState, Loading, ProgressBar } from '../../parts/feedback.tsx';
import { formatCount, formatMoment } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import { fileName, saveFile } from '../../parts/save-file.ts';
import { ExportForm } from './export-form.tsx';
import styles from './exports.module.css';

const route = getRouteApi('/app/surveys/$surveyId/exports');
const pageSize = 20;
const size = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** Files of the responses: what the user asked for, how far it is, and the files until they end. */
export function Screen(): ReactNode {
  const surveyId = useSurveyId();
  const { page = 1, ...selection } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: survey } = useQuery(surveyQuery(surveyId));
  const list = useQuery(exportListQuery(surveyId, { page, limit: pageSize }));
  const questions = useMemo(() => (survey ? readableQuestions(definitionOf(survey).questions) : []), [survey]);
  const filters = useFilterVariables(surveyId, questions);
  if (!survey) return <Loading />;
  return (
    <>
      <FilterBar
        {...filters}
        search={selection}
        onChange={(fields) => void navigate({ search: (old) => ({ ...old, ...fields }) })}
      />
      <div className={styles.split}>
        <Card title="New file">
          <ExportForm survey={survey} selection={selection} />
        </Card>
        <Card title="Files">
          <PagedTable
            query={list}
            label="Files"
            columns={columnsOf(readable(survey.title))}
            rowKey={({ id }) => id}
            page={page}
            pageSize={pageSize}
            onPage={(next, replace) => void navigate({ search: (old) => ({ ...old, page: next }), replace })}
            loadingLines={4}
            empty={<EmptyState title="No files yet">Files that you ask for stand here for seven days.</EmptyState>}
          />
        </Card>
      </div>
    </>
  );
}

const columnsOf = (title: string): readonly Column<Export>[] => [
  { id: 'format', title: 'Format', width: '6rem', cell: ({ format }) => exportFormatNames[format] },
  {
    id: 'createdAt',
    title: 'Asked for',
    width: '12rem',
    cell: ({ createdAt }) => formatMoment(createdAt),
  },
  { id: 'state', title: 'State', width: 'minmax(12rem, 1fr)', cell: (file) => <ExportState file={file} /> },
  {
    id: 'rowCount',
    title: 'Responses',
    width: '7rem',
    isNumber: true,
    cell: ({ rowCount }) => (rowCount === null ? '–' : formatCount(rowCount)),
  },
  {
    id: 'fileSize',
    title: 'Size',
    width: '6rem',
    isNumber: true,
    cell: ({ fileSize }) => (fileSize === null ? '–' : sizeText(fileSize)),
  },
  {
    id: 'actions',
    title: 'Actions',
    width: '13rem',
    isTitleHidden: true,
    cell: (file) => <FileActions file={file} title={title} />,
  },
];

function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${size.format(bytes / 1000 ** power)} ${units[power]}`;
}

function ExportState({ file: { status, progress, error, expiresAt, format } }: { file: Export }) {
  if (status === 'PENDING') return <Badge>Waits for its turn</Badge>;
  if (status === 'PROCESSING') return <ProgressBar label={exportFormatNames[format]} value={progress} />;
  if (status === 'FAILED')
    return (
      <span className={styles.state}>
        <Badge tone="error">Failed</Badge> <span>{sentence(error ?? 'Please ask for it again')}</span>
      </span>
    );
  if (status === 'EXPIRED')
    return (
      <span className={styles.state}>
        <Badge tone="warning">Ended</Badge> {error !== null && <span>{sentence(error)}</span>}
      </span>
    );
  return (
    <span className={styles.state}>
      <Badge tone="success">Ready</Badge>
      {expiresAt && <span className={styles.muted}>until {formatMoment(expiresAt)}</span>}
    </span>
  );
}

function FileActions({ file, title }: { file: Export; title: string }) {
  const [isPending, setPending] = useState(false);
  const attempt = async (action: () => Promise<void>) => {
    setPending(true);
    try {
      await action();
    } catch (failure) {
      toastFailure(failure);
    } finally {
      setPending(false);
    }
  };
  const name = exportFormatNames[file.format];
  const { ending } = exportFileTypes[file.format];
  const of = `${name}, ${formatMoment(file.createdAt)}`;
  const isUnfinished = file.status === 'PENDING' || file.status === 'PROCESSING';
  return (
    <span className={styles.actions}>
      {file.status === 'COMPLETED' && (
        <Button
          icon={<Download aria-hidden />}
          aria-label={`Download ${of}`}
          isPending={isPending}
          onPress={() => void attempt(async () => saveFile(await exportFile(file.id), fileName(title, ending)))}
        >
          Download
        </Button>
      )}
      <Button
        look="quiet"
        aria-label={`${isUnfinished ? 'Stop' : 'Delete'} ${of}`}
        isDisabled={isPending}
        onPress={() => void attempt(() => deleteExport(file))}
      >
        {isUnfinished ? 'Stop' : 'Delete'}
      </Button>
    </span>
  );
}
