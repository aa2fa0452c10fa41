import { useState } from 'react';
import { type Collector, createCollector } from '../../data/collectors.ts';
import { RadioGroup } from '../../parts/choice-fields.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { NumberField, TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';

const kinds = [
  { value: 'OPEN', label: 'Everybody with the link', note: 'Such as one link for the newsletter, one for the poster.' },
  { value: 'INVITATION', label: 'Invited people', note: 'A link of its own for each, good for one response.' },
] as const;

/** Makes a collector. */
export function NewCollector({ surveyId, onClose }: { surveyId: string; onClose(): void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Collector['kind']>('OPEN');
  const [responseQuota, setQuota] = useState<number | null>(null);
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      await createCollector(surveyId, { name: name.trim(), kind, responseQuota });
      onClose();
    },
    () => ({ name: name.trim() === '' ? 'Please enter a name.' : undefined }),
  );
  return (
    <Dialog title="New collector" isOpen onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField label="Name" value={name} onChange={setName} maxLength={200} error={errorOf('name')} autoFocus />
        <RadioGroup label="For" options={kinds} value={kind} onChange={(next: Collector['kind']) => setKind(next)} />
        <NumberField
          label="Complete responses at most"
          value={responseQuota}
          onChange={setQuota}
          minValue={1}
          error={errorOf('responseQuota')}
          hint="Empty: as many as come."
        />
        <FormActions action="Create the collector" problem={problem} isPending={isPending} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
