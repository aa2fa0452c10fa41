import type { ServiceState } from '../../data/service.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { formatCount, formatMoment } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { bytesText, refusalTexts } from './words.ts';

type Queue = NonNullable<ServiceState['queues']>[number];
type Refusal = ServiceState['refusals'][number];
type Process = ServiceState['processes'][number];

const queueNames: Readonly<Record<string, string>> = {
  webhooks: 'Webhooks',
  exports: 'Exports',
  analyses: 'AI analyses',
  ai: 'Other AI work',
};

const numbers = ['waiting', 'active', 'delayed', 'failed'] as const;

const queueColumns: readonly Column<Queue>[] = [
  { id: 'name', title: 'Queue', width: 'minmax(7rem, 1fr)', cell: ({ name }) => queueNames[name] ?? name },
  ...numbers.map((name) => ({
    id: name,
    title: name.charAt(0).toUpperCase() + name.slice(1),
    width: '5.5rem',
    isNumber: true,
    cell: (queue: Queue) => formatCount(queue[name]),
  })),
];

export function Queues({ queues }: { queues: ServiceState['queues'] }) {
  return (
    <Card title="Queues">
      {queues ? (
        <DataTable label="Queues" columns={queueColumns} rows={queues} rowKey={({ name }) => name} rowHeight={36} />
      ) : (
        <p className="muted">The Redis for jobs does not reply.</p>
      )}
    </Card>
  );
}

const refusalColumns: readonly Column<Refusal>[] = [
  { id: 'code', title: 'Code', width: 'minmax(11rem, 1fr)', cell: ({ name }) => name },
  { id: 'meaning', title: 'Meaning', width: 'minmax(10rem, 2fr)', cell: ({ name }) => refusalTexts[name] ?? '' },
  { id: 'count', title: 'Times', width: '6rem', isNumber: true, cell: ({ count: times }) => formatCount(times) },
];

interface RefusalsProps {
  refusals: ServiceState['refusals'];
  submissions: ServiceState['intake']['submissions'];
}

/** What was refused since the start, beside what came in. */
export function Refusals({ refusals, submissions }: RefusalsProps) {
  const outcomes = submissions.map(({ name, count: times }) => `${name}: ${formatCount(times)}`).join(' · ');
  return (
    <Card title="Refusals since the start">
      {refusals.length === 0 ? (
        <p className="muted">Nothing was refused.</p>
      ) : (
        <DataTable
          label="Refusals"
          columns={refusalColumns}
          rows={refusals}
          rowKey={({ name }) => name}
          rowHeight={36}
        />
      )}
      <p className="muted">Submissions: {outcomes || 'none yet'}</p>
    </Card>
  );
}

const processColumns: readonly Column<Process>[] = [
  { id: 'name', title: 'Process', cell: ({ name }) => name },
  {
    id: 'startedAt',
    title: 'Since',
    width: '13rem',
    cell: ({ startedAt }) => (startedAt === null ? '—' : formatMoment(startedAt)),
  },
  { id: 'memory', title: 'Memory', width: '8rem', isNumber: true, cell: ({ memoryBytes }) => bytesText(memoryBytes) },
  {
    id: 'requests',
    title: 'Requests',
    width: '8rem',
    isNumber: true,
    cell: ({ requests }) => formatCount(requests),
  },
];

export function Processes({ processes }: { processes: readonly Process[] }) {
  return (
    <Card title="Processes">
      <DataTable
        label="Processes"
        columns={processColumns}
        rows={processes}
        rowKey={({ name }) => name}
        rowHeight={36}
      />
    </Card>
  );
}
