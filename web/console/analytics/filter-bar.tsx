import { ListFilter, X } from 'lucide-react';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { ComboBox, Select } from '../parts/choice-fields.tsx';
import { DayFilter } from '../parts/day-filter.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import styles from './filter-bar.module.css';
import { useFoundFilters } from './found-filters.ts';
import { type AnalysisSearch, isSelecting, mostFilters } from './search.ts';
import { type FilterVariable, type FoundVariable, filterText } from './variables.ts';

interface FoundOf {
  surveyId: string;
  variables: readonly FoundVariable[];
}

interface FilterBarProps {
  variables: readonly FilterVariable[];
  /** What an AI analysis may have found in the texts of this survey; its values are read when they are offered. */
  found?: FoundOf;
  search: AnalysisSearch;
  /** Puts fields into the address; undefined takes one away. */
  onChange(fields: AnalysisSearch): void;
  /** Whether “Compare by” and “Percentages of” are offered, which crosstabs have otherwise. */
  hasComparison?: boolean;
  /** At the end of the bar, such as the state of the live stream. */
  children?: ReactNode;
}

const everyone = 'NONE';
const nothingFound: FoundOf = { surveyId: '', variables: [] };

/** Which responses are counted: days, filters, a comparison. It stays in sight while the page scrolls. */
export function FilterBar(props: FilterBarProps) {
  const { variables, found = nothingFound, search, onChange, hasComparison = false, children } = props;
  const [isAdding, setAdding] = useState(false);
  const { from = '', to = '', filter: filters = [], base, compare } = search;
  const comparable = variables.filter(({ values }) => values.length > 1);
  const bar = useRef<HTMLElement>(null);
  /** The place of a filter that was removed, until it is gone: the focus goes on to the next one. */
  const removedAt = useRef<number>(undefined);
  const remove = (removed: string) => {
    const left = filters.filter((filter) => filter !== removed);
    removedAt.current = filters.indexOf(removed);
    onChange({ filter: left.length > 0 ? left : undefined });
  };
  useLayoutEffect(() => {
    if (removedAt.current === undefined) return;
    const next = Math.min(removedAt.current, filters.length - 1);
    removedAt.current = undefined;
    const places = bar.current?.querySelectorAll<HTMLElement>(next < 0 ? '[data-add]' : '[data-chip]');
    places?.[Math.max(next, 0)]?.focus();
  }, [filters.length]);
  return (
    <section ref={bar} className={styles.bar} aria-label="Filters">
      <div className={styles.controls}>
        <DayFilter
          label="From (UTC)"
          value={from}
          max={to || undefined}
          onChange={(next) => onChange({ from: next || undefined })}
        />
        <DayFilter label="To (UTC)" value={to} min={from} onChange={(next) => onChange({ to: next || undefined })} />
        <Button
          icon={<ListFilter aria-hidden />}
          data-add
          isDisabled={filters.length >= (compare === undefined ? mostFilters : mostFilters - 1)}
          onPress={() => setAdding(true)}
        >
          Add filter
        </Button>
        {hasComparison && (
          <>
            <div className={styles.compare}>
              <Select
                label="Compare by"
                isDisabled={filters.length >= mostFilters}
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
                data-chip
                icon={<X aria-hidden />}
                onPress={() => remove(filter)}
                aria-label={`Remove the filter ${filterText(variables, filter, found.variables)}`}
              >
                {filterText(variables, filter, found.variables)}
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
          found={found}
          onClose={() => setAdding(false)}
          onAdd={(filter) => onChange({ filter: [...new Set([...filters, filter])] })}
        />
      )}
    </section>
  );
}

interface AddFilterProps {
  variables: readonly FilterVariable[];
  found: FoundOf;
  onClose(): void;
  onAdd(filter: string): void;
}

function AddFilter({ variables: known, found, onClose, onAdd }: AddFilterProps) {
  const variables = [...known, ...useFoundFilters(found.surveyId, found.variables)];
  const [key, setKey] = useState<string | null>(null);
  const [value, setValue] = useState<string | null>(null);
  const variable = variables.find((one) => one.key === key);
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
          options={variables.map((one) => ({ value: one.key, label: one.label }))}
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
