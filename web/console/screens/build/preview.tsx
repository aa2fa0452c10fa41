import { useQuery } from '@tanstack/react-query';
import { Monitor, Play, RotateCcw, Smartphone, Square } from 'lucide-react';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import type { PreviewReply, PreviewSelect, PreviewShow } from '../../../shared/preview-messages.ts';
import type { Definition } from '../../data/questions.ts';
import { languageListQuery, translationQuery } from '../../data/translations.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import styles from './preview.module.css';
import { previewForm } from './preview-form.ts';

/** Widths in CSS pixels at which the page is laid out; it is scaled down where the pane is narrower. */
const widths = { phone: 375, desktop: 1024 } as const;
type Width = keyof typeof widths;

interface PreviewProps {
  /** As it is edited, saved or not. */
  survey: Definition;
  selected: string | undefined;
  onSelect(id: string): void;
}

/** The respondent's page itself with what is being edited. In a trial it is walked as respondents walk it. */
export function Preview({ survey: edited, selected, onSelect }: PreviewProps) {
  // What is typed stands in its field before the preview is drawn anew.
  const survey = useDeferredValue(edited);
  const [language, setLanguage] = useState(survey.language);
  const [width, setWidth] = useState<Width>('phone');
  const [trial, setTrial] = useState<number>();
  const [endedTrial, setEndedTrial] = useState<number>();
  const { data: languages = [] } = useQuery(languageListQuery(survey.id));
  const isOwn = language === survey.language;
  const { data: translation } = useQuery({ ...translationQuery(survey.id, language), enabled: !isOwn });
  const direction = languages.find((known) => known.language === language)?.direction ?? 'ltr';
  const isTrial = trial !== undefined;
  const show = useMemo(
    (): PreviewShow => ({
      preview: 'show',
      ...previewForm(survey, { translation: isOwn ? undefined : translation, hasPaths: isTrial }),
      language,
      direction,
      trial,
    }),
    [survey, translation, isOwn, isTrial, language, direction, trial],
  );
  const onReply = (reply: PreviewReply) => {
    if (reply.preview === 'question' && reply.questionId !== selected) onSelect(reply.questionId);
    if (reply.preview === 'ended') setEndedTrial(reply.trial);
  };
  const { redirectUrl } = survey.appearance;
  return (
    <div className={styles.preview}>
      <div className={styles.bar}>
        {isTrial ? (
          <>
            <Button icon={<Square aria-hidden />} onPress={() => setTrial(undefined)}>
              End trial
            </Button>
            <Button look="quiet" icon={<RotateCcw aria-hidden />} onPress={() => setTrial(trial + 1)}>
              Start again
            </Button>
          </>
        ) : (
          <Button icon={<Play aria-hidden />} onPress={() => setTrial((endedTrial ?? 0) + 1)}>
            Try it out
          </Button>
        )}
        <span className={styles.end}>
          {languages.length > 1 && (
            <Select
              label="Language"
              isLabelHidden
              options={languages.map((known) => ({ value: known.language, label: languageName(known.language) }))}
              value={language}
              onChange={setLanguage}
            />
          )}
          <IconButton
            label={width === 'phone' ? 'Show as on a desktop' : 'Show as on a phone'}
            icon={width === 'phone' ? <Monitor aria-hidden /> : <Smartphone aria-hidden />}
            onPress={() => setWidth(width === 'phone' ? 'desktop' : 'phone')}
          />
        </span>
      </div>
      <p className={styles.note} role="status">
        {isTrial
          ? trial === endedTrial
            ? `The path has ended${redirectUrl === null ? '.' : `; respondents go on to ${redirectUrl}.`}`
            : 'A trial with all conditions. Nothing is sent or stored.'
          : 'Every question, whatever its conditions. Click one to edit it.'}
      </p>
      <PreviewFrame language={language} width={widths[width]} show={show} selected={selected} onReply={onReply} />
    </div>
  );
}

interface PreviewFrameProps {
  language: string;
  width: number;
  show: PreviewShow;
  selected: string | undefined;
  onReply(reply: PreviewReply): void;
}

/** The page in a frame. It is handed over what to show as soon as it says that it is ready, and then every change. */
function PreviewFrame({ language, width, show, selected, onReply }: PreviewFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const latest = useRef({ show, selected, onReply });
  latest.current = { show, selected, onReply };
  const [box, available] = useSize();
  const scale = available.width > 0 ? Math.min(1, available.width / width) : 1;

  useEffect(() => {
    const onMessage = ({ source, origin, data }: MessageEvent<PreviewReply>) => {
      if (source !== frame.current?.contentWindow || origin !== location.origin) return;
      if (data.preview !== 'ready') {
        latest.current.onReply(data);
        return;
      }
      send(frame.current, { preview: 'select', selected: latest.current.selected });
      send(frame.current, latest.current.show);
    };
    addEventListener('message', onMessage);
    return () => removeEventListener('message', onMessage);
  }, []);
  // Before it is ready it listens to nothing, and asks for the same then.
  useEffect(() => send(frame.current, { preview: 'select', selected }), [selected]);
  useEffect(() => send(frame.current, show), [show]);

  return (
    <div ref={box} className={styles.frame}>
      {/* Another address of the same frame would be a step in the history of the browser. */}
      <iframe
        key={language}
        ref={frame}
        title="Preview"
        src={`/s/preview?lang=${encodeURIComponent(language)}`}
        style={{ inlineSize: width, blockSize: available.height / scale, transform: `scale(${scale})` }}
      />
    </div>
  );
}

const send = (frame: HTMLIFrameElement | null, message: PreviewShow | PreviewSelect): void =>
  frame?.contentWindow?.postMessage(message, location.origin);

/** The size of an element in CSS pixels; 0 × 0 until it is known. */
function useSize() {
  const element = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, size] as const;
}
