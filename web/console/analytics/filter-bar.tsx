import { ListFilter, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { ComboBox, Select } from '../parts/choice-fields.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { DateField } from '../parts/text-fields.tsx';
import styles from './filter-bar.module.css';
import { type AnalysisSearch, isSelecting, mostFilters } from './search.ts';
import { type FilterVariable, filterText, mostGroups } from './variables.ts';

export interface FilterBarProps {
  variables: readonly FilterVariable[];
  search: AnalysisSearch;
  /** Puts fields into the address; undefined takes one away. */
  onChange(fields: AnalysisSearch): void;
  /** Whether “Compare by” and “Percentages of” are offered, which crosstabs have otherwise. */
  hasComparison?: boolean;
  /** At the end of the bar, such as the state of the live stream. */
  children?: ReactNode;
}

const everyone = 'NONE';

/** Which responses are counted: days, filters, a comparison. It stays in sight while the page scrolls. */
export function FilterBar({ variables, search, onChange, hasComparison = false, children }: FilterBarProps) {
  const [isAdding, setAdding] = useState(false);
  const { from = '', to = '', filter: filters = [], base, compare } = search;
  const comparable = variables.filter(({ values }) => values.length > 1 && values.length <= mostGroups);
  const remove = (removed: string) => {
    const left = filters.filter((filter) => filter !== removed);
    onChange({ filter: left.length > 0 ? left : undefined });
  };
  return (
    <section className={styles.bar} aria-label="Filters">
      <div className={styles.controls}>
        <DateField label="From" value={from} max={to} onChange={(next) => onChange({ from: next || undefined })} />
        <DateField label="To" value={to} min={from} onChange={(next) => onChange({ to: next || undefined })} />
        <Button
          icon={<ListFilter aria-hidden />}
          isDisabled={filters.length >= mostFilters}
          onPress={() => setAdding(true)}
        >
          Add filter
        </Button>
        {hasComparison && (
          <>
            <div className={styles.compare}>
              <Select
                label="Compare by"
                options={[
                  { value: everyone, label: 'Nothing' },
                  ...comparable.map(({ key, label }) => ({ value: key, label })),
                ]}
                value={comparable.some(({ key }) => key === compare) ? (compare ?? everyone) : everyone}
                onChange={(next) => onChange({ compare: next === everyone ? undefined : next })}
              />
            </div>
            <Select
              label="Percentages of"
              options={[
                { value: 'answered', label: 'Those who answered' },
                { value: 'asked', label: 'Those who were asked' },
              ]}
              value={base ?? 'answered'}
              onChange={(next) => onChange({ base: next === 'asked' ? 'asked' : undefined })}
            />
          </>
        )}
        <div className={styles.end}>{children}</div>
      </div>
      {isSelecting(search) && (
        <ul className={styles.chips} aria-label="Responses that fit all of">
          {filters.map((filter) => (
            <li key={filter}>
              <Button
                icon={<X aria-hidden />}
                onPress={() => remove(filter)}
                aria-label={`Remove the filter ${filterText(variables, filter)}`}
              >
                {filterText(variables, filter)}
              </Button>
            </li>
          ))}
          <li>
            <Button look="quiet" onPress={() => onChange({ from: undefined, to: undefined, filter: undefined })}>
              Clear filters
            </Button>
          </li>
        </ul>
      )}
      {isAdding && (
        <AddFilter
          variables={variables}
          onClose={() => setAdding(false)}
          onAdd={(filter) => onChange({ filter: [...new Set([...filters, filter])] })}
        />
      )}
    </section>
  );
}

interface AddFilterProps {
  variables: readonly FilterVariable[];
  onClose(): void;
  onAdd(filter: string): void;
}

function AddFilter({ variables, onClose, onAdd }: AddFilterProps) {
  const [key, setKey] = useState<string | null>(null);
  const [value, setValue] = useState<string | null>(null);
  const variable = variables.find((known) => known.key === key);
  return (
    <Dialog title="Add filter" isOpen onClose={onClose}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (key === null || value === null) return;
          onAdd(`${key}:${value}`);
          onClose();
        }}
      >
        <ComboBox
          label="Question"
          placeholder="Pick a question …"
          options={variables.map((known) => ({ value: known.key, label: known.label }))}
          value={key}
          onChange={(next) => {
            setKey(next);
            setValue(null);
          }}
        />
        <Select
          label="Answer"
          options={variable?.values ?? []}
          isDisabled={!variable}
          value={value}
          onChange={setValue}
        />
        <DialogActions>
          <Button onPress={onClose}>Cancel</Button>
          <Button look="primary" type="submit" isDisabled={value === null}>
            Add
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
