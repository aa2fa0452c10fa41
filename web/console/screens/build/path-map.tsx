import { CornerDownRight, Flag, GitBranch } from 'lucide-react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { sentenceOf } from '../../conditions/condition-words.ts';
import { Sentence } from '../../conditions/sentence.tsx';
import type { Definition, Item, Question } from '../../data/questions.ts';
import { cx } from '../../parts/cx.ts';
import { rowsOf, targetText } from './outline-rows.ts';
import styles from './path-map.module.css';

interface PathMapProps {
  survey: Definition;
  selected: string | undefined;
  onSelect(id: string): void;
}

/** The way through the survey from top to bottom: pages, questions, what they depend on and where they lead. */
export function PathMap({ survey, selected, onSelect }: PathMapProps) {
  const pages = pagesOf(survey);
  return (
    <div className={styles.map}>
      <p className="muted">{sizeText(survey, pages.length)}</p>
      <ol className={styles.pages} aria-label="Path">
        {pages.map(({ id, title, visibleIf, questions }) => (
          <li key={id} className={styles.page}>
            <div className={styles.pageHead}>
              <strong dir="auto">{title}</strong>
              {visibleIf && (
                <span className={styles.rule}>
                  <GitBranch aria-hidden />
                  <span>
                    only if <Sentence words={sentenceOf(survey, visibleIf)} />
                  </span>
                </span>
              )}
            </div>
            <ol className={styles.questions}>
              {questions.map((question) => (
                <li key={question.id}>
                  <button
                    type="button"
                    className={cx(styles.question, question.id === selected && styles.selected)}
                    aria-current={question.id === selected || undefined}
                    onClick={() => onSelect(question.id)}
                  >
                    <span className={styles.number}>{survey.questions.indexOf(question) + 1}</span>
                    <span dir="auto">{readable(question.text)}</span>
                  </button>
                  <Rules survey={survey} question={question} />
                </li>
              ))}
              {questions.length === 0 && <li className="muted">No questions</li>}
            </ol>
          </li>
        ))}
        <li className={styles.end}>
          <Flag aria-hidden />
          The end
        </li>
      </ol>
    </div>
  );
}

/** How many questions, pages, conditions and skips there are. A page shows a section, or one question. */
function sizeText({ questions, sections, appearance }: Definition, sectionPages: number): string {
  const pages = appearance.pageMode === 'QUESTION' ? questions.length : sectionPages;
  const conditional = [...sections, ...questions.flatMap((question) => [question, ...itemsOf(question)])];
  const conditions = conditional.filter(({ visibleIf }) => visibleIf).length;
  const skips = questions.reduce((sum, question) => sum + question.skips.length, 0);
  const size = `${counted(questions.length, 'question')} on ${counted(pages, 'page')}`;
  return `${size}, ${counted(conditions, 'condition')}, ${counted(skips, 'skip')}.`;
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const itemsOf = ({ options, settings }: Question): Item[] => [...options, ...(settings.rows ?? [])];

function Rules({ survey, question }: { survey: Definition; question: Question }) {
  const items = itemsOf(question).filter(({ visibleIf }) => visibleIf);
  return (
    <>
      {question.visibleIf && (
        <span className={styles.rule}>
          <GitBranch aria-hidden />
          <span>
            only if <Sentence words={sentenceOf(survey, question.visibleIf)} />
          </span>
        </span>
      )}
      {items.length > 0 && (
        <span className={styles.rule}>
          <GitBranch aria-hidden />
          {items.length} of its options depend on earlier answers
        </span>
      )}
      {question.optionsFrom && (
        <span className={styles.rule}>
          <GitBranch aria-hidden />
          options from {targetText(survey, question.optionsFrom.questionId)}
        </span>
      )}
      {question.skips.map((skip, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: skips have no identity but their place.
        <span key={index} className={cx(styles.rule, styles.skip)}>
          <CornerDownRight aria-hidden />
          <span>
            if <Sentence words={sentenceOf(survey, skip.if)} />, on to {targetText(survey, skip.to)}
          </span>
        </span>
      ))}
    </>
  );
}

function pagesOf(survey: Definition) {
  const pages = [
    { id: survey.id, title: 'First page', visibleIf: null as Question['visibleIf'], questions: [] as Question[] },
  ];
  for (const row of rowsOf(survey)) {
    if (row.kind === 'section') {
      const { id, title, visibleIf } = row.section;
      pages.push({ id, title: readable(title) || 'Section without a title', visibleIf, questions: [] });
    } else if (row.kind === 'question') pages.at(-1)?.questions.push(row.question);
  }
  return pages.filter(({ id, questions }) => id !== survey.id || questions.length > 0);
}
