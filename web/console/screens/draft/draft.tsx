import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { useUser } from '../../app/session-state.tsx';
import { toast } from '../../app/toasts.tsx';
import { dismissWork, followWork, type LongWork, localPollMs } from '../../app/tray.tsx';
import { useIsShown } from '../../app/use-is-shown.ts';
import { aiProblemText } from '../../data/ai-jobs.ts';
import { aiSettingsQuery } from '../../data/ai-settings.ts';
import {
  type Conversation,
  continueConversation,
  conversationQuery,
  type DraftOrder,
  saveDraft,
  startConversation,
} from '../../data/conversations.ts';
import { canEdit, isAdmin } from '../../data/me.ts';
import { LinkButton } from '../../parts/button.tsx';
import { EmptyState, ErrorState, Loading } from '../../parts/feedback.tsx';
import { Page } from '../../parts/page.tsx';
import { short } from '../../parts/short.ts';
import styles from './draft.module.css';
import { DraftView } from './draft-view.tsx';
import { OrderForm } from './order-form.tsx';
import { Talk } from './talk.tsx';

const route = getRouteApi('/app/surveys/new');

/** A turn that is being written. */
export interface RunningTurn {
  message: string;
  /** What the assistant has said so far. */
  text: string;
}

/** Writes a survey with an AI provider: what is said on one side, the draft on the other. */
export function Screen() {
  const { conversation: id, language = 'en' } = route.useSearch();
  const navigate = route.useNavigate();
  const user = useUser();
  const isUnconfigured = useIsUnconfigured();
  const { data, error, refetch } = useQuery({ ...conversationQuery(id ?? ''), enabled: id !== undefined });
  const setLanguage = (next: string) => void navigate({ search: (old) => ({ ...old, language: next }), replace: true });
  const conversation = id === undefined ? undefined : data;
  const talk = useTalk(id, conversation, language);
  return (
    <Page title="New survey with AI">
      {!canEdit(user) ? (
        <EmptyState title="You may only read">Somebody with the role EDITOR can make surveys.</EmptyState>
      ) : isUnconfigured ? (
        <EmptyState title="No AI provider is set up yet" action={<LinkButton href="/ai">Open AI settings</LinkButton>}>
          Drafts are written by one of four providers, with a key of yours. Surveys can be made without it.
        </EmptyState>
      ) : error && !data ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : id !== undefined && !data ? (
        <Loading lines={8} />
      ) : (
        <div className={styles.sides}>
          <section className={styles.talk} aria-label="Conversation">
            {conversation || talk.turn ? (
              <Talk conversation={conversation} turn={talk.turn} failure={talk.failure} onSay={talk.say} />
            ) : (
              <OrderForm failure={talk.failure} language={language} onLanguage={setLanguage} onOrder={talk.start} />
            )}
          </section>
          <section className={styles.draft} aria-label="Draft" aria-busy={talk.turn !== undefined}>
            <DraftView
              key={id ?? 'new'}
              conversation={conversation}
              isWriting={talk.turn !== undefined}
              language={language}
              onLanguage={setLanguage}
              onSave={talk.save}
            />
          </section>
        </div>
      )}
    </Page>
  );
}

/** Whether it is known that no provider has a key; only an ADMIN may know. */
function useIsUnconfigured(): boolean {
  const { data } = useQuery({ ...aiSettingsQuery(), enabled: isAdmin(useUser()) });
  return data?.every(({ isConfigured }) => !isConfigured) ?? false;
}

const draftHref = (conversation: string, language: string): string =>
  `/surveys/new?${new URLSearchParams({ conversation, language })}`;

/** What a conversation has beside what is stored of it. */
interface Talking {
  turn?: RunningTurn;
  /** How its last turn failed. */
  failure?: unknown;
}

/**
 * The turns of a conversation; one runs at a time, and goes on while another conversation is shown. The tray leads back
 * to it with the language that was chosen last. A new conversation has no id before its first draft has come.
 */
function useTalk(id: string | undefined, conversation: Conversation | undefined, language: string) {
  const router = useRouter();
  const navigate = route.useNavigate();
  const [talks, setTalks] = useState<ReadonlyMap<string | undefined, Talking>>(new Map());
  const put = (talking: Talking) => setTalks((others) => new Map([...others, [id, talking]]));
  const languages = useRef(new Map<string | undefined, string>());
  languages.current.set(id, language);
  const shownId = useRef(id);
  shownId.current = id;
  const isViewShown = useIsShown();
  const isShown = (): boolean => isViewShown() && shownId.current === id;

  const run = async (
    message: string,
    ask: (onText: (text: string) => void) => Promise<Conversation>,
  ): Promise<boolean> => {
    put({ turn: { message, text: '' } });
    let work: LongWork = { id: `draft/${Date.now()}`, title: 'Draft of a survey', state: 'running' };
    void followWork(work, async () => work, localPollMs);
    let end: Talking = {};
    try {
      const { conversationId } = await ask((text) => put({ turn: { message, text } }));
      work = { ...work, state: 'done', href: draftHref(conversationId, languages.current.get(id) ?? language) };
      // The view shows how it ended.
      if (isShown()) {
        dismissWork(work.id);
        await navigate({ search: (old) => ({ ...old, conversation: conversationId }), replace: true });
      }
      return true;
    } catch (error) {
      work = { ...work, state: 'failed', problem: aiProblemText(error) };
      end = { failure: error };
      if (isShown()) dismissWork(work.id);
      return false;
    } finally {
      put(end);
    }
  };
  const start = (order: DraftOrder) => run(order.prompt, (onText) => startConversation(order, onText));
  const say = async (message: string): Promise<boolean> =>
    conversation !== undefined && run(message, (onText) => continueConversation(conversation, message, onText));
  const save = async (questions: number[], language: string) => {
    if (conversation === undefined) return;
    const survey = await saveDraft(conversation, { questions, language });
    if (isShown()) await router.navigate({ href: `/surveys/${survey.id}/build` });
    else toast({ text: `“${short(readable(survey.title))}” is made.` });
  };
  return { turn: undefined, failure: undefined, ...talks.get(id), start, say, save };
}
