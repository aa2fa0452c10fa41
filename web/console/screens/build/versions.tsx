import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { toastFailure } from '../../app/toasts.tsx';
import type { Definition } from '../../data/questions.ts';
import {
  readOlderVersions,
  type SurveyVersionListItem,
  versionListQuery,
  versionQuery,
} from '../../data/survey-versions.ts';
import { Button } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import { ErrorState, Loading } from '../../parts/feedback.tsx';
import { formatCount, formatMoment } from '../../parts/format.ts';
import { type Difference, differencesOf, fieldNames } from './differences.ts';
import styles from './versions.module.css';

/** The versions of a survey, who made them, and the differences between two of them. */
export function Versions({ survey }: { survey: Definition }) {
  const [isReading, setReading] = useState(false);
  const [older, setOlder] = useState<number>();
  const [newer, setNewer] = useState<number>();
  const { data, error, refetch } = useQuery(versionListQuery(survey.id, survey.version));
  if (error && !data) return <ErrorState error={error} onRetry={refetch} />;
  if (!data) return <Loading />;
  const showOlder = async () => {
    setReading(true);
    await readOlderVersions(survey.id, survey.version).catch(toastFailure);
    setReading(false);
  };
  const [first, second] = data.items;
  const to = newer ?? first?.version;
  const from = older ?? second?.version;
  const options = data.items.map(({ version, createdAt }) => ({
    value: String(version),
    label: `Version ${version}, ${formatMoment(createdAt)}`,
  }));
  return (
    <div className={styles.versions}>
      {from !== undefined && to !== undefined && (
        <>
          <div className={styles.choice}>
            <Select label="From" options={options} value={String(from)} onChange={(next) => setOlder(Number(next))} />
            <Select label="To" options={options} value={String(to)} onChange={(next) => setNewer(Number(next))} />
          </div>
          <Differences surveyId={survey.id} from={Math.min(from, to)} to={Math.max(from, to)} />
        </>
      )}
      <h3>Versions</h3>
      <ol className={styles.list}>
        {data.items.map((item) => (
          <li key={item.version}>
            <button
              type="button"
              className={styles.item}
              aria-current={item.version === to || undefined}
              onClick={() => {
                setNewer(item.version);
                setOlder(data.items.find(({ version }) => version < item.version)?.version ?? item.version);
              }}
            >
              <strong>Version {item.version}</strong>
              <span className="muted">{formatMoment(item.createdAt)}</span>
              <span className={styles.changes}>{changesText(survey, item)}</span>
            </button>
          </li>
        ))}
      </ol>
      {data.total > data.items.length && (
        <>
          <p className="muted">
            The newest {formatCount(data.items.length)} of {formatCount(data.total)}
          </p>
          <Button isPending={isReading} onPress={() => void showOlder()}>
            Show older versions
          </Button>
        </>
      )}
    </div>
  );
}

function Differences({ surveyId, from, to }: { surveyId: string; from: number; to: number }) {
  const before = useQuery(versionQuery(surveyId, from));
  const after = useQuery(versionQuery(surveyId, to));
  const error = before.error ?? after.error;
  if (error)
    return (
      <ErrorState
        error={error}
        onRetry={() => {
          void before.refetch();
          void after.refetch();
        }}
      />
    );
  if (!before.data || !after.data) return <Loading lines={3} label="Comparing" />;
  const differences = differencesOf(before.data, after.data);
  return (
    <section aria-label="Differences" className={styles.differences}>
      {differences.length === 0 && <p className="muted">Nothing differs.</p>}
      <ul className={styles.list}>
        {differences.map((difference) => (
          <DifferenceItem key={`${difference.id} ${difference.field}`} difference={difference} />
        ))}
      </ul>
    </section>
  );
}

const kindNames = { added: 'Added', removed: 'Removed', changed: 'Changed' };

function DifferenceItem({ difference: { kind, title, field, before, after } }: { difference: Difference }) {
  return (
    <li className={styles.difference}>
      <span>
        <span className={styles.kind}>{kindNames[kind]}</span> <span dir="auto">{title}</span>
        {field !== undefined && <span className="muted">: {fieldNames[field] ?? field}</span>}
      </span>
      {kind === 'changed' && (
        <span className={styles.texts} dir="auto">
          <del>{before}</del>
          <ins>{after}</ins>
        </span>
      )}
    </li>
  );
}

const actions: Readonly<Record<string, string>> = {
  'question.created': 'added a question',
  'question.changed': 'changed a question',
  'question.deleted': 'deleted a question',
  'questions.reordered': 'moved questions',
  'section.created': 'added a section',
  'section.changed': 'changed a section',
  'section.deleted': 'deleted a section',
  'sections.reordered': 'moved sections',
  'survey.created': 'created the survey',
  'survey.duplicated': 'made the survey as a copy',
  'survey.changed': 'changed the survey',
  'ai.used': 'used AI',
};

function changesText(survey: Definition, { changes }: SurveyVersionListItem): string {
  if (changes.length === 0) return 'Not recorded';
  return changes
    .map(({ action, actorEmail, objectId, fields }) => {
      const title =
        survey.questions.find(({ id }) => id === objectId)?.text ??
        survey.sections.find(({ id }) => id === objectId)?.title;
      const what = fields.map((field) => (fieldNames[field] ?? field).toLowerCase()).join(', ');
      const about = [title === undefined ? '' : ` “${readable(title)}”`, what === '' ? '' : ` (${what})`].join('');
      return `${actorEmail ?? 'The service'} ${actions[action] ?? action}${about}`;
    })
    .join('; ');
}
