import {
  type Announcements,
  DndContext,
  type DragEndEvent,
  DragOverlay,
  type DragStartEvent,
  KeyboardSensor,
  MouseSensor,
  pointerWithin,
  rectIntersection,
  TouchSensor,
  useDraggable,
  useDroppable,
  useSensor,
  useSensors,
} from '@dnd-kit/core';
import { sortableKeyboardCoordinates } from '@dnd-kit/sortable';
import { ArrowLeftRight, GripVertical } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { IconButton } from '../../parts/button.tsx';
import { ComboBox } from '../../parts/choice-fields.tsx';
import { cx } from '../../parts/cx.ts';
import styles from './arrangement.module.css';
import { type Arrangement, type Dragged, dropped, type Target } from './arrangement.ts';
import { ColumnsField } from './columns-field.tsx';
import { DragHandle } from './drag-handle.tsx';
import { QuestionList } from './question-list.tsx';
import type { Variable } from './variables.ts';

interface ArrangementFieldsProps {
  variables: readonly Variable[];
  value: Arrangement;
  onChange(value: Arrangement): void;
}

/** Which variables stand in rows and columns: picked, or dragged with the pointer or the keyboard. */
export function ArrangementFields({ variables, value, onChange }: ArrangementFieldsProps) {
  const [dragged, setDragged] = useState<Dragged>();
  const sensors = useSensors(
    useSensor(MouseSensor, { activationConstraint: { distance: 6 } }),
    // A finger that moves at once scrolls the list.
    useSensor(TouchSensor, { activationConstraint: { delay: 200, tolerance: 8 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const labels = new Map(variables.map(({ key, label }) => [key, label]));
  const labelOf = (key: string | undefined) => (key === undefined ? '' : (labels.get(key) ?? key));
  const { rows, columns } = value;
  const [first] = columns;
  const onDragEnd = ({ active, over }: DragEndEvent) => {
    setDragged(undefined);
    if (!over) return;
    const next = dropped(value, active.data.current as Dragged, targetOf(over));
    if (next !== value) onChange(next);
  };
  return (
    <DndContext
      sensors={sensors}
      // Small targets lie within large ones: the pointer says which is meant, and keys have no pointer.
      collisionDetection={(args) => innermost(args.pointerCoordinates ? pointerWithin(args) : rectIntersection(args))}
      accessibility={{ announcements: announcementsOf(labelOf), screenReaderInstructions: instructions }}
      onDragStart={({ active }: DragStartEvent) => setDragged(active.data.current as Dragged)}
      onDragCancel={() => setDragged(undefined)}
      onDragEnd={onDragEnd}
    >
      <section className={styles.picks} aria-label="What is crossed">
        <Zone name="rows">
          <div className={styles.rows}>
            <ComboBox
              label="Rows"
              placeholder="Pick a question …"
              options={variables.map(({ key, label }) => ({ value: key, label }))}
              value={rows ?? null}
              onChange={(key) => onChange({ rows: key ?? undefined, columns })}
            />
            {rows !== undefined && <RowsHandle rows={rows} label={labelOf(rows)} />}
          </div>
        </Zone>
        <IconButton
          label="Swap rows and columns"
          icon={<ArrowLeftRight aria-hidden />}
          isDisabled={rows === undefined || first === undefined || columns.includes(rows)}
          onPress={() => rows !== undefined && onChange({ rows: first, columns: [rows, ...columns.slice(1)] })}
        />
        <Zone name="columns">
          <ColumnsField variables={variables} value={columns} onChange={(next) => onChange({ rows, columns: next })} />
        </Zone>
      </section>
      <QuestionList variables={variables} />
      <DragOverlay dropAnimation={null}>
        {dragged && (
          <span className={cx(styles.chip, styles.overlay)}>
            <GripVertical aria-hidden />
            <span>{labelOf(dragged.key)}</span>
          </span>
        )}
      </DragOverlay>
    </DndContext>
  );
}

function Zone({ name, children }: { name: 'rows' | 'columns'; children: ReactNode }) {
  const { setNodeRef, isOver, active } = useDroppable({ id: name });
  return (
    <div
      ref={setNodeRef}
      className={styles.zone}
      data-open={active !== null || undefined}
      data-over={isOver || undefined}
    >
      {children}
    </div>
  );
}

function RowsHandle({ rows, label }: { rows: string; label: string }) {
  const data: Dragged = { key: rows, from: 'rows' };
  const { attributes, listeners, setNodeRef } = useDraggable({ id: `rows:${rows}`, data });
  return (
    <span ref={setNodeRef}>
      <DragHandle label={label} attributes={attributes} listeners={listeners} />
    </span>
  );
}

interface Over {
  id: string | number;
  data: { current?: Record<string, unknown> | undefined };
}

function targetOf({ id, data }: Over): Target {
  if (id === 'rows' || id === 'columns') return id;
  return { column: String(data.current?.['key']) };
}

/** A variable in the columns before the zone that it lies in. */
const innermost = <Collision extends { id: string | number }>(found: Collision[]): Collision[] =>
  found.toSorted((one, other) => Number(one.id === 'columns') - Number(other.id === 'columns'));

const instructions = {
  draggable: 'Press Space to lift the question, the arrow keys to move it, Space to drop it, Escape to put it back.',
};

function announcementsOf(labelOf: (key: string | undefined) => string): Announcements {
  const name = ({ data }: Pick<Over, 'data'>) => labelOf(data.current?.['key'] as string | undefined);
  const place = (over: Over) => (over.id === 'rows' || over.id === 'columns' ? over.id : `the place of ${name(over)}`);
  return {
    onDragStart: ({ active }) => `${name(active)} is lifted.`,
    onDragOver: ({ active, over }) => (over ? `${name(active)} is over ${place(over)}.` : undefined),
    onDragEnd: ({ active, over }) =>
      over ? `${name(active)} was dropped on ${place(over)}.` : `${name(active)} was put back.`,
    onDragCancel: ({ active }) => `${name(active)} was put back.`,
  };
}
