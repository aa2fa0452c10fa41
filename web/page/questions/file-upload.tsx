import { useLayoutEffect, useReducer, useState } from 'preact/hooks';
import type { ShownQuestion } from '../survey/pages.ts';
import type { Words } from '../words/en.ts';
import { say, sizeText } from '../words/say.ts';
import type { ControlProps, PageType } from './contract.ts';
import { idList } from './id-list.ts';
import { useKeptFocus } from './kept-focus.ts';

type Progress = { kind: 'running'; percent: number } | { kind: 'failed'; message: string | undefined };

interface Sending {
  file: File;
  progress: Progress;
  request?: XMLHttpRequest;
}

/** By question: a file goes on being sent while another page of the survey is shown. */
const sendings = new Map<string, Sending>();
/** Draw the questions that are shown anew. */
const drawings = new Map<string, () => void>();

/** A network that has moved nothing for so long has fallen silent. */
const silentAfterMs = 60_000;

/** The service takes no longer header. */
const maxSentNameLength = 2000;

/** A file's name as it is sent: of one that is too long the end, as the service keeps it. */
function sentName(name: string): string {
  const characters = Array.from(name.replace(/[\ud800-\udfff]/gu, '_'));
  const encoded = () => encodeURIComponent(characters.join(''));
  while (encoded().length > maxSentNameLength) characters.shift();
  return encoded();
}

/** The kinds of files that a question takes, as a sentence behind another one; '' where it names none. */
const kindsBehind = ({ fileKinds }: ShownQuestion, words: Words): string =>
  fileKinds ? ` ${say(words.fileKinds, { item: fileKinds })}` : '';

const maxBytesOf = ({ settings: { maxBytes } }: ShownQuestion, limit: number): number =>
  typeof maxBytes === 'number' ? Math.min(maxBytes, limit) : limit;

