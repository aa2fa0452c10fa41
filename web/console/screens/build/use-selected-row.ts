import { getRouteApi, useLocation, useRouter } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import type { Row } from './outline-rows.ts';

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Whether the page before in the browser's history is the outline from which this editor was opened. */
    isFromOutline?: boolean;
  }
}

const route = getRouteApi('/app/surveys/$surveyId/build');

/** Whether outline and editor are shown one at a time, by the same width as in the styles. */
const isNarrow = () => matchMedia('(width < 48rem)').matches;

/** The row of the outline whose editor is shown: the one that the address names, else the first question. */
export function useSelectedRow(rows: readonly Row[]) {
  const { item } = route.useSearch();
  const navigate = route.useNavigate();
  const router = useRouter();
  const isFromOutline = useLocation({ select: ({ state }) => state.isFromOutline === true });
  /** What was shown when something was moved: it stays shown, though another question may be the first one then. */
  const [kept, setKept] = useState<string>();
  const selected =
    rows.find(({ id }) => id === (item ?? kept)) ?? rows.find(({ kind }) => kind === 'question') ?? rows[0];

  const select = useCallback(
    (id: string) => {
      const { item: shown } = router.latestLocation.search as { item?: string };
      const opensEditor = shown === undefined && isNarrow();
      void navigate({
        search: (old) => ({ ...old, item: id }),
        replace: !opensEditor,
        resetScroll: false,
        state: opensEditor ? { isFromOutline: true } : true,
      });
    },
    [navigate, router],
  );
  const keepSelected = () => setKept(selected?.id);
  const closeEditor = () => {
    if (isFromOutline) router.history.back();
    else void navigate({ search: (old) => ({ ...old, item: undefined }), replace: true, resetScroll: false });
  };
  return { selected, isNamed: item !== undefined, select, keepSelected, closeEditor };
}
