import { rectSortingStrategy, SortableContext, useSortable } from '@dnd-kit/sortable';
import { CSS } from '@dnd-kit/utilities';
import { ArrowLeft, ArrowRight, X } from 'lucide-react';
import { useState } from 'react';
import { mostCrosstabColumns } from '../../data/crosstab.ts';
import { IconButton } from '../../parts/button.tsx';
import { ComboBox } from '../../parts/choice-fields.tsx';
import { cx } from '../../parts/cx.ts';
import styles from './arrangement.module.css';
import type { Dragged } from './arrangement.ts';
import { DragHandle } from './drag-handle.tsx';
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
  const move = (key: string, by: number) => {
    const index = value.indexOf(key);
    onChange(value.toSpliced(index, 1).toSpliced(index + by, 0, key));
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
        <SortableContext items={value.map(chipId)} strategy={rectSortingStrategy}>
          <ol className={styles.chips} aria-label="Variables in columns">
            {value.map((key, index) => (
              <ColumnChip
                key={key}
                id={key}
                label={labels.get(key) ?? key}
                isFirst={index === 0}
                isLast={index === value.length - 1}
                onMove={(by) => move(key, by)}
                onRemove={() => onChange(value.filter((other) => other !== key))}
              />
            ))}
          </ol>
        </SortableContext>
      )}
    </div>
  );
}

const chipId = (key: string): string => `columns:${key}`;

interface ColumnChipProps {
  /** The key of the variable. */
  id: string;
  label: string;
  isFirst: boolean;
  isLast: boolean;
  onMove(by: 1 | -1): void;
  onRemove(): void;
}

function ColumnChip({ id, label, isFirst, isLast, onMove, onRemove }: ColumnChipProps) {
  const data: Dragged = { key: id, from: 'columns' };
  const { attributes, listeners, setNodeRef, transform, transition, isDragging } = useSortable({
    id: chipId(id),
    data,
  });
  return (
    <li
      ref={setNodeRef}
      className={cx(styles.chip, isDragging && styles.dragging)}
      style={{ transform: CSS.Translate.toString(transform), transition }}
    >
      <DragHandle label={label} isLabelShown attributes={attributes} listeners={listeners} />
      {!isFirst && (
        <IconButton
          label={`Move ${label} before`}
          icon={<ArrowLeft aria-hidden className={styles.arrow} />}
          onPress={() => onMove(-1)}
        />
      )}
      {!isLast && (
        <IconButton
          label={`Move ${label} after`}
          icon={<ArrowRight aria-hidden className={styles.arrow} />}
          onPress={() => onMove(1)}
        />
      )}
      <IconButton label={`Remove ${label}`} icon={<X aria-hidden />} onPress={onRemove} />
    </li>
  );
}
