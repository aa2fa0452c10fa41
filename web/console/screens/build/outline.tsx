import { closestCenter, DndContext, type DragEndEvent, PointerSensor, useSensor, useSensors } from '@dnd-kit/core';
import { SortableContext, useSortable, verticalListSortingStrategy } from '@dnd-kit/sortable';
import { CSS } from '@dnd-kit/utilities';
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { GitBranch, GripVertical, Settings2 } from 'lucide-react';
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { letterOf, useListedKeys } from '../../app/keys.tsx';
import type { Definition } from '../../data/questions.ts';
import { cx } from '../../parts/cx.ts';
import type { Draft } from './draft.ts';
import styles from './outline.module.css';
import { nextPlace, type Row } from './outline-rows.ts';
import { typeOf } from './question-types.ts';

const rowHeight = 36;

interface OutlineProps {
  survey: Definition;
  rows: readonly Row[];
  drafts: ReadonlyMap<string, Draft>;
  selected: string | undefined;
  canEdit: boolean;
  /** The row that takes the focus; `onRowFocused` is called when it has it. */
  rowToFocus: string | undefined;
  onRowFocused(): void;
  onSelect(id: string): void;
  /** Enter on a row: the editor takes the focus. */
  onOpen(id: string): void;
  onMove(row: Row, to: number | undefined): void;
  onDelete(row: Row): void;
  onDuplicate(row: Row): void;
}

const keysOfReaders = [{ key: 'Enter', title: 'Open the question or section of the outline' }];
const keysOfEditors = [
  ...keysOfReaders,
  { key: 'Alt ↑ ↓', title: 'Move the question or section of the outline' },
  { key: 'Delete', title: 'Delete the question or section of the outline' },
  { key: 'Mod+d', title: 'Duplicate the question of the outline' },
];