/** A file is sent when it is chosen, with its progress; the sending can be cancelled and tried again. */
function FileUpload(props: ControlProps) {
  const { question, entry, change, words, language, controlId, describedBy, isInvalid, upload } = props;
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [spoken, setSpoken] = useState('');
  const { file, progress } = sendings.get(question.id) ?? {};
  const limit = maxBytesOf(question, upload.maxBytes);
  const mimeTypes = question.settings['mimeTypes'] as readonly string[] | undefined;
  const failureId = `${controlId}-failure`;
  useLayoutEffect(() => {
    const draw = () => redraw(undefined);
    drawings.set(question.id, draw);
    return () => {
      if (drawings.get(question.id) === draw) drawings.delete(question.id);
    };
  }, [question.id]);
  useKeptFocus(question.id, () => document.getElementById(controlId));

  const show = (sending: Sending | undefined) => {
    if (sending) sendings.set(question.id, sending);
    else sendings.delete(question.id);
    drawings.get(question.id)?.();
  };
  const stop = () => {
    const request = sendings.get(question.id)?.request;
    show(undefined);
    request?.abort();
    upload.report(question.id, 'none');
    setSpoken('');
  };
  const take = (uploadId: string, { name, size }: File) => {
    change({ answers: [{ textValue: uploadId }], file: { name, size } });
    setSpoken(say(words.uploaded, { item: name }));
  };
  const remove = () => {
    change({ answers: [] });
    setSpoken('');
  };
  const send = (chosen: File) => {
    stop();
    const fail = (message?: string) => {
      show({ file: chosen, progress: { kind: 'failed', message } });
      upload.report(question.id, 'failed');
    };
    const tooLarge = say(words.errorFileSize, { n: sizeText(limit, language) });
    const wrongKind = words.errorFileType + kindsBehind(question, words);
    if (chosen.size === 0) return fail(words.errorFileEmpty);
    if (chosen.size > limit) return fail(tooLarge);
    // Any text stands for the id of an upload there.
    if (upload.isPretended) return take('preview', chosen);
    const request = new XMLHttpRequest();
    const isCurrent = () => sendings.get(question.id)?.request === request;
    const showPercent = (percent: number) => show({ file: chosen, progress: { kind: 'running', percent }, request });
    let silence: ReturnType<typeof setTimeout> | undefined;
    const awaitProgress = () => {
      clearTimeout(silence);
      silence = setTimeout(() => request.abort(), silentAfterMs);
    };
    upload.report(question.id, 'running');
    showPercent(0);
    awaitProgress();
    request.upload.onprogress = ({ loaded }) => {
      awaitProgress();
      if (isCurrent()) showPercent(Math.floor((100 * loaded) / chosen.size));
    };
    request.onloadend = () => {
      clearTimeout(silence);
      if (!isCurrent()) return;
      const messages: Readonly<Record<number, string>> = { 413: tooLarge, 415: wrongKind };
      if (request.status !== 201) return fail(messages[request.status]);
      const { data } = JSON.parse(request.responseText) as { data: { uploadId: string } };
      show(undefined);
      upload.report(question.id, 'none');
      take(data.uploadId, chosen);
    };
    request.open('POST', `/api/v1/uploads/surveys/${upload.surveyId}/questions/${question.id}`);
    request.setRequestHeader('content-type', chosen.type || 'application/octet-stream');
    request.setRequestHeader('x-filename', sentName(chosen.name));
    if (upload.surveyToken) request.setRequestHeader('x-survey-token', upload.surveyToken);
    request.send(chosen);
  };

  const shown = () => {
    if (entry.answers.length > 0)
      return (
        <>
          <span class="upload-name" dir="auto">
            {entry.file?.name}
          </span>
          {entry.file && <span class="muted">{sizeText(entry.file.size, language)}</span>}
          <Remove id={controlId} file={entry.file} words={words} remove={remove} />
        </>
      );
    if (progress?.kind === 'running')
      return (
        <>
          <label class="upload-progress">
            <span dir="auto">{say(words.uploading, { item: file?.name ?? '', n: progress.percent })}</span>
            <progress max={100} value={progress.percent} />
          </label>
          <button type="button" class="link" id={controlId} onClick={stop}>
            {words.cancel}
          </button>
        </>
      );
    return (
      <>
        <label class="button upload-choose">
          <input
            type="file"
            id={controlId}
            aria-describedby={idList(describedBy, progress && failureId)}
            aria-invalid={isInvalid || undefined}
            // Systems know the old files of Office by their endings, not by this type.
            accept={mimeTypes?.join().replace(/x-cfb\b/, '$&,.doc,.xls,.ppt')}
            onChange={({ currentTarget }) => {
              const [chosen] = currentTarget.files ?? [];
              // Otherwise choosing the same file again, after it was removed, would be no change.
              currentTarget.value = '';
              if (chosen) send(chosen);
            }}
          />
          {words.chooseFile}
        </label>
        {progress?.kind === 'failed' && (
          <>
            <p class="error" id={failureId} role="alert">
              {progress.message ?? say(words.uploadFailed, { item: file?.name ?? '' })}{' '}
              {progress.message === undefined && file && (
                <button type="button" class="link" onClick={() => send(file)}>
                  {words.retry}
                </button>
              )}
            </p>
            <Remove file={file} words={words} remove={stop} />
          </>
        )}
      </>
    );
  };
  return (
    <>
      <div class="upload">{shown()}</div>
      <p class="hidden" aria-live="polite">
        {spoken}
      </p>
    </>
  );
}

interface RemoveProps extends Pick<ControlProps, 'words'> {
  id?: string;
  file: { name: string } | undefined;
  remove(): void;
}

function Remove({ id, file, words, remove }: RemoveProps) {
  return (
    <button
      type="button"
      class="link"
      id={id}
      aria-label={say(words.remove, { item: file?.name ?? '' })}
      onClick={remove}
    >
      {say(words.remove, { item: '' }).replace(/[\s:：]+$/, '')}
    </button>
  );
}

export const fileUpload: PageType = {
  Control: FileUpload,
  isField: false,
  clearsItself: true,
  hint: (question, words, language, maxUploadBytes) =>
    say(words.fileLimit, { n: sizeText(maxBytesOf(question, maxUploadBytes), language) }) +
    kindsBehind(question, words),
};
