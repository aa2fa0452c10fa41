import { useState } from 'react';
import { ColumnChart } from '../../analytics/column-chart.tsx';
import type { SurveyStatistics } from '../../data/analytics.ts';
import { outcomeNames } from '../../data/responses.ts';
import { cx } from '../../parts/cx.ts';
import { formatCount, formatDay, formatDuration, formatPercent } from '../../parts/format.ts';
import { Card } from '../../parts/page.tsx';
import { ScrollArea } from '../../parts/scroll-area.tsx';
import styles from './results.module.css';
import { type View, ViewButton } from './view-button.tsx';

/** As many days are drawn; the table has all that have responses. */
const mostDays = 90;
const daysTitle = 'Responses by day (UTC)';
const dayMs = 24 * 60 * 60 * 1000;

/** Responses, their outcomes, how long they took, and on which days they came. */
export function Head({ statistics }: { statistics: SurveyStatistics }) {
  const { totalResponses, completeResponses, completionRate, outcomes, medianDuration, collectors } = statistics;
  const [view, setView] = useState<View>('chart');
  const ended = (['SCREENED_OUT', 'OVER_QUOTA'] as const).filter((outcome) => outcomes[outcome] > 0);
  return (
    <Card>
      <dl className={styles.figures}>
        <Figure name="Responses" value={formatCount(totalResponses)} />
        <Figure name="Complete" value={formatCount(completeResponses)} note={formatPercent(completionRate)} />
        <Figure name="Partial" value={formatCount(outcomes.PARTIAL)} />
        {ended.map((outcome) => (
          <Figure key={outcome} name={outcomeNames[outcome]} value={formatCount(outcomes[outcome])} />
        ))}
        <Figure name="Median duration" value={medianDuration === null ? '–' : formatDuration(medianDuration)} />
        {collectors.length > 1 &&
          collectors.map(({ collectorId, name, responseCount }) => (
            <Figure key={collectorId} name={name} value={formatCount(responseCount)} />
          ))}
      </dl>
      <header className={cx(styles.cardHead, styles.subtitle)}>
        <h2>{daysTitle}</h2>
        <ViewButton title={daysTitle} view={view} onView={setView} />
      </header>
      {view === 'chart' ? (
        <ColumnChart label={`Responses by day: ${daysText(statistics)}`} points={daysOf(statistics)} />
      ) : (
        <DayTable {...statistics} />
      )}
    </Card>
  );
}

function Figure({ name, value, note }: { name: string; value: string; note?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span className={styles.value}>{value}</span> {note !== undefined && <span>{note}</span>}
      </dd>
    </div>
  );
}

function DayTable({ responsesByDay }: Pick<SurveyStatistics, 'responsesByDay'>) {
  return (
    <ScrollArea label={daysTitle}>
      <table className={styles.days}>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Responses</th>
          </tr>
        </thead>
        <tbody>
          {responsesByDay.map(({ date, count }) => (
            <tr key={date}>
              <th scope="row">{formatDay(date)}</th>
              <td>{formatCount(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  );
}

/** The last days up to the last response, those without a response included. */
function daysOf({ responsesByDay }: SurveyStatistics) {
  const counts = new Map(responsesByDay.map(({ date, count }) => [date, count]));
  const [first, last] = [responsesByDay[0]?.date, responsesByDay.at(-1)?.date];
  if (first === undefined || last === undefined) return [];
  const [fromMs, toMs] = [Date.parse(first), Date.parse(last)];
  const days = Math.min(mostDays, Math.round((toMs - fromMs) / dayMs) + 1);
  return Array.from({ length: days }, (_, index) => {
    const date = new Date(toMs - (days - 1 - index) * dayMs).toISOString().slice(0, 10);
    return { key: date, label: formatDay(date), count: counts.get(date) ?? 0 };
  });
}

function daysText({ responsesByDay }: SurveyStatistics): string {
  const most = responsesByDay.reduce((best, day) => (day.count > best.count ? day : best), { date: '', count: 0 });
  if (most.count === 0) return 'none';
  return `${responsesByDay.length} days with responses, most on ${formatDay(most.date)} with ${formatCount(most.count)}`;
}
