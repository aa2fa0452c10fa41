import { useState } from 'react';
import { toast } from '../../app/toasts.tsx';
import { aiProviderNames } from '../../data/ai-jobs.ts';
import { type AiProviderSettings, saveAiSettings, testAiProvider } from '../../data/ai-settings.ts';
import { problemText } from '../../data/problems.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { FormError } from '../../parts/feedback.tsx';
import { FieldRow, Form } from '../../parts/form.tsx';
import { TextField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';

/** Empty: left to the service. */
const given = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim());

/** Enters a key, tries it with one short call, and keeps it. A key that is refused stays until another is entered. */
export function ProviderForm({ settings, onClose }: { settings: AiProviderSettings; onClose(): void }) {
  const { provider, keyLastFour, entered } = settings;
  const [apiKey, setApiKey] = useState('');
  const [endpoint, setEndpoint] = useState(entered.endpoint ?? '');
  const [deployment, setDeployment] = useState(entered.deployment ?? '');
  const [high, setHigh] = useState(entered.models.high ?? '');
  const [low, setLow] = useState(entered.models.low ?? '');
  const [refusal, setRefusal] = useState<string>();
  const { submit, isPending, problem, errorOf } = useSubmit(
    async () => {
      setRefusal(undefined);
      const models = { high: given(high), low: given(low) };
      await saveAiSettings(provider, {
        apiKey: apiKey.trim(),
        endpoint: given(endpoint),
        deployment: given(deployment),
        models: {
          ...(models.high !== undefined && { high: models.high }),
          ...(models.low !== undefined && { low: models.low }),
        },
      });
      try {
        const { model, latencyMs } = await testAiProvider(provider);
        toast({ text: `Saved. ${aiProviderNames[provider]} replied with ${model} after ${latencyMs} ms.` });
        onClose();
      } catch (error) {
        setRefusal(`The settings are saved, but the test failed: ${problemText(error).text}`);
      }
    },
    () => ({ apiKey: apiKey.trim() === '' ? 'Please enter the key.' : undefined }),
  );
  return (
    <Dialog title={aiProviderNames[provider]} isOpen onClose={onClose}>
      <Form onSubmit={submit}>
        <TextField
          label="Key"
          type="password"
          autoComplete="off"
          value={apiKey}
          onChange={setApiKey}
          error={errorOf('apiKey')}
          hint={
            keyLastFour === null
              ? 'It is stored encrypted, and never shown again.'
              : `The one that ends in ${keyLastFour} is replaced. It is stored encrypted, and never shown again.`
          }
          autoFocus
        />
        <TextField
          label="Address"
          type="url"
          value={endpoint}
          onChange={setEndpoint}
          error={errorOf('endpoint')}
          hint={provider === 'azure' ? 'The address of the Azure resource.' : 'Empty: that of the provider.'}
        />
        {provider === 'azure' && (
          <TextField label="Deployment" value={deployment} onChange={setDeployment} error={errorOf('deployment')} />
        )}
        <FieldRow>
          <TextField
            label="Model for hard work"
            value={high}
            onChange={setHigh}
            error={errorOf('models.high')}
            hint="Drafts and reports. Empty: the usual one."
          />
          <TextField
            label="Model for much work"
            value={low}
            onChange={setLow}
            error={errorOf('models.low')}
            hint="Open answers. Empty: the usual one."
          />
        </FieldRow>
        {problem !== undefined && <FormError>{problem}</FormError>}
        {refusal !== undefined && <FormError>{refusal}</FormError>}
        <DialogActions>
          <Button onPress={onClose}>Close</Button>
          <Button type="submit" look="primary" isPending={isPending}>
            Save and test
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  );
}
