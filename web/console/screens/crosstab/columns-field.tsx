import { ArrowLeft, ArrowRight, X } from 'lucide-react';
import { useState } from 'react';
import { mostCrosstabColumns } from '../../data/crosstab.ts';
import { IconButton } from '../../parts/button.tsx';
import { ComboBox } from '../../parts/choice-fields.tsx';
import styles from './crosstab.module.css';
import type { Variable } from './variables.ts';

interface ColumnsFieldProps {
  variables: readonly Variable[];
  /** Keys of variables, in order. */
  value: readonly string[];
  onChange(keys: string[]): void;
}

/** The variables beside one another in the columns. Each is added by picking it, moved and removed by its buttons. */
export function ColumnsField({ variables, value, onChange }: ColumnsFieldProps) {
  // Picking empties the field by a new one, which takes the focus.
  const [picks, setPicks] = useState(0);
  const labels = new Map(variables.map(({ key, label }) => [key, label]));
  const move = (index: number, by: number) => {
    const next = [...value];
    const [moved] = next.splice(index, 1);
    if (moved !== undefined) next.splice(index + by, 0, moved);
    onChange(next);
  };
  return (
    <div className={styles.columns}>
      <ComboBox
        key={picks}
        label="Columns"
        placeholder={value.length === 0 ? 'Pick a question …' : 'Add another …'}
        options={variables.filter(({ key }) => !value.includes(key)).map(({ key, label }) => ({ value: key, label }))}
        value={null}
        autoFocus={picks > 0}
        isDisabled={value.length >= mostCrosstabColumns}
        onChange={(key) => {
          if (key === null) return;
          onChange([...value, key]);
          setPicks(picks + 1);
        }}
      />
      {value.length > 0 && (
        <ol className={styles.chips} aria-label="Variables in columns">
          {value.map((key, index) => {
            const label = labels.get(key) ?? key;
            return (
              <li key={key} className={styles.chip}>
                <span title={label}>{label}</span>
                {index > 0 && (
                  <IconButton
                    label={`Move ${label} before`}
                    icon={<ArrowLeft aria-hidden className={styles.arrow} />}
                    onPress={() => move(index, -1)}
                  />
                )}
                {index < value.length - 1 && (
                  <IconButton
                    label={`Move ${label} after`}
                    icon={<ArrowRight aria-hidden className={styles.arrow} />}
                    onPress={() => move(index, 1)}
                  />
                )}
                <IconButton
                  label={`Remove ${label}`}
                  icon={<X aria-hidden />}
                  onPress={() => onChange(value.filter((other) => other !== key))}
                />
              </li>
            );
          })}
        </ol>
      )}
    </div>
  );
}
