import { useEffect, useState } from 'react';
import type { Question } from '../../data/questions.ts';
import { Checkbox, CheckboxGroup, Select } from '../../parts/choice-fields.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import styles from './crosstab.module.css';
import { type Measure, measureNames, measures } from './layout.ts';
import { type CrosstabSearch, correctionNames, corrections, levels, levelText } from './search.ts';
import { weightsOf } from './variables.ts';

const defaultMeasures: readonly Measure[] = ['columnPercent', 'count'];

/** The measures that the address names, in the order of the table. */
export function measuresOf({ show }: CrosstabSearch, isWeighted: boolean): Measure[] {
  const chosen = show ?? defaultMeasures;
  const found = measures.filter((name) => chosen.includes(name) && (isWeighted || name !== 'unweighted'));
  return found.length > 0 ? found : [...defaultMeasures];
}

interface CrosstabSettingsProps {
  questions: readonly Question[];
  search: CrosstabSearch;
  onChange(fields: CrosstabSearch): void;
}

/** Weights, tests, and what stands in the cells. */
export function CrosstabSettings({ questions, search, onChange }: CrosstabSettingsProps) {
  const { weight, weightKey, level = '0.95', correction = 'none', skipped = false } = search;
  const [isKeyAsked, setKeyAsked] = useState(weightKey !== undefined);
  const isKey = weight === undefined && (weightKey !== undefined || isKeyAsked);
  const isWeighted = weight !== undefined || weightKey !== undefined;
  return (
    <section className={styles.settings} aria-label="How it is counted">
      <Select
        label="Weight"
        options={[
          { value: 'none', label: 'None' },
          ...weightsOf(questions).map(({ key, label }) => ({ value: key, label })),
          { value: 'key', label: 'A key of the metadata' },
        ]}
        value={isKey ? 'key' : (weight ?? 'none')}
        onChange={(next) => {
          setKeyAsked(next === 'key');
          onChange({ weight: next === 'none' || next === 'key' ? undefined : next, weightKey: undefined });
        }}
      />
      {isKey && <WeightKey value={weightKey ?? ''} onChange={(key) => onChange({ weightKey: key || undefined })} />}
      <Select
        label="Confidence"
        options={levels.map((value) => ({ value, label: levelText(value) }))}
        value={level}
        onChange={(next) => onChange({ level: next === '0.95' ? undefined : next })}
      />
      <Select
        label="Correction"
        options={corrections.map((value) => ({ value, label: correctionNames[value] }))}
        value={correction}
        onChange={(next) => onChange({ correction: next === 'none' ? undefined : next })}
      />
      <div className={styles.shown}>
        <CheckboxGroup
          label="In the cells"
          options={measures
            .filter((name) => isWeighted || name !== 'unweighted')
            .map((value) => ({ value, label: measureNames[value] }))}
          value={measuresOf(search, isWeighted)}
          onChange={(next) =>
            onChange({ show: next.length > 0 ? measures.filter((name) => next.includes(name)) : undefined })
          }
        />
        <Checkbox isSelected={skipped} onChange={(next) => onChange({ skipped: next || undefined })}>
          Skipped as a category
        </Checkbox>
      </div>
    </section>
  );
}

/** The key is looked up when the field is left or Enter is pressed. */
function WeightKey({ value, onChange }: { value: string; onChange(key: string): void }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const send = () => {
    if (typed.trim() !== value) onChange(typed.trim());
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <TextField label="Key of the metadata" value={typed} onChange={setTyped} onBlur={send} maxLength={100} />
    </form>
  );
}
