import { useState } from 'react';
import { changedFields } from '../../data/changed-fields.ts';
import { changeQuota, type Quota } from '../../data/quotas.ts';
import { Select } from '../../parts/choice-fields.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Form, FormActions } from '../../parts/form.tsx';
import { NumberField, TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import { whenFullOptions } from './rules.ts';

/** Changes name, limit and rule of a quota; which responses it counts stays. */
export function EditQuota({ quota, onClose }: { quota: Quota; onClose(): void }) {
  const [name, setName] = useState(quota.name);
  const [limit, setLimit] = useState<number | null>(quota.limit);
  const [whenFull, setWhenFull] = useState(quota.whenFull);
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      const before = { name: quota.name, limit: quota.limit, whenFull: quota.whenFull };
      await changeQuota(quota, changedFields(before, { name: name.trim(), limit: limit ?? 0, whenFull }));
      onClose();
    },
    () => ({
      name: name.trim() === '' ? 'Please enter a name.' : undefined,
      limit: limit === null ? 'Please enter a number.' : undefined,
    }),
  );
  return (
    <Dialog title={`Edit “${quota.name}”`} isOpen onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField label="Name" value={name} onChange={setName} maxLength={200} error={errorOf('name')} />
        <NumberField
          label="Responses at most"
          value={limit}
          onChange={setLimit}
          minValue={0}
          error={errorOf('limit')}
          hint="Below the present count makes it full."
        />
        <Select
          label="When full"
          options={whenFullOptions}
          value={whenFull}
          onChange={(next: Quota['whenFull']) => setWhenFull(next)}
        />
        <FormActions action="Save" problem={problem} isPending={isPending} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
