import type { AuditEntry } from '../../data/audit.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { CopyButton } from '../../parts/page.tsx';
import styles from './audit.module.css';
import { actorText, ObjectLink } from './event-object.tsx';
import { actionText, detailRows } from './event-words.ts';

interface EventDialogProps {
  event: AuditEntry;
  nameOf(id: string): string | undefined;
  titleOf(id: string): string | undefined;
  onClose(): void;
}

const moment = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long' });

/** One event in full. */
export function EventDialog({ event, nameOf, titleOf, onClose }: EventDialogProps) {
  return (
    <Dialog title={actionText(event.action)} isOpen onClose={onClose}>
      <dl className={styles.facts}>
        <dt>When</dt>
        <dd>{moment.format(new Date(event.at))}</dd>
        <dt>Who</dt>
        <dd>{actorText(event, nameOf)}</dd>
        {event.keyId !== null && (
          <>
            <dt>Key</dt>
            <dd className={styles.id}>{event.keyId}</dd>
          </>
        )}
        <dt>About</dt>
        <dd>
          <ObjectLink event={event} nameOf={nameOf} titleOf={titleOf} />
        </dd>
        <dt>Id</dt>
        <dd className={styles.id}>{event.objectId}</dd>
        {detailRows(event, nameOf).map(({ name, value }) => (
          <div key={name} className={styles.fact}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <DialogActions>
        <CopyButton text={JSON.stringify(event, null, 2)}>Copy as JSON</CopyButton>
        <Button look="primary" onPress={onClose}>
          Close
        </Button>
      </DialogActions>
    </Dialog>
  );
}
