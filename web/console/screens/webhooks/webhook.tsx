import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useRouter } from '@tanstack/react-router';
import { Ellipsis, Pencil, RotateCcw, Send } from 'lucide-react';
import { useState } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { toast, toastFailure } from '../../app/toasts.tsx';
import { useIsShown } from '../../app/use-is-shown.ts';
import { isFinalRefusal } from '../../data/query-client.ts';
import { surveyQuery } from '../../data/surveys.ts';
import { changeWebhook, deleteWebhook, testWebhook, webhookQuery } from '../../data/webhooks.ts';
import { Button, IconButton, ignoreSecondClick } from '../../parts/button.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { ErrorState, FormError, Loading } from '../../parts/feedback.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../parts/menu.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Deliveries } from './deliveries.tsx';
import { ReplayDialog } from './replay-dialog.tsx';
import { ReplaceSecret, WebhookForm } from './webhook-form.tsx';
import { WebhookState } from './webhook-state.tsx';
import styles from './webhooks.module.css';
import { eventNames } from './words.ts';

const route = getRouteApi('/app/webhooks/$webhookId');

type Task = 'edit' | 'rotate' | 'replay' | 'delete';

/** An endpoint: what it receives, and each delivery with its attempts. */
export function Screen() {
  const { webhookId: id } = route.useParams();
  const router = useRouter();
  const isShown = useIsShown();
  const { data: webhook, error, refetch } = useQuery(webhookQuery(id));
  const [task, setTask] = useState<Task>();
  const close = () => setTask(undefined);
  if (error && (!webhook || isFinalRefusal(error))) return <ErrorState error={error} onRetry={refetch} />;
  if (!webhook) return <Loading />;

  const attempt = async (action: Promise<unknown>, done: string) => {
    try {
      await action;
      toast({ text: done });
    } catch (failure) {
      toastFailure(failure);
    }
  };
  const switchOn = (isActive: boolean) =>
    attempt(
      changeWebhook(id, { isActive }),
      isActive ? 'The webhook is active; what waits is sent now.' : 'The webhook is inactive.',
    );
  const actions = (
    <>
      <Button
        icon={<Send aria-hidden />}
        onClickCapture={ignoreSecondClick}
        onPress={() =>
          void attempt(
            testWebhook(id, webhook.events[0] ?? 'response.completed'),
            'A test event is on its way: see the deliveries.',
          )
        }
      >
        Send a test
      </Button>
      <Button icon={<Pencil aria-hidden />} onPress={() => setTask('edit')}>
        Change
      </Button>
      <Menu
        label="Actions of the webhook"
        button={<IconButton label="Actions of the webhook" icon={<Ellipsis aria-hidden />} />}
      >
        <MenuItem onAction={() => void switchOn(!webhook.isActive)}>
          {webhook.isActive ? 'Switch off' : 'Switch on'}
        </MenuItem>
        <MenuItem icon={<RotateCcw aria-hidden />} onAction={() => setTask('replay')}>
          Replay a time range…
        </MenuItem>
        <MenuItem onAction={() => setTask('rotate')}>Replace the secret…</MenuItem>
        <MenuSeparator />
        <MenuItem isDangerous onAction={() => setTask('delete')}>
          Delete…
        </MenuItem>
      </Menu>
    </>
  );
  return (
    <Page title={webhook.url} status={<WebhookState webhook={webhook} />} actions={actions}>
      {webhook.disabledReason && (
        <div className={styles.off}>
          <FormError>Nothing is sent: {webhook.disabledReason}</FormError>
          {!webhook.isActive && <Button onPress={() => void switchOn(true)}>Switch on again</Button>}
        </div>
      )}
      <Card>
        <dl className={styles.facts}>
          <div>
            <dt>Events</dt>
            <dd>{webhook.events.map((event) => eventNames[event]).join(', ')}</dd>
          </div>
          <div>
            <dt>Survey</dt>
            <dd>{webhook.surveyId === null ? 'All' : <SurveyName id={webhook.surveyId} />}</dd>
          </div>
          <div>
            <dt>Requests</dt>
            <dd>
              {webhook.batch ? 'Up to 100 events each' : 'One event each'}
              {webhook.maxPerSecond !== null && `, ${webhook.maxPerSecond} events a second at most`}
            </dd>
          </div>
          {webhook.description !== null && (
            <div>
              <dt>Description</dt>
              <dd dir="auto">{webhook.description}</dd>
            </div>
          )}
        </dl>
      </Card>
      <Deliveries key={id} webhookId={id} />
      {task === 'edit' && <WebhookForm webhook={webhook} onClose={close} />}
      {task === 'replay' && <ReplayDialog webhookId={id} onClose={close} />}
      {task === 'rotate' && <ReplaceSecret webhookId={id} onClose={close} />}
      {task === 'delete' && (
        <ConfirmDialog
          title="Delete the webhook?"
          isOpen
          onClose={close}
          action="Delete"
          isDangerous
          onConfirm={async () => {
            await deleteWebhook(id);
            if (isShown()) await router.navigate({ to: '/webhooks' });
          }}
        >
          What waits is no longer sent, and its list of deliveries is deleted too.
        </ConfirmDialog>
      )}
    </Page>
  );
}

/** The title of a survey; one that the user may no longer read is shown by its id. */
function SurveyName({ id }: { id: string }) {
  const { data } = useQuery({ ...surveyQuery(id), retry: false });
  return (
    <Link to="/surveys/$surveyId" params={{ surveyId: id }} dir="auto">
      {data ? readable(data.title) : id}
    </Link>
  );
}
