import { useState } from 'react';
import { FormDialog } from '../../app/form-dialog.tsx';
import { useShownOnce } from '../../app/shown-once.ts';
import { changedFields } from '../../data/changed-fields.ts';
import { useSurveyOptions } from '../../data/name-options.ts';
import {
  changeWebhook,
  createWebhook,
  rotateSecret,
  type Webhook,
  type WebhookEvent,
  type WebhookFields,
  webhookEvents,
} from '../../data/webhooks.ts';
import { Button } from '../../parts/button.tsx';
import { Checkbox, CheckboxGroup, ComboBox } from '../../parts/choice-fields.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Form, FormActions, Secret } from '../../parts/form.tsx';
import { NumberField, TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import { eventNames } from './words.ts';

const newFields: WebhookFields = {
  url: '',
  events: ['response.completed'],
  surveyId: null,
  description: null,
  batch: false,
  maxPerSecond: null,
};

/** Makes an endpoint and shows its secret once, or changes one. */
export function WebhookForm({ webhook, onClose }: { webhook?: Webhook; onClose(): void }) {
  const [before] = useState<WebhookFields>(() => ({ ...newFields, ...(webhook && fieldsOf(webhook)) }));
  const [fields, setFields] = useState(before);
  const [secret, setSecret] = useState<string>();
  const set = (change: Partial<WebhookFields>) => setFields((old) => ({ ...old, ...change }));
  const surveys = useSurveyOptions(fields.surveyId);
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      if (webhook) {
        await changeWebhook(webhook.id, changedFields(before, fields));
        onClose();
      } else setSecret((await createWebhook(fields)).secret);
    },
    () => ({
      url: fields.url.trim() === '' ? 'Please enter the address that events are sent to.' : undefined,
      events: fields.events.length === 0 ? 'Please choose at least one event.' : undefined,
    }),
  );
  useShownOnce(isPending && !webhook);
  if (secret !== undefined) return <NewSecret secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title={webhook ? 'Change the webhook' : 'New webhook'}
      isOpen
      onClose={onClose}
      isDismissable={!isPending}
      fields={fields}
    >
      <Form onSubmit={submit}>
        <TextField
          label="Address"
          type="url"
          value={fields.url}
          onChange={(url) => set({ url })}
          error={errorOf('url')}
          hint="https, or http, of a public host."
          placeholder="https://example.org/hooks/surveys"
          maxLength={2048}
          autoFocus
        />
        <CheckboxGroup
          label="Events"
          options={webhookEvents.map((value) => ({ value, label: eventNames[value] }))}
          value={fields.events}
          onChange={(events: WebhookEvent[]) => set({ events })}
          error={errorOf('events')}
        />
        <ComboBox
          label="Survey"
          {...surveys}
          value={fields.surveyId}
          onChange={(surveyId: string | null) => set({ surveyId })}
          placeholder="All surveys that you may read"
          error={errorOf('surveyId')}
        />
        <TextField
          label="Description"
          value={fields.description ?? ''}
          onChange={(description) => set({ description: description === '' ? null : description })}
          error={errorOf('description')}
          maxLength={1000}
        />
        <NumberField
          label="Events a second at most"
          value={fields.maxPerSecond}
          onChange={(maxPerSecond) => set({ maxPerSecond })}
          minValue={1}
          maxValue={100_000}
          error={errorOf('maxPerSecond')}
          hint="Empty: as fast as the endpoint replies."
        />
        <Checkbox isSelected={fields.batch} onChange={(batch) => set({ batch })}>
          Up to 100 events in one request
        </Checkbox>
        <FormActions
          action={webhook ? 'Save' : 'Create the webhook'}
          problem={problem}
          isPending={isPending}
          onCancel={onClose}
        />
      </Form>
    </FormDialog>
  );
}

const fieldsOf = ({ url, events, surveyId, description, batch, maxPerSecond }: Webhook): WebhookFields => ({
  url,
  events,
  surveyId,
  description,
  batch,
  maxPerSecond,
});

/** Replaces the secret of an endpoint and shows the new one once. */
export function ReplaceSecret({ webhookId, onClose }: { webhookId: string; onClose(): void }) {
  const [secret, setSecret] = useState<string>();
  const { submit, isPending, problem } = useSubmit(async () => setSecret(await rotateSecret(webhookId)));
  useShownOnce(isPending);
  if (secret !== undefined) return <NewSecret secret={secret} onClose={onClose} />;
  return (
    <Dialog title="Replace the secret?" isOpen onClose={onClose} isDismissable={!isPending} role="alertdialog">
      <Form onSubmit={submit}>
        <p>The old and the new secret both sign for 24 hours, so that the receiver can change over.</p>
        <FormActions action="Replace" problem={problem} isPending={isPending} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}

/** The secret of an endpoint, after it was made or replaced. */
function NewSecret({ secret, onClose }: { secret: string; onClose(): void }) {
  const [isCopied, setCopied] = useState(false);
  useShownOnce(!isCopied);
  return (
    <Dialog title="The signing secret" isOpen onClose={onClose} isDismissable={false}>
      <p>
        Copy it now: it is not shown again. The receiver checks the signature of each request with it, as Standard
        Webhooks says.
      </p>
      <Secret label="Secret" text={secret} onCopied={() => setCopied(true)} />
      <DialogActions>
        <Button look="primary" onPress={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
