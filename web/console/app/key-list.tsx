import { Dialog } from '../parts/dialog.tsx';
import { activeKeys, keyText } from './keys.tsx';
import styles from './shell.module.css';

/** Every key that works in the present view. */
export function KeyList({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" isOpen onClose={onClose}>
      <dl className={styles.keys}>
        {activeKeys().map(({ key, title }) => (
          <div key={key + title} style={{ display: 'contents' }}>
            <dt>
              <kbd>{keyText(key)}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
