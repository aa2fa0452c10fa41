import type { ReactNode } from 'react';
import { DataTable, type DataTableProps } from './data-table.tsx';
import { ErrorState, Loading, StaleNote } from './feedback.tsx';
import { Paging, type PagingProps, useLastPage } from './paging.tsx';

interface PagedTableProps<Row>
  extends Omit<DataTableProps<Row>, 'rows' | 'rowCount' | 'rowsBefore' | 'isBusy'>,
    Omit<PagingProps, 'total'> {
  /** The query of a page of the list, as `useQuery` gives it. */
  query: {
    data: { items: readonly Row[]; total: number } | undefined;
    error: unknown;
    refetch(): unknown;
    /** The data are those of another page or filter, until these have come. */
    isPlaceholderData?: boolean;
  };
  /** Shown instead of a list without rows; without it an empty table is shown. */
  empty?: ReactNode;
  /** The lines of the placeholder while the first page is on its way. */
  loadingLines?: number;
}

/** A list that comes in pages, with all its states: loading, failed, empty, and the table with its pages. */
export function PagedTable<Row>(props: PagedTableProps<Row>) {
  const { query, empty, loadingLines = 5, page, pageSize, onPage, ...table } = props;
  const { data, error, refetch, isPlaceholderData = false } = query;
  const isRead = data !== undefined && !isPlaceholderData;
  const isBeyond = useLastPage(props, isRead ? { rows: data.items.length, total: data.total } : undefined);
  // That nothing fits is not known before it is read.
  if (!data || isBeyond || (isPlaceholderData && data.items.length === 0))
    return error ? <ErrorState error={error} onRetry={refetch} /> : <Loading lines={loadingLines} />;
  if (data.total === 0 && empty !== undefined)
    return (
      <>
        <StaleNote error={error} />
        {empty}
      </>
    );
  return (
    <>
      <StaleNote error={error} />
      <DataTable
        {...table}
        rows={data.items}
        rowCount={data.total}
        rowsBefore={(page - 1) * pageSize}
        isBusy={isPlaceholderData}
      />
      <Paging page={page} pageSize={pageSize} total={data.total} onPage={onPage} />
    </>
  );
}
