import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from '../../app/toasts.tsx';
import { type AiProviderName, aiProviderNames } from '../../data/ai-jobs.ts';
import { type AiProviderSettings, aiSettingsQuery, removeAiSettings, testAiProvider } from '../../data/ai-settings.ts';
import { problemText } from '../../data/problems.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { Badge, ErrorState, FormError, Loading } from '../../parts/feedback.tsx';
import { Card, Page } from '../../parts/page.tsx';
import styles from './ai.module.css';
import { ProviderForm } from './provider-form.tsx';
import { UsageCard } from './usage-card.tsx';

/** The providers of AI with their keys, and what their calls cost. */
export function Screen() {
  const { data, error, refetch } = useQuery(aiSettingsQuery());
  const [edited, setEdited] = useState<AiProviderSettings>();
  const [removed, setRemoved] = useState<AiProviderName>();
  return (
    <Page title="AI">
      <p className="muted">
        AI is optional: it drafts, translates and improves surveys, finds themes in open answers and writes reports.
        Each survey can switch it off in its settings.
      </p>
      {error && !data ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : !data ? (
        <Loading lines={4} />
      ) : (
        <div className={styles.providers}>
          {data.map((settings) => (
            <ProviderCard
              key={settings.provider}
              settings={settings}
              onEdit={() => setEdited(settings)}
              onRemove={() => setRemoved(settings.provider)}
            />
          ))}
        </div>
      )}
      <UsageCard />
      {edited && <ProviderForm settings={edited} onClose={() => setEdited(undefined)} />}
      {removed && (
        <ConfirmDialog
          title={`Remove the key of ${aiProviderNames[removed]}?`}
          isOpen
          onClose={() => setRemoved(undefined)}
          action="Remove the key"
          isDangerous
          onConfirm={() => removeAiSettings(removed)}
        >
          Work that uses it ends. If the environment of the service names a key, that one counts again.
        </ConfirmDialog>
      )}
    </Page>
  );
}

interface ProviderCardProps {
  settings: AiProviderSettings;
  onEdit(): void;
  onRemove(): void;
}

function ProviderCard({ settings, onEdit, onRemove }: ProviderCardProps) {
  const { provider, isConfigured, source, keyLastFour, endpoint, deployment, models } = settings;
  const [isTesting, setTesting] = useState(false);
  const [failure, setFailure] = useState<string>();
  const test = async () => {
    setTesting(true);
    setFailure(undefined);
    try {
      const { model, latencyMs } = await testAiProvider(provider);
      toast({ text: `${aiProviderNames[provider]} replied with ${model} after ${latencyMs} ms.` });
    } catch (error) {
      setFailure(problemText(error).text);
    } finally {
      setTesting(false);
    }
  };
  return (
    <Card
      title={aiProviderNames[provider]}
      actions={isConfigured ? <Badge tone="success">Set up</Badge> : <Badge>Not set up</Badge>}
    >
      {isConfigured ? (
        <dl className={styles.facts}>
          <Fact name="Key">
            <code>…{keyLastFour}</code> {source === 'environment' && <span>from the environment</span>}
          </Fact>
          {endpoint !== null && <Fact name="Address">{endpoint}</Fact>}
          {deployment !== null && <Fact name="Deployment">{deployment}</Fact>}
          <Fact name="Model for hard work">{models.high ?? '–'}</Fact>
          <Fact name="Model for much work">{models.low ?? '–'}</Fact>
        </dl>
      ) : (
        <p className="muted">No key has been entered.</p>
      )}
      {failure !== undefined && <FormError>{failure}</FormError>}
      <div className={styles.actions}>
        <Button look={isConfigured ? 'normal' : 'primary'} onPress={onEdit}>
          {isConfigured ? 'Change' : 'Set up'}
          <span className="visually-hidden"> {aiProviderNames[provider]}</span>
        </Button>
        {isConfigured && (
          <Button isPending={isTesting} onPress={() => void test()}>
            Test<span className="visually-hidden"> {aiProviderNames[provider]}</span>
          </Button>
        )}
        {source === 'settings' && (
          <Button look="quiet" onPress={onRemove}>
            Remove<span className="visually-hidden"> {aiProviderNames[provider]}</span>
          </Button>
        )}
      </div>
    </Card>
  );
}

const Fact = ({ name, children }: { name: string; children: React.ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);
