import { useDraggable } from '@dnd-kit/core';
import { Disclosure } from '../../parts/page.tsx';
import styles from './arrangement.module.css';
import type { Dragged } from './arrangement.ts';
import { DragHandle } from './drag-handle.tsx';
import type { Variable } from './variables.ts';

/** Everything that can be crossed, to drag it into rows or columns. */
export const QuestionList = ({ variables }: { variables: readonly Variable[] }) => (
  <div className={styles.palette}>
    <Disclosure title="Drag questions into rows and columns" level={2}>
      <ul className={styles.list} aria-label="Questions">
        {variables.map((variable) => (
          <Item key={variable.key} variable={variable} />
        ))}
      </ul>
    </Disclosure>
  </div>
);

function Item({ variable: { key, label } }: { variable: Variable }) {
  const { attributes, listeners, setNodeRef } = useDraggable({
    id: `list:${key}`,
    data: { key, from: 'list' } satisfies Dragged,
  });
  return (
    <li ref={setNodeRef} className={styles.chip}>
      <DragHandle label={label} isLabelShown attributes={attributes} listeners={listeners} />
    </li>
  );
}
