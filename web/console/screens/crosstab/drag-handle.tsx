import type { DraggableAttributes, DraggableSyntheticListeners } from '@dnd-kit/core';
import { GripVertical } from 'lucide-react';
import styles from './arrangement.module.css';

interface DragHandleProps {
  /** Of the variable. */
  label: string;
  /** Shown beside the grip; without it the grip alone is shown. */
  isLabelShown?: boolean;
  attributes: DraggableAttributes;
  listeners: DraggableSyntheticListeners;
}

/** What a variable is dragged by: with the pointer, or by Space, arrow keys and Space. */
export const DragHandle = ({ label, isLabelShown = false, attributes, listeners }: DragHandleProps) => (
  <button type="button" className={styles.handle} {...attributes} {...listeners} aria-label={`Drag ${label}`}>
    <GripVertical aria-hidden />
    {isLabelShown && <span title={label}>{label}</span>}
  </button>
);
