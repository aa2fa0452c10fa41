import { useQuery } from '@tanstack/react-query';
import { problemText } from '../../data/problems.ts';
import { type ServiceState, serviceStateQuery } from '../../data/service.ts';
import { Badge, ErrorState, FormError, Loading } from '../../parts/feedback.tsx';
import { formatCount } from '../../parts/format.ts';
import { Card, Page } from '../../parts/page.tsx';
import { DeadLettersCard } from './dead-letters-card.tsx';
import styles from './service.module.css';
import { Processes, Queues, Refusals } from './tables.tsx';
import { bytesText, durationText, reasonTexts } from './words.ts';

const time = new Intl.DateTimeFormat('en', { timeStyle: 'medium' });

/** How the service is, read again every few seconds. */
export function Screen() {
  const { data: state, error, refetch, dataUpdatedAt } = useQuery(serviceStateQuery());
  const mayHaveDeadLetters = state?.deadLetters !== 0;
  return (
    <Page
      title="Service"
      status={state && <HealthBadge health={state.health} />}
      actions={state && <span className="muted">As of {time.format(dataUpdatedAt)}</span>}
    >
      {error && !state ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !state ? (
        <Loading lines={10} />
      ) : (
        <>
          {/* Above all that a refresh makes longer: its button stays under a pointer that is about to press it. */}
          {mayHaveDeadLetters && <DeadLettersCard />}
          {error && <FormError>This is not up to date. {problemText(error).text}</FormError>}
          <Figures state={state} />
          <div className={styles.columns}>
            <Checks health={state.health} />
            <Versions state={state} />
            <Queues queues={state.queues} />
            <Refusals refusals={state.refusals} submissions={state.intake.submissions} />
          </div>
          {!mayHaveDeadLetters && <DeadLettersCard />}
          <Processes processes={state.processes} />
        </>
      )}
    </Page>
  );
}

function HealthBadge({ health: { isReady, degraded, reason } }: { health: ServiceState['health'] }) {
  if (!isReady) return <Badge tone="error">{reason === null ? 'Not ready' : reasonTexts[reason]}</Badge>;
  if (degraded.length > 0) return <Badge tone="warning">Degraded</Badge>;
  return <Badge tone="success">Takes submissions</Badge>;
}

/** The numbers that are looked at first. */
function Figures({ state: { intake, deadLetters, outbox, webhooks } }: { state: ServiceState }) {
  return (
    <dl className={styles.figures}>
      <Figure name="Lag of the intake" value={intake.lag === null ? 'Unknown' : formatCount(intake.lag)}>
        {lagText(intake)}
      </Figure>
      <Figure
        name="Memory of the intake"
        value={intake.memoryRatio === null ? 'Unknown' : `${Math.round(intake.memoryRatio * 100)} %`}
      >
        {(intake.memoryRatio ?? 0) > 0.8 ? 'Submissions are refused' : 'Refuses above 80 %'}
      </Figure>
      <Figure name="Dead letters" value={deadLetters === null ? 'Unknown' : formatCount(deadLetters)}>
        {deadLetters === 0 ? 'No response was refused' : 'Kept until they are replayed'}
      </Figure>
      <Figure name="Oldest webhook delivery" value={durationText(webhooks.oldestPendingSeconds)}>
        {webhooks.disabledEndpoints === 0
          ? 'No endpoint is switched off'
          : `Endpoints switched off: ${formatCount(webhooks.disabledEndpoints)}`}
      </Figure>
      <Figure name="Events to pass on" value={durationText(outbox.oldestSeconds)}>
        {outbox.failing === 0 ? 'None was tried in vain' : `Tried in vain: ${formatCount(outbox.failing)}`}
      </Figure>
    </dl>
  );
}

function lagText({ lag, oldestSeconds }: ServiceState['intake']): string {
  if (lag === 0) return 'Everything accepted is stored';
  return oldestSeconds === null ? 'It could not be measured' : `The oldest waits for ${durationText(oldestSeconds)}`;
}

function Figure({ name, value, children }: { name: string; value: string; children: string }) {
  return (
    <div className={styles.figure}>
      <dt>{name}</dt>
      <dd className={styles.value}>{value}</dd>
      <dd className="muted">{children}</dd>
    </div>
  );
}

const checkNames: Readonly<Record<string, string>> = {
  running: 'The process goes on',
  intake: 'Redis: the intake writes to disk',
  room: 'Redis: the intake has room',
  responses: 'ClickHouse: responses',
  storedResponses: 'ClickHouse: no damaged parts',
  controlPlane: 'PostgreSQL: surveys and users',
  jobs: 'Redis: jobs',
};

function Checks({ health: { checks } }: { health: ServiceState['health'] }) {
  return (
    <Card title="Health">
      <ul className={styles.list}>
        {Object.entries(checks).map(([name, result]) => (
          <li key={name} className={styles.line}>
            <span>{checkNames[name] ?? name}</span>
            <Badge tone={result === 'ok' ? 'success' : 'error'}>{result === 'ok' ? 'OK' : result}</Badge>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Versions({ state: { version, storeVersions, processes } }: { state: ServiceState }) {
  const memory = processes.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  const rows = [['Service', version], ...Object.entries(storeVersions), ['Memory of all processes', bytesText(memory)]];
  return (
    <Card title="Versions">
      <ul className={styles.list}>
        {rows.map(([name, value]) => (
          <li key={name} className={styles.line}>
            <span>{name}</span>
            <span>{value ?? 'Does not reply'}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