/** Sections and questions in order. Arrow keys select, Alt with them moves, Delete deletes, Enter edits. */
export function Outline(props: OutlineProps) {
  const { survey, rows, drafts, selected, canEdit, rowToFocus, onRowFocused } = props;
  const { onSelect, onOpen, onMove, onDelete, onDuplicate } = props;
  useListedKeys(canEdit ? keysOfEditors : keysOfReaders);
  const scroller = useRef<HTMLDivElement>(null);
  const ids = useMemo(() => rows.map(({ id }) => id), [rows]);
  const selectedIndex = ids.indexOf(selected ?? '');
  const tabStop = Math.max(selectedIndex, 0);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    getItemKey: (index) => rows[index]?.id ?? index,
    // The tab stop is drawn wherever it stands, so that it can be reached, and keeps the focus when it moves far.
    rangeExtractor: (range) =>
      [...new Set([...defaultRangeExtractor(range), tabStop])].sort((one, other) => one - other),
  });
  const sensors = useSensors(useSensor(PointerSensor, { activationConstraint: { distance: 6 } }));

  useEffect(() => {
    if (selectedIndex >= 0) virtualizer.scrollToIndex(selectedIndex);
  }, [selectedIndex, virtualizer]);

  const focusRow = (index: number) => {
    virtualizer.scrollToIndex(index);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-row="${index}"]`)?.focus());
  };
  const select = (index: number) => {
    const bounded = Math.max(0, Math.min(rows.length - 1, index));
    const row = rows[bounded];
    if (!row) return;
    onSelect(row.id);
    focusRow(bounded);
  };

  useEffect(() => {
    const index = ids.indexOf(rowToFocus ?? '');
    if (index < 0) return;
    focusRow(index);
    onRowFocused();
  });

  const onKeyDown = (event: KeyboardEvent, index: number, row: Row) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && !event.altKey) select(index + step);
    else if (step !== undefined && canEdit) onMove(row, nextPlace(rows, row, step));
    else if (event.key === 'Home') select(0);
    else if (event.key === 'End') select(rows.length - 1);
    else if (event.key === 'Enter') onOpen(row.id);
    else if ((event.key === 'Delete' || event.key === 'Backspace') && canEdit) onDelete(row);
    else if (letterOf(event) === 'd' && (event.ctrlKey || event.metaKey) && canEdit) onDuplicate(row);
    else return;
    event.preventDefault();
  };

  const onDragEnd = ({ active, over }: DragEndEvent) => {
    const [from, to] = [ids.indexOf(String(active.id)), ids.indexOf(String(over?.id ?? ''))];
    const row = rows[from];
    if (row && to >= 0) onMove(row, to);
  };

  return (
    <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={onDragEnd}>
      <SortableContext items={ids} strategy={verticalListSortingStrategy}>
        <div ref={scroller} className={styles.scroller}>
          <ul aria-label="Outline" className={styles.list} style={{ blockSize: virtualizer.getTotalSize() }}>
            {virtualizer.getVirtualItems().map(({ index, start, key }) => {
              const row = rows[index];
              if (!row) return null;
              return (
                <OutlineRow
                  key={key}
                  row={row}
                  index={index}
                  count={rows.length}
                  start={start}
                  title={titleOf(row, survey)}
                  state={drafts.get(row.id)?.state}
                  isSelected={index === selectedIndex}
                  isTabStop={index === tabStop}
                  canMove={canEdit && row.kind !== 'survey'}
                  onPress={() => onSelect(row.id)}
                  onKeyDown={(event) => onKeyDown(event, index, row)}
                />
              );
            })}
          </ul>
        </div>
      </SortableContext>
    </DndContext>
  );
}

function titleOf(row: Row, survey: Definition): string {
  if (row.kind === 'survey') return readable(survey.title);
  if (row.kind === 'section') return readable(row.section.title) || 'Section without a title';
  return readable(row.question.text);
}

interface OutlineRowProps {
  row: Row;
  index: number;
  count: number;
  start: number;
  title: string;
  state: Draft['state'] | undefined;
  isSelected: boolean;
  isTabStop: boolean;
  canMove: boolean;
  onPress(): void;
  onKeyDown(event: KeyboardEvent): void;
}

const stateNames: Partial<Record<Draft['state'], string>> = {
  failed: 'not saved',
  invalid: 'not saved',
  broken: 'not saved',
  conflict: 'conflict',
};

function OutlineRow(props: OutlineRowProps) {
  const { row, index, count, start, title, state, isSelected, isTabStop, canMove, onPress, onKeyDown } = props;
  const { listeners, setNodeRef, transform, transition, isDragging } = useSortable({
    id: row.id,
    disabled: !canMove,
  });
  const Icon = row.kind === 'question' ? typeOf(row.question.type).icon : row.kind === 'survey' ? Settings2 : undefined;
  const hasLogic =
    row.kind === 'section'
      ? row.section.visibleIf !== null
      : row.kind === 'question' && (row.question.visibleIf !== null || row.question.skips.length > 0);
  const problem = state && stateNames[state];
  return (
    <li
      ref={setNodeRef}
      aria-setsize={count}
      aria-posinset={index + 1}
      className={cx(styles.row, styles[row.kind], isSelected && styles.selected, isDragging && styles.dragging)}
      style={{ insetBlockStart: start, transform: CSS.Translate.toString(transform), transition }}
      {...listeners}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: a button cannot hold a drag of its row in all browsers. */}
      <div
        role="button"
        className={styles.press}
        data-row={index}
        tabIndex={isTabStop ? 0 : -1}
        aria-current={isSelected || undefined}
        aria-keyshortcuts={canMove ? 'Alt+ArrowUp Alt+ArrowDown' : undefined}
        onClick={onPress}
        onKeyDown={onKeyDown}
      >
        {Icon && <Icon aria-hidden />}
        {row.kind === 'question' && <span className={styles.number}>{row.number}</span>}
        <span className={styles.title} dir="auto">
          {title}
        </span>
        {row.kind === 'question' && row.question.isRequired && (
          <span className={styles.mark}>
            <span aria-hidden>*</span>
            <span className="visually-hidden">required</span>
          </span>
        )}
        {hasLogic && <GitBranch className={styles.mark} aria-label="has conditions" role="img" />}
        {problem && <span className={styles.problem}>{problem}</span>}
      </div>
      {canMove && <GripVertical className={styles.grip} aria-hidden />}
    </li>
  );
}
