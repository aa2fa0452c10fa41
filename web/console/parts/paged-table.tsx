import type { ReactNode } from 'react';
import { DataTable, type DataTableProps } from './data-table.tsx';
import { ErrorState, Loading, StaleNote } from './feedback.tsx';
import { formatCount } from './format.ts';
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

/**
 * A list that comes in pages, with all its states: loading, failed, empty, and the table with its pages. Screen readers
 * read how many rows were found.
 */
export function PagedTable<Row>(props: PagedTableProps<Row>) {
  const { query, empty, loadingLines = 5, page, pageSize, onPage, ...table } = props;
  const { data, error, refetch, isPlaceholderData = false } = query;
  const isRead = data !== undefined && !isPlaceholderData;
  const isBeyond = useLastPage(props, isRead ? { rows: data.items.length, total: data.total } : undefined);
  const isKnown = isRead && !isBeyond;
  return (
    <>
      <span role="status" className="visually-hidden">
        {isKnown && `${table.label}: ${countText(page, pageSize, data.total)}`}
      </span>
      {!data || isBeyond || (isPlaceholderData && data.items.length === 0) ? (
        // That nothing fits is not known before it is read.
        error ? (
          <ErrorState error={error} onRetry={refetch} />
        ) : (
          <Loading lines={loadingLines} />
        )
      ) : (
        <>
          <StaleNote error={error} />
          {data.total === 0 && empty !== undefined ? (
            empty
          ) : (
            <>
              <DataTable
                {...table}
                rows={data.items}
                rowCount={data.total}
                rowsBefore={(page - 1) * pageSize}
                isBusy={isPlaceholderData}
              />
              <Paging page={page} pageSize={pageSize} total={data.total} onPage={onPage} />
            </>
          )}
        </>
      )}
    </>
  );
}

/** Pages instead of rows where there are several: a long list that grows would be read out all the time. */
const countText = (page: number, pageSize: number, total: number): string =>
  total > pageSize ? `page ${page} of ${formatCount(Math.ceil(total / pageSize))}` : formatCount(total);
