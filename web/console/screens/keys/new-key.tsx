import { useState } from 'react';
import { useUser } from '../../app/session-state.tsx';
import { useShownOnce } from '../../app/shown-once.ts';
import { type ApiKey, createApiKey } from '../../data/api-keys.ts';
import { Button } from '../../parts/button.tsx';
import { type Option, RadioGroup, Select } from '../../parts/choice-fields.tsx';
import { yearProblem } from '../../parts/date-time.ts';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { FieldRow, Form, FormActions, Secret } from '../../parts/form.tsx';
import { DateField, NumberField, TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';

const roles = [
  { value: 'ADMIN', label: 'ADMIN', note: 'Everything but users, passwords and keys.' },
  { value: 'EDITOR', label: 'EDITOR', note: 'Your surveys and those shared with you, reading and changing.' },
  { value: 'VIEWER', label: 'VIEWER', note: 'The same, reading only.' },
] as const satisfies readonly Option[];

type Ending = '30' | '90' | '365' | 'date' | 'never';
const endings: readonly Option<Ending>[] = [
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'date', label: 'On a date' },
  { value: 'never', label: 'Never' },
];

const dayMs = 24 * 60 * 60 * 1000;

/** When the key ends; null: never. */
function endOf(ending: Ending, date: string): string | null {
  if (ending === 'never') return null;
  // A date of the field is a day here: the key ends with it.
  const at = ending === 'date' ? new Date(`${date}T23:59:59`) : new Date(Date.now() + Number(ending) * dayMs);
  return at.toISOString();
}

/** Makes a key and shows its secret once. */
export function NewKey({ onClose }: { onClose(): void }) {
  const user = useUser();
  const [name, setName] = useState('');
  const [role, setRole] = useState<ApiKey['role']>('EDITOR');
  const [ending, setEnding] = useState<Ending>('90');
  const [date, setDate] = useState('');
  const [limit, setLimit] = useState<number | null>(null);
  const [made, setMade] = useState<{ name: string; key: string }>();
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () =>
      setMade(
        await createApiKey({ name: name.trim(), role, expiresAt: endOf(ending, date), requestsPerMinute: limit }),
      ),
    () => ({
      name: name.trim() === '' ? 'Please enter a name, such as that of the program.' : undefined,
      expiresAt: ending === 'date' ? (date === '' ? 'Please choose a date.' : yearProblem(date)) : undefined,
    }),
  );
  useShownOnce(isPending);
  if (made) return <MadeKey name={made.name} secret={made.key} onClose={onClose} />;
  return (
    <Dialog title="New API key" isOpen onClose={onClose} isDismissable={!isPending}>
      <Form onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          maxLength={200}
          error={errorOf('name')}
          hint="What uses it. Lists and the audit show it."
          autoFocus
        />
        <RadioGroup
          label="Role"
          options={roles.filter(({ value }) => value !== 'ADMIN' || user?.role === 'ADMIN')}
          value={role}
          onChange={(next: ApiKey['role']) => setRole(next)}
          error={errorOf('role')}
        />
        <FieldRow>
          <Select label="Ends" options={endings} value={ending} onChange={(next: Ending) => setEnding(next)} />
          {ending === 'date' && (
            <DateField label="Last day" value={date} onChange={setDate} error={errorOf('expiresAt')} />
          )}
          <NumberField
            label="Calls a minute"
            value={limit}
            onChange={setLimit}
            minValue={1}
            maxValue={1_000_000}
            error={errorOf('requestsPerMinute')}
            hint="Empty: the general limit."
          />
        </FieldRow>
        <FormActions action="Create the key" problem={problem} isPending={isPending} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}

function MadeKey({ name, secret, onClose }: { name: string; secret: string; onClose(): void }) {
  const [isCopied, setCopied] = useState(false);
  useShownOnce(!isCopied);
  const onCopied = () => setCopied(true);
  return (
    <Dialog title={`The key “${name}”`} isOpen onClose={onClose} isDismissable={false}>
      <p>Copy it now: it is not shown again. Whoever has it acts in your name.</p>
      <Secret label="Key" text={secret} onCopied={onCopied} />
      <Secret label="Header of each call" text={`authorization: Bearer ${secret}`} onCopied={onCopied} />
      <DialogActions>
        <Button look="primary" onPress={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
