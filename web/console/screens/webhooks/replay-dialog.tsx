import { useState } from 'react';
import { toast } from '../../app/toasts.tsx';
import { replayDeliveries } from '../../data/webhooks.ts';
import { Checkbox } from '../../parts/choice-fields.tsx';
import { yearProblem } from '../../parts/date-time.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { FieldRow, Form, FormActions } from '../../parts/form.tsx';
import { formatCount } from '../../parts/format.ts';
import { DateField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';

/** Sends the deliveries of a time range again, such as those of a day on which the receiver was away. */
export function ReplayDialog({ webhookId, onClose }: { webhookId: string; onClose(): void }) {
  const [since, setSince] = useState('');
  const [until, setUntil] = useState('');
  const [isFailedOnly, setFailedOnly] = useState(true);
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      const sent = await replayDeliveries(webhookId, {
        since: new Date(since).toISOString(),
        until: until === '' ? new Date().toISOString() : new Date(until).toISOString(),
        ...(isFailedOnly && { status: 'FAILED' as const }),
      });
      toast({ text: `Deliveries that are sent again: ${formatCount(sent)}.` });
      onClose();
    },
    () => ({
      since: since === '' ? 'Please choose a time.' : yearProblem(since),
      until: yearProblem(until) ?? (until !== '' && until <= since ? 'Please choose a later time.' : undefined),
    }),
  );
  return (
    <Dialog title="Replay a time range" isOpen onClose={onClose}>
      <Form onSubmit={submit}>
        <p>Each delivery has the same id as before, so that a receiver can ignore what it knows.</p>
        <FieldRow>
          <DateField label="From" hasTime value={since} onChange={setSince} error={errorOf('since')} />
          <DateField
            label="Until"
            hasTime
            value={until}
            onChange={setUntil}
            error={errorOf('until')}
            hint="Empty: now."
          />
        </FieldRow>
        <Checkbox isSelected={isFailedOnly} onChange={setFailedOnly}>
          Only those that failed
        </Checkbox>
        <FormActions action="Send again" problem={problem} isPending={isPending} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
