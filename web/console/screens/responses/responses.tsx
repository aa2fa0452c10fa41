import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Columns3 } from 'lucide-react';
import { useState } from 'react';
import { useUser } from '../../app/session-state.tsx';
import { useSurveyId } from '../../app/survey-layout.tsx';
import { isAdmin } from '../../data/me.ts';
import { type Outcome, outcomeNames, outcomes, responseListQuery, type StoredResponse } from '../../data/responses.ts';
import { type SurveyWithQuestions, surveyQuery } from '../../data/surveys.ts';
import { readable } from '../../data/wording.ts';
import { Button } from '../../parts/button.tsx';
import { CheckboxGroup, Select } from '../../parts/choice-fields.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { Toolbar } from '../../parts/page.tsx';
import { DateField } from '../../parts/text-fields.tsx';
import { answerText } from './answers.ts';
import { EraseRespondent } from './erase-respondent.tsx';
import { ResponseDialog } from './response-dialog.tsx';
import styles from './responses.module.css';

const route = getRouteApi('/app/surveys/$surveyId/responses');
const count = new Intl.NumberFormat('en');
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const firstQuestions = 3;

/** The stored responses of a survey, newest first. */
export function Screen(): React.ReactNode {
  const surveyId = useSurveyId();
  const user = useUser();
  const { outcome, from, to } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: survey } = useQuery(surveyQuery(surveyId));
  const list = useInfiniteQuery(responseListQuery(surveyId, { outcome, startDate: from, endDate: to }));
  const [chosen, setChosen] = useState<readonly string[]>();
  const [isChoosing, setChoosing] = useState(false);
  const [isErasing, setErasing] = useState(false);
  const [opened, setOpened] = useState<StoredResponse>();
  if (list.error && !list.data) return <ErrorState error={list.error} onRetry={list.refetch} />;
  if (!survey || !list.data) return <Loading lines={8} />;

  const all = columnsOf(survey);
  const shown = chosen ?? ['submittedAt', 'outcome', ...survey.questions.slice(0, firstQuestions).map(({ id }) => id)];
  const rows = list.data.pages.flatMap(({ items }) => items);
  const total = list.data.pages[0]?.total ?? 0;
  const isFiltered = outcome !== undefined || from !== undefined || to !== undefined;
  return (
    <>
      <Toolbar>
        <Select
          label="Outcome"
          isLabelHidden
          options={[
            { value: 'ALL', label: 'Every outcome' },
            ...outcomes.map((value) => ({ value, label: outcomeNames[value] })),
          ]}
          value={outcome ?? 'ALL'}
          onChange={(next) =>
            void navigate({
              search: (old) => ({ ...old, outcome: next === 'ALL' ? undefined : (next as Outcome) }),
            })
          }
        />
        <DateField
          label="From"
          value={from ?? ''}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, from: next || undefined }) })}
        />
        <DateField
          label="To"
          value={to ?? ''}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, to: next || undefined }) })}
        />
        <Button icon={<Columns3 aria-hidden />} onPress={() => setChoosing(true)}>
          Columns
        </Button>
        {isAdmin(user) && !survey.isAnonymous && <Button onPress={() => setErasing(true)}>Erase a respondent</Button>}
        <span className={styles.muted}>{total === 1 ? '1 response' : `${count.format(total)} responses`}</span>
      </Toolbar>
      {rows.length === 0 ? (
        <EmptyState title={isFiltered ? 'No response fits' : 'No responses yet'}>
          {isFiltered ? 'Try another outcome or other days.' : 'Responses stand here within two seconds.'}
        </EmptyState>
      ) : (
        <DataTable
          label="Responses"
          columns={all.filter(({ id }) => shown.includes(id))}
          rows={rows}
          rowKey={({ id }) => id}
          rowCount={total}
          height="65vh"
          onOpen={(response) => setOpened(response)}
        />
      )}
      {list.hasNextPage && (
        <div className={styles.more}>
          <span className={styles.muted}>{`${count.format(rows.length)} of ${count.format(total)} are loaded.`}</span>
          <Button isPending={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
      {isChoosing && (
        <Dialog title="Columns" isOpen onClose={() => setChoosing(false)}>
          <CheckboxGroup
            label="Shown"
            options={all.map(({ id, title }) => ({ value: id, label: title }))}
            value={shown}
            onChange={setChosen}
          />
          <DialogActions>
            <Button look="primary" onPress={() => setChoosing(false)}>
              Done
            </Button>
          </DialogActions>
        </Dialog>
      )}
      {isErasing && <EraseRespondent surveyId={surveyId} onClose={() => setErasing(false)} />}
      {opened && <ResponseDialog survey={survey} response={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

function columnsOf(survey: SurveyWithQuestions): Column<StoredResponse>[] {
  return [
    {
      id: 'submittedAt',
      title: 'Submitted',
      width: '12rem',
      cell: ({ submittedAt }) => moment.format(new Date(submittedAt)),
    },
    { id: 'outcome', title: 'Outcome', width: '8rem', cell: ({ outcome }) => outcomeNames[outcome] },
    ...survey.questions.map(
      (question): Column<StoredResponse> => ({
        id: question.id,
        title: readable(question.text),
        width: 'minmax(9rem, 1fr)',
        cell: ({ answers }) => (
          <span className={styles.answer} dir="auto">
            {answerText(question, answers) || '–'}
          </span>
        ),
      }),
    ),
    { id: 'language', title: 'Language', width: '6rem', cell: ({ language }) => language },
    {
      id: 'duration',
      title: 'Seconds',
      width: '6rem',
      isNumber: true,
      cell: ({ durationSeconds }) => (durationSeconds === null ? '–' : count.format(durationSeconds)),
    },
    { id: 'version', title: 'Version', width: '6rem', isNumber: true, cell: ({ surveyVersion }) => surveyVersion },
    { id: 'respondent', title: 'Respondent', cell: ({ respondent }) => respondent ?? '–' },
  ];
}
