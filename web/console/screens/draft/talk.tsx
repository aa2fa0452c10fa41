import { Send } from 'lucide-react';
import { type FormEvent, useEffect, useRef } from 'react';
import { AiProblem } from '../../app/ai-problem.tsx';
import { useDraft } from '../../app/drafts.ts';
import { noteUser } from '../../app/session.ts';
import { type Conversation, isKnownAsSaved, isSaved } from '../../data/conversations.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { ProgressBar } from '../../parts/feedback.tsx';
import { TextArea } from '../../parts/text-fields.tsx';
import styles from './draft.module.css';
import type { RunningTurn } from './draft.tsx';

interface TalkProps {
  conversation: Conversation | undefined;
  turn: RunningTurn | undefined;
  failure: unknown;
  /** Resolves to whether the assistant has replied. */
  onSay(message: string): Promise<boolean>;
}

/** What was said, the reply as it is written, and the field for the next message. */
export function Talk({ conversation, turn, failure, onSay }: TalkProps) {
  const turns = conversation?.turns ?? [];
  const list = useRef<HTMLOListElement>(null);
  const length = turns.length + (turn?.text.length ?? 0);
  useEffect(() => {
    if (length > 0) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [length]);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reached by keyboard. */}
      <ol ref={list} className={styles.turns} aria-label="Messages of the conversation" tabIndex={0}>
        {turns.map(({ role, text }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: turns are only added.
          <Turn key={index} by={role} text={text} />
        ))}
        {turn && <Turn by="user" text={turn.message} />}
        {turn && turn.text !== '' && <Turn by="assistant" text={turn.text} />}
      </ol>
      {turn && <ProgressBar label="The draft is being written" />}
      <div className="visually-hidden" role="status">
        {turn ? 'The assistant is writing.' : turns.at(-1)?.text}
      </div>
      {failure !== undefined && <AiProblem error={failure} />}
      {conversation && isSaved(conversation) ? (
        <div className={styles.saved}>
          <span>The draft is saved as a survey.</span>
          <LinkButton href={`/surveys/${conversation.surveyId}/build`}>Open the survey</LinkButton>
        </div>
      ) : (
        conversation && (
          <MessageForm conversationId={conversation.conversationId} isPending={turn !== undefined} onSay={onSay} />
        )
      )}
    </>
  );
}

function Turn({ by, text }: { by: 'user' | 'assistant'; text: string }) {
  return (
    <li className={styles.turn} data-by={by}>
      <span className={styles.who}>{by === 'user' ? 'You' : 'Assistant'}</span>
      <p dir="auto">{text}</p>
    </li>
  );
}

interface MessageFormProps {
  conversationId: string;
  isPending: boolean;
  onSay(message: string): Promise<boolean>;
}

const noMessage = { message: '' };

/**
 * Enter sends, Shift and Enter begin a new line. What was typed is kept while the view is left. A message that failed is
 * in the field again, before what was typed, unless the draft was saved meanwhile: then nothing can be sent.
 */
function MessageForm({ conversationId, isPending, onSay }: MessageFormProps) {
  const { fields, edit, reset } = useDraft(`${conversationId} message`, noMessage);
  const send = async (event?: FormEvent) => {
    event?.preventDefault();
    const text = fields.message.trim();
    if (text === '' || isPending) return;
    reset();
    const isSameUser = noteUser();
    if ((await onSay(text)) || !isSameUser() || isKnownAsSaved(conversationId)) return;
    edit(({ message }) => ({ message: message.trim() === '' ? text : `${text}\n${message}` }));
  };
  return (
    <form
      className={styles.message}
      onSubmit={(event) => void send(event)}
      onKeyDown={(event) => {
        const isEnter = event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing;
        if (!isEnter || !(event.target instanceof HTMLTextAreaElement)) return;
        event.preventDefault();
        void send();
      }}
    >
      <TextArea
        label="What should change?"
        value={fields.message}
        onChange={(message) => edit({ message })}
        rows={2}
        maxLength={10_000}
        placeholder="Fewer questions about prices, and one about opening hours"
      />
      <Button type="submit" look="primary" icon={<Send aria-hidden />} isPending={isPending}>
        Send
      </Button>
    </form>
  );
}
