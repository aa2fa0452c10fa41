import { ListPlus, Plus, X } from 'lucide-react';
import { type Condition, levelsAtMost } from '../../../src/domain/path/definition.ts';
import type { Definition, Question } from '../data/questions.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { Checkbox, Select } from '../parts/choice-fields.tsx';
import { firstCondition } from './condition-forms.ts';
import styles from './conditions.module.css';
import { LeafEditor } from './leaf-editor.tsx';

interface ConditionEditorProps {
  survey: Definition;
  /** Those that it may name. */
  questions: readonly Question[];
  condition: Condition;
  onChange(condition: Condition): void;
  /** From 1; the service takes five levels. */
  level: number;
}

const joinOptions = [
  { value: 'all' as const, label: 'All of these hold' },
  { value: 'any' as const, label: 'At least one of these holds' },
];

/** A condition and all that lies within it; the outermost is a group. */
export function ConditionEditor({ survey, questions, condition, onChange, level }: ConditionEditorProps) {
  if ('not' in condition)
    return (
      <div className={styles.negated}>
        <span className={styles.not}>not</span>
        <ConditionEditor
          survey={survey}
          questions={questions}
          condition={condition.not}
          onChange={(not) => onChange({ not })}
          level={level + 1}
        />
      </div>
    );
  if (!('all' in condition) && !('any' in condition))
    return <LeafEditor survey={survey} questions={questions} leaf={condition} onChange={onChange} />;
  const join = 'all' in condition ? 'all' : 'any';
  const list = 'all' in condition ? condition.all : condition.any;
  const set = (next: readonly Condition[], how: 'all' | 'any' = join) =>
    onChange(how === 'all' ? { all: next } : { any: next });
  const change = (index: number, next: Condition) => set(list.map((inner, at) => (at === index ? next : inner)));
  return (
    <fieldset className={styles.group}>
      <legend className="visually-hidden">{level === 1 ? 'Condition' : 'Group of conditions'}</legend>
      <Select
        label="How the conditions are joined"
        isLabelHidden
        options={joinOptions}
        value={join}
        onChange={(how) => set(list, how)}
      />
      <ul className={styles.conditions}>
        {list.map((inner, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no identity but their place.
          <li key={index} className={styles.condition}>
            <ConditionEditor
              survey={survey}
              questions={questions}
              condition={inner}
              onChange={(next) => change(index, next)}
              level={level + 1}
            />
            <span className={styles.itemButtons}>
              <Checkbox
                isSelected={'not' in inner}
                onChange={(isNegated) => change(index, isNegated ? { not: inner } : 'not' in inner ? inner.not : inner)}
                isDisabled={!('not' in inner) && level + 1 >= levelsAtMost}
              >
                not
              </Checkbox>
              <IconButton
                label={`Remove condition ${index + 1}`}
                icon={<X aria-hidden />}
                isDisabled={list.length === 1 && level === 1}
                onPress={() => set(list.toSpliced(index, 1))}
              />
            </span>
          </li>
        ))}
      </ul>
      <div className={styles.buttons}>
        <Button look="quiet" icon={<Plus aria-hidden />} onPress={() => set([...list, firstCondition(questions)])}>
          Add condition
        </Button>
        {level + 2 <= levelsAtMost && (
          <Button
            look="quiet"
            icon={<ListPlus aria-hidden />}
            onPress={() =>
              set([
                ...list,
                join === 'all' ? { any: [firstCondition(questions)] } : { all: [firstCondition(questions)] },
              ])
            }
          >
            Add group
          </Button>
        )}
      </div>
    </fieldset>
  );
}
