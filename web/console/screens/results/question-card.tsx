import { Copy, Download, ImageDown } from 'lucide-react';
import { memo, useEffect, useRef, useState } from 'react';
import { BarTable } from '../../analytics/bar-table.tsx';
import { ColumnChart } from '../../analytics/column-chart.tsx';
import { baseOf, baseText, blocksOf, drawingOf, factsOf } from '../../analytics/figures.ts';
import { type Group, groupedBlocks } from '../../analytics/groups.ts';
import { MatrixTable } from '../../analytics/matrix-table.tsx';
import { NpsBar } from '../../analytics/nps-bar.tsx';
import { pictureOf } from '../../analytics/picture.ts';
import { toast } from '../../app/toasts.tsx';
import type { Question } from '../../data/questions.ts';
import { IconButton } from '../../parts/button.tsx';
import { cannotCopy, copyText } from '../../parts/copy-text.ts';
import { fileName, saveFile } from '../../parts/save-file.ts';
import { csvFile } from '../../parts/sheet.ts';
import styles from './results.module.css';
import { tableLines } from './table-text.ts';
import { type View, ViewButton } from './view-button.tsx';

interface QuestionCardProps {
  question: Question;
  /** From 1. */
  number: number;
  groups: readonly Group[];
}

/** Cards that are farther from what is seen are not drawn. */
const drawnMargin = '800px';

/** A question with its base, its figures as a chart or table, and the table to take away. */
export const QuestionCard = memo(function QuestionCard({ question, number, groups }: QuestionCardProps) {
  const [view, setView] = useState<View>('chart');
  const { ref, isNear } = useNear();
  const title = `${number}. ${question.text}`;
  const [first] = groups;
  const drawing = drawingOf(question.type);
  const hasChoice = groups.length === 1 && drawing === 'columns';
  return (
    <article ref={ref} className={styles.card} aria-label={title}>
      <header className={styles.cardHead}>
        <h2 dir="auto">{title}</h2>
        <span className={styles.tools}>
          {hasChoice && <ViewButton title={title} view={view} onView={setView} />}
          <TakeAway question={question} title={title} groups={groups} />
        </span>
      </header>
      {first && (
        <p className={styles.muted}>
          {groups.map(({ key, label, statistic }) => (
            <span key={key} className={styles.base}>
              {groups.length > 1 && <strong>{label}: </strong>}
              {baseText(statistic)}
              {factsOf(statistic).map(({ label: name, text }) => ` · ${name} ${text}`)}
            </span>
          ))}
        </p>
      )}
      {first && isNear && <Figures question={question} title={title} groups={groups} view={view} />}
    </article>
  );
});

interface FiguresProps {
  question: Question;
  title: string;
  groups: readonly Group[];
  view: View;
}

function Figures({ question, title, groups, view }: FiguresProps) {
  const [first] = groups;
  const drawing = drawingOf(question.type);
  if (!first) return null;
  if (groups.length === 1 && drawing === 'matrix')
    return (
      <MatrixTable
        label={title}
        blocks={blocksOf(question, first.statistic)}
        means={first.statistic.averageByRow ?? undefined}
      />
    );
  const blocks = groupedBlocks(question, groups);
  if (blocks.every(({ rows }) => rows.length === 0)) return <p className={styles.muted}>{emptyText(groups)}</p>;
  if (groups.length === 1 && drawing === 'columns' && view === 'chart') {
    const [block] = blocksOf(question, first.statistic);
    return (
      <>
        {first.statistic.nps && first.statistic.responseCount > 0 && (
          <NpsBar nps={first.statistic.nps} base={baseOf(first.statistic)} />
        )}
        <ColumnChart
          label={`${title}: ${(block?.figures ?? []).map(({ label, value }) => `${label} ${value ?? 0}`).join(', ')}`}
          points={(block?.figures ?? []).map(({ key, label, value }) => ({ key, label, count: value ?? 0 }))}
        />
      </>
    );
  }
  return (
    <>
      {blocks.map((block) => (
        <BarTable key={block.key} label={title} block={block} groups={groups} />
      ))}
    </>
  );
}

/** Why a question has no figures: answers such as 👍 have no word that is counted. */
const emptyText = (groups: readonly Group[]): string =>
  groups.some(({ statistic }) => statistic.responseCount > 0)
    ? 'No word to count in these answers.'
    : 'No answers yet.';

function TakeAway({ question, title, groups }: Omit<FiguresProps, 'view'>) {
  const copy = async () => {
    const lines = tableLines(question, groups, '\t');
    const isCopied = await copyText(lines.map((line) => `${line}\r\n`).join(''));
    toast(isCopied ? { text: 'The table is copied.' } : { text: cannotCopy, isError: true });
  };
  const savePicture = async () => {
    const text = {
      title,
      base: groups
        .map(({ label, statistic }) => `${groups.length > 1 ? `${label}: ` : ''}${baseText(statistic)}`)
        .join(' · '),
      groups: groups.map(({ label }) => label),
    };
    saveFile(await pictureOf(text, groupedBlocks(question, groups)), fileName(title, 'png'));
  };
  const save = () => saveFile(csvFile(tableLines(question, groups, ',')), fileName(title, 'csv'));
  return (
    <>
      <IconButton label={`Copy the table of ${title}`} icon={<Copy aria-hidden />} onPress={copy} />
      <IconButton
        label={`Save ${title} as a picture`}
        icon={<ImageDown aria-hidden />}
        onPress={() => void savePicture().catch((failure: Error) => toast({ text: failure.message, isError: true }))}
      />
      <IconButton label={`Save the table of ${title} as CSV`} icon={<Download aria-hidden />} onPress={save} />
    </>
  );
}

/** Whether an element is in sight or near it. */
function useNear() {
  const ref = useRef<HTMLElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (!ref.current) return;
    const observer = new IntersectionObserver(([entry]) => setNear(entry?.isIntersecting === true), {
      rootMargin: drawnMargin,
    });
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return { ref, isNear };
}
