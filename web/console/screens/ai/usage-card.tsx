import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { aiProviderNames } from '../../data/ai-jobs.ts';
import { type AiUsage, aiUsageQuery } from '../../data/ai-settings.ts';
import { Select } from '../../parts/choice-fields.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ErrorState, Loading } from '../../parts/feedback.tsx';
import { formatCount } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import styles from './ai.module.css';

type Days = '7' | '30' | '90' | '365';
const spans = [
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: '90', label: 'Last 90 days' },
  { value: '365', label: 'Last year' },
] as const satisfies readonly { value: Days; label: string }[];
const dayMs = 24 * 60 * 60 * 1000;

const money = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 4 });
/** Null: no price of the models is known. */
const costOf = (costUsd: number | null): string => (costUsd === null ? 'Unknown' : money.format(costUsd));

type Day = AiUsage['byDay'][number];
type Model = AiUsage['byModel'][number];
type Counters = Pick<AiUsage, 'calls' | 'failedCalls' | 'inputTokens' | 'outputTokens' | 'costUsd'>;
const counterColumns = <Row extends Counters>(): Column<Row>[] => [
  { id: 'calls', title: 'Calls', width: '6rem', isNumber: true, cell: ({ calls }) => formatCount(calls) },
  {
    id: 'failed',
    title: 'Failed',
    width: '6rem',
    isNumber: true,
    cell: ({ failedCalls }) => formatCount(failedCalls),
  },
  {
    id: 'tokens',
    title: 'Tokens in / out',
    width: '12rem',
    isNumber: true,
    cell: ({ inputTokens, outputTokens }) => `${formatCount(inputTokens)} / ${formatCount(outputTokens)}`,
  },
  { id: 'cost', title: 'Cost', width: '8rem', isNumber: true, cell: ({ costUsd }) => costOf(costUsd) },
];

/** Calls to AI providers with their cost, by day and by model. */
export function UsageCard() {
  const [days, setDays] = useState<Days>('30');
  // Today is one of them.
  const startDate = new Date(Date.now() - (Number(days) - 1) * dayMs).toISOString().slice(0, 10);
  const { data, error, refetch } = useQuery(aiUsageQuery(startDate));
  return (
    <Card
      title="Usage"
      actions={
        <Select label="Time" isLabelHidden options={spans} value={days} onChange={(next: Days) => setDays(next)} />
      }
    >
      {error && !data ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading lines={3} />
      ) : data.calls === 0 ? (
        <p className="muted">No calls in this time.</p>
      ) : (
        <>
          <p>
            {formatCount(data.calls)} calls, {costOf(data.costUsd)}
            {data.unpricedCalls > 0 && data.costUsd !== null && (
              <span className="muted"> and {formatCount(data.unpricedCalls)} calls of unknown price</span>
            )}
          </p>
          <div className={styles.tables}>
            <DataTable
              label="Usage by day"
              columns={[
                {
                  id: 'day',
                  title: 'Day',
                  width: 'minmax(8rem, 1fr)',
                  cell: ({ day }: Day) => day,
                },
                ...counterColumns<Day>(),
              ]}
              rows={[...data.byDay].reverse()}
              rowKey={({ day }) => day}
              rowHeight={36}
            />
            <DataTable
              label="Usage by model"
              columns={[
                {
                  id: 'model',
                  title: 'Model',
                  width: 'minmax(12rem, 1fr)',
                  cell: ({ provider, model }: Model) => `${aiProviderNames[provider]} ${model}`,
                },
                ...counterColumns<Model>(),
              ]}
              rows={data.byModel}
              rowKey={({ provider, model }) => `${provider} ${model}`}
              rowHeight={36}
            />
          </div>
        </>
      )}
    </Card>
  );
}
