import type { Condition } from '../../../src/domain/path/definition.ts';
import type { Definition, Question } from '../data/questions.ts';
import { ConditionEditor } from './condition-editor.tsx';
import { isComplete, plainCondition } from './condition-forms.ts';
import { sentenceOf } from './condition-words.ts';
import styles from './conditions.module.css';
import { Sentence } from './sentence.tsx';

interface ConditionFormProps {
  survey: Definition;
  /** Those that the condition may name. */
  questions: readonly Question[];
  /** A group, as `asGroup` makes it. */
  condition: Condition;
  onChange(condition: Condition): void;
}

/** The fields of a condition, with the sentence that they make. */
export function ConditionForm({ survey, questions, condition, onChange }: ConditionFormProps) {
  return (
    <>
      <div className={styles.body}>
        <ConditionEditor survey={survey} questions={questions} condition={condition} onChange={onChange} level={1} />
      </div>
      <p className={styles.sentence} aria-live="polite">
        {isComplete(condition) ? (
          <Sentence words={sentenceOf(survey, plainCondition(condition))} />
        ) : (
          'The condition is not complete yet.'
        )}
      </p>
    </>
  );
}
