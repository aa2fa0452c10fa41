import { GitBranch, Pencil, Plus, X } from 'lucide-react';
import { useState } from 'react';
import { answerKindOf } from '../../../../src/domain/path/answer-kinds.ts';
import type { Condition, Skip } from '../../../../src/domain/path/definition.ts';
import { givesOptions } from '../../../../src/domain/path/operators.ts';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { sentenceOf } from '../../conditions/condition-words.ts';
import { Sentence } from '../../conditions/sentence.tsx';
import type { Definition, Question } from '../../data/questions.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Checkbox, Select } from '../../parts/choice-fields.tsx';
import styles from './build.module.css';
import { ConditionDialog } from './condition-dialog.tsx';
import { questionsBefore, rowsOf, targetText } from './outline-rows.ts';
import { typeOf } from './question-types.ts';

interface ConditionFieldProps {
  survey: Definition;
  /** Question or section that it belongs to. */
  before: string;
  /** How the sentence begins. */
  lead: string;
  /** What is said without a condition. */
  always: string;
  condition: Condition | null;
  onChange(condition: Condition | null): void;
  isReadOnly: boolean;
}

/** A condition as a sentence, with a dialog that edits it. */
export function ConditionField({ survey, before, lead, always, condition, onChange, isReadOnly }: ConditionFieldProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className={styles.logicLine}>
      <GitBranch aria-hidden />
      <span className={styles.sentence}>
        {condition ? (
          <>
            {lead} <Sentence words={sentenceOf(survey, condition)} />.
          </>
        ) : (
          <span className="muted">{always}</span>
        )}
      </span>
      {!isReadOnly && (
        <Button look="quiet" onPress={() => setOpen(true)}>
          {condition ? 'Edit condition' : 'Add condition'}
        </Button>
      )}
      {isOpen && (
        <ConditionDialog
          title={lead}
          survey={survey}
          earlier={questionsBefore(survey, before)}
          condition={condition}
          onSave={onChange}
          onClose={() => setOpen(false)}
        />
      )}
    </div>
  );
}

interface QuestionLogicProps {
  survey: Definition;
  question: Question;
  onChange(changes: Partial<Question>): void;
  isReadOnly: boolean;
}

/** When a question is asked, where it leads, and which options it takes over. */
export function QuestionLogic({ survey, question, onChange, isReadOnly }: QuestionLogicProps) {
  const section = survey.sections.find(({ id }) => id === question.sectionId);
  return (
    <section className={styles.part} aria-label="Logic">
      <h3>Logic</h3>
      <ConditionField
        survey={survey}
        before={question.id}
        lead="Show if"
        always="Asked of everybody who comes here."
        condition={question.visibleIf}
        onChange={(visibleIf) => onChange({ visibleIf })}
        isReadOnly={isReadOnly}
      />
      <Skips survey={survey} question={question} onChange={onChange} isReadOnly={isReadOnly} />
      {typeOf(question.type).takesOptions && (
        <OptionsFromField survey={survey} question={question} onChange={onChange} isReadOnly={isReadOnly} />
      )}
      {section?.isShuffled && (
        <Checkbox
          isSelected={question.isAnchored}
          onChange={(isAnchored) => onChange({ isAnchored })}
          isDisabled={isReadOnly}
        >
          Keep its place when the questions of the section are shuffled
        </Checkbox>
      )}
    </section>
  );
}

function Skips({ survey, question, onChange, isReadOnly }: QuestionLogicProps) {
  const [edited, setEdited] = useState<number>();
  const targets = targetsAfter(survey, question);
  const set = (skips: Skip[]) => onChange({ skips });
  const earlier = [...questionsBefore(survey, question.id), question];
  const skip = edited === undefined ? undefined : question.skips[edited];
  return (
    <>
      {question.skips.map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: skips have no identity but their place.
        <div key={index} className={styles.logicLine}>
          <GitBranch aria-hidden />
          <span className={styles.sentence}>
            Skip if <Sentence words={sentenceOf(survey, one.if)} />, to {targetText(survey, one.to)}.
          </span>
          {!isReadOnly && (
            <>
              <Select
                label={`Target of skip ${index + 1}`}
                isLabelHidden
                options={targets}
                value={one.to}
                onChange={(to) => set(question.skips.map((other, at) => (at === index ? { ...other, to } : other)))}
              />
              <IconButton
                label={`Edit the condition of skip ${index + 1}`}
                icon={<Pencil aria-hidden />}
                onPress={() => setEdited(index)}
              />
              <IconButton
                label={`Remove skip ${index + 1}`}
                icon={<X aria-hidden />}
                onPress={() => set(question.skips.toSpliced(index, 1))}
              />
            </>
          )}
        </div>
      ))}
      {!isReadOnly && (
        <Button look="quiet" icon={<Plus aria-hidden />} onPress={() => setEdited(question.skips.length)}>
          Add skip
        </Button>
      )}
      {edited !== undefined && (
        <ConditionDialog
          title="Skip if"
          survey={survey}
          earlier={earlier}
          condition={skip?.if ?? null}
          onSave={(condition) =>
            set(
              condition
                ? question.skips.toSpliced(edited, 1, { if: condition, to: skip?.to ?? 'END' })
                : question.skips.toSpliced(edited, 1),
            )
          }
          onClose={() => setEdited(undefined)}
        />
      )}
    </>
  );
}

/** Where a skip of a question may lead: later questions and sections, and the end. */
function targetsAfter(survey: Definition, question: Question): { value: string; label: string }[] {
  const rows = rowsOf(survey);
  const after = rows.slice(rows.findIndex(({ id }) => id === question.id) + 1);
  return [
    { value: 'END', label: 'The end' },
    { value: 'SCREEN_OUT', label: 'Screen out' },
    ...after.flatMap((row) => {
      if (row.kind === 'section')
        return [{ value: row.id, label: `Section: ${readable(row.section.title) || 'without a title'}` }];
      return row.kind === 'question' ? [{ value: row.id, label: `${row.number}. ${readable(row.question.text)}` }] : [];
    }),
  ];
}

function OptionsFromField({ survey, question, onChange, isReadOnly }: QuestionLogicProps) {
  const sources = questionsBefore(survey, question.id).filter(({ type }) => givesOptions(answerKindOf(type)));
  const { optionsFrom } = question;
  if (sources.length === 0 && !optionsFrom) return null;
  return (
    <div className={styles.optionsFrom}>
      <Select
        label="Options offered"
        options={[
          { value: '', label: 'All' },
          ...sources.map(({ id, text }) => ({ value: id, label: `Those of “${readable(text)}”` })),
        ]}
        value={optionsFrom?.questionId ?? ''}
        onChange={(questionId) =>
          onChange({
            optionsFrom: questionId === '' ? null : { questionId, which: optionsFrom?.which ?? 'selected' },
          })
        }
        isDisabled={isReadOnly}
        hint={optionsFrom ? 'Options are matched by their values; others stay only if they are anchored.' : undefined}
      />
      {optionsFrom && (
        <Select
          label="Which of them"
          options={[
            { value: 'selected', label: 'Selected there' },
            { value: 'notSelected', label: 'Not selected there' },
          ]}
          value={optionsFrom.which}
          onChange={(which) => onChange({ optionsFrom: { ...optionsFrom, which } })}
          isDisabled={isReadOnly}
        />
      )}
    </div>
  );
}
